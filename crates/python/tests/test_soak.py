"""Calls on random inputs of all kinds, wrong ones among them: no crash, no exception of another kind, no leak.

`WARPFOLD_SOAK=1000000` sets the number of calls.
"""

import array
import gc
import os

import numpy as np
import pytest
from conftest import FLOATS, INTEGERS, random_array, random_shape

import warpfold as wf

REDUCTIONS = [name for name in wf.__all__ if name.startswith("nan")] + [
    "sum", "prod", "mean", "var", "std", "min", "max", "minmax", "argmin", "argmax", "any", "all", "count_nonzero",
    "logsumexp", "norm",
]
EXPECTED = (TypeError, ValueError, np.exceptions.AxisError, MemoryError, wf.Error, OverflowError)
STRANGE = [None, "text", b"bytes", object(), 1 + 2j, [], [[]], [[1], [2, 3]], {}, {1: 2}, np.array("x"), np.array(None),
           np.zeros(2, "M8[s]"), np.zeros(2, "f4,i4"), np.zeros((1,) * 17), 10**400, float("nan"), -1, True, (), lambda: 0]


def kinds(x):
    """The same elements in the kinds of arrays that are installed."""
    yield lambda: x
    yield lambda: x.tolist()
    yield lambda: np.ma.array(x, mask=np.zeros(x.shape, bool))
    yield lambda: memoryview(x)
    yield lambda: array.array("d", np.ravel(x).astype(float).tolist())
    for name, make in [
        ("torch", lambda torch: torch.as_tensor(np.array(x.astype(x.dtype.newbyteorder("=")), order="C"))),
        ("ml_dtypes", lambda ml_dtypes: x.astype(ml_dtypes.bfloat16)),
        ("pandas", lambda pandas: pandas.Series(np.ravel(x).tolist())),
        ("polars", lambda polars: polars.Series(np.ravel(x).tolist())),
        ("pyarrow", lambda pyarrow: pyarrow.array([*np.ravel(x).tolist(), None])),
    ]:
        try:
            library = __import__(name)
        except ImportError:
            continue
        yield lambda make=make, library=library: make(library)


def anything(rng):
    if rng.random() < 0.15:
        return STRANGE[rng.integers(len(STRANGE))]
    x = random_array(rng, rng.choice(FLOATS + INTEGERS), random_shape(rng, 3))
    if rng.random() < 0.05:
        x = np.zeros((0, 3)[: rng.integers(1, 3)], x.dtype)
    makers = list(kinds(x))
    try:
        return makers[rng.integers(len(makers))]()
    except (TypeError, ValueError, OverflowError):
        return x


def some_options(rng):
    all_options = {
        "axis": [None, 0, 1, -1, (0, 1), (), 5, "x", 1.5, [0], (0, 0)],
        "keepdims": [True, False, "x"],
        "dtype": [None, "f4", "f8", np.float16, "i4", "i8", "x", complex],
        "where": [True, [True], np.ones(3, bool), np.ones((2, 2)), "x"],
        "initial": [0, 1.5, -1, "x", 2**64, None, np.float32(2)],
        "ddof": [0, 1, 0.5, float("nan"), "x"],
        "ord": [1, 2, np.inf, 3],
        "precision": ["tree", "compensated", "x", None],
        "device": ["cpu", "auto", "cuda:9", "x", None],
        "out": [None, np.zeros(3), np.zeros(()), 3],
        "nonsense": [1],
    }
    names = rng.choice(list(all_options), rng.integers(0, 3), replace=False)
    return {str(name): all_options[name][rng.integers(len(all_options[name]))] for name in names}


def one_call(rng):
    x = anything(rng)
    which = rng.random()
    if which < 0.7:
        return getattr(wf, rng.choice(REDUCTIONS))(x, **some_options(rng))
    op = str(rng.choice([*REDUCTIONS, "first", "nonsense"]))
    if which < 0.78:
        return wf.group_by(x, anything(rng), [op] if rng.random() < 0.2 else op, fill=rng.choice([None, 0]))
    if which < 0.84:
        return wf.segmented(x, anything(rng), op)
    if which < 0.88:
        return wf.reduce_by_key(anything(rng), x, op)
    if which < 0.92:
        return wf.unique_all(x), wf.bincount(x)
    if which < 0.95:
        return wf.histogram(x, rng.choice([3, 0, -1])), wf.describe(x, **some_options(rng))
    stream = wf.Stream(op, getattr(x, "dtype", "f8"))
    stream.push(x)
    stream.merge(wf.Stream.from_bytes(stream.to_bytes()))
    return stream.finish(), wf.explain(op, x)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")
@pytest.mark.filterwarnings("ignore")
def test_random_calls(rng):
    def rss():
        gc.collect()
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    calls = int(os.environ.get("WARPFOLD_SOAK", "12000"))
    done = refused = 0
    for i in range(calls):
        if i == calls // 2:
            before = rss()
        try:
            one_call(rng)
            done += 1
        except EXPECTED as error:
            assert "a bug in warpfold" not in str(error)
            refused += 1
    assert done > calls // 10 and refused > calls // 10
    assert rss() - before < 8 << 20
