"""What the tests share: random arrays of any layout, and the bits of results."""

import os

import numpy as np
import pytest

FLOATS = ["f2", "f4", "f8"]
INTEGERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def bits(x):
    """An array's bytes, with its shape and dtype."""
    x = np.asarray(x)
    return x.shape, str(x.dtype), x.tobytes()


def random_array(rng, dtype, shape):
    """Random elements in a random layout: steps, negative ones, axes in any order, the other byte order, any address."""
    dtype = np.dtype(dtype)
    wide = tuple(int(n * rng.integers(1, 4)) for n in shape)
    if dtype.kind == "f":
        x = rng.standard_normal(wide) * 10.0 ** rng.integers(-2, 3)
    else:
        x = rng.integers(-100, 100, wide) if dtype.kind == "i" else rng.integers(0, 200, wide)
    x = x.astype(dtype) if dtype.kind != "b" else x > 100
    x = np.asarray(x)
    order = rng.permutation(len(shape))
    x = np.array(x.transpose(order), order="C").transpose(np.argsort(order))
    if rng.random() < 0.3:
        x = x.astype(dtype.newbyteorder())
    if rng.random() < 0.2 and x.size:
        raw = np.zeros(x.nbytes + 1, np.uint8)[1:]
        unaligned = raw.view(x.dtype).reshape(x.shape)
        unaligned[...] = x
        x = unaligned
    steps = tuple(slice(None, None, max(1, w // n if n else 1)) for w, n in zip(wide, shape))
    x = x[tuple(slice(0, n * (s.step), s.step) for n, s in zip(shape, steps))] if shape else x
    flips = tuple(slice(None, None, -1) if rng.random() < 0.3 else slice(None) for _ in shape)
    x = x[flips] if shape else x
    assert x.shape == tuple(shape)
    if rng.random() < 0.2:
        x.flags.writeable = False
    return x


def random_shape(rng, most=4):
    return tuple(int(n) for n in rng.integers(1, 8, rng.integers(0, most + 1)))


def random_axis(rng, rank):
    if rank == 0 or rng.random() < 0.3:
        return None
    axes = rng.permutation(rank)[: rng.integers(1, rank + 1)] - rank * rng.integers(0, 2)
    return int(axes[0]) if len(axes) == 1 else tuple(int(a) for a in axes)


@pytest.fixture
def rng(request):
    seed = int(os.environ.get("WARPFOLD_SEED", "0"))
    return np.random.default_rng([seed, *request.node.name.encode()])


def cases(n):
    """How many random cases: `WARPFOLD_CASES` in place of the default."""
    return int(os.environ.get("WARPFOLD_CASES", n))
