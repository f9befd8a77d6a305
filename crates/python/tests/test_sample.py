"""Classes drawn by noise that is given, and gradients in memory that is there: the bits of their definitions."""

import numpy as np
import pytest
from conftest import bits, cases
from test_rows import dtypes, filled, real_of

import warpfold as wf


def given(rng, special=0.1):
    """Logits and noise in random layouts, with special numbers, and an axis."""
    dtype, of_noise = dtypes()[rng.integers(4)], dtypes()[rng.integers(4)]
    shape = tuple(int(n) for n in rng.integers(1, 30, rng.integers(1, 4)))
    arrays = [filled(rng, dtype, shape), filled(rng, of_noise, shape)]
    for x in arrays:
        if rng.random() < special:
            frozen = not x.flags.writeable
            x.flags.writeable = True
            at = tuple(rng.integers(0, n, 5) for n in shape)
            x[at] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], 5)
            x.flags.writeable = not frozen
    return *arrays, int(rng.integers(len(shape)))


def test_drawn_classes(rng):
    for _ in range(cases(200)):
        logits, noise, axis = given(rng, 0.5)
        temperature = float(rng.choice([0, 0.3, 1, 20]))
        real = real_of(logits.dtype)
        x, g = logits.astype(real), noise.astype(real)
        with np.errstate(invalid="ignore"):
            sums = np.where(x == -np.inf, x, x + g * real(temperature)) if temperature else x
        found = wf.sample(logits, noise, axis - logits.ndim, temperature=temperature)
        assert bits(found) == bits(sums.argmax(axis).astype(np.int64))


def test_frequencies_of_drawn_classes(rng):
    share = np.array([0.5, 0.3, 0.2, 0.0])
    with np.errstate(divide="ignore"):
        logits = np.broadcast_to(np.log(share), (100_000, 4))
    drawn = wf.sample(logits, rng.gumbel(size=(100_000, 4)))
    counts = np.bincount(drawn, minlength=4) / 100_000
    # Five standard deviations of a share.
    assert np.all(np.abs(counts - share) <= 5 * np.sqrt(share * (1 - share) / 100_000))


def test_a_row_alone_draws_the_same(rng):
    logits, noise = rng.standard_normal((2, 9, 50)).astype("f4")
    drawn = wf.sample(logits, noise)
    for row in range(9):
        assert wf.sample(logits[row], noise[row]) == drawn[row]
    assert wf.sample([1.0, 1.0], [0.0, 0.0]) == 0 and wf.sample(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0,)


def test_errors_of_sample():
    x = np.zeros((2, 3))
    for temperature in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="temperature"):
            wf.sample(x, x, temperature=temperature)
    with pytest.raises(ValueError, match="shape"):
        wf.sample(x, x[0])
    with pytest.raises(ValueError, match="empty|nothing|no elements|identity"):
        wf.sample(x[:, :0], x[:, :0])
    with pytest.raises(TypeError, match="floats"):
        wf.sample(x.astype(int), x)
    with pytest.raises(np.exceptions.AxisError):
        wf.sample(x, x, 2)


# Gradients in memory that is there.


def logits_of(rng):
    """Logits in a layout that can be written to, targets, and an axis."""
    logits, _, axis = given(rng)
    logits = logits.astype(logits.dtype.newbyteorder("="), order="K")
    shape = logits.shape[:axis] + logits.shape[axis + 1 :]
    return logits, rng.integers(0, logits.shape[axis], shape), axis


@pytest.mark.parametrize("kind", ["logits", "another", "steps"])
def test_gradients_go_where_they_are_asked_to(kind, rng):
    for _ in range(cases(60)):
        logits, targets, axis = logits_of(rng)
        if rng.random() < 0.3:
            targets = rng.random(logits.shape).astype("f4")
        options = {"reduction": str(rng.choice(["mean", "sum", "none"])), "label_smoothing": 0.1 * rng.integers(2)}
        want = wf.cross_entropy_gradient(logits, targets, axis, **options)
        out = logits
        if kind == "another":
            out = np.empty_like(logits)
        if kind == "steps":
            room = np.empty((*logits.shape[::-1], 2), logits.dtype)
            out = room.T[1, ...][::-1]
        found = wf.cross_entropy_gradient(logits, targets, axis, **options, out=out)
        assert found.gradient is out and bits(out.astype("f8")) == bits(want.gradient.astype("f8"))
        assert bits(found.loss) == bits(want.loss) and bits(found.logsumexp) == bits(want.logsumexp)


def test_memory_that_is_refused(rng):
    x = rng.standard_normal((4, 6)).astype("f4")
    targets = np.arange(4)
    before = x.copy()
    frozen = x.view()
    frozen.flags.writeable = False
    wide = np.zeros((8, 6), "f4")
    refused = [
        (x, frozen, ValueError, "read-only"),
        (x, np.lib.stride_tricks.as_strided(np.zeros(9, "f4"), (4, 6), (4, 4)), ValueError, "share memory"),
        (x, x[::-1], ValueError, "overlaps the logits"),
        (wide[:4], wide[2:6], ValueError, "overlaps the logits"),
        (x, np.zeros((6, 4), "f4"), ValueError, "shape"),
        (x, np.zeros((4, 6)), TypeError, "dtype f64"),
        (x, np.zeros((4, 6), ">f4"), TypeError, "byte order"),
        (x, [[0.0] * 6] * 4, TypeError, "list"),
        (x, np.ma.zeros((4, 6), "f4"), TypeError, "MaskedArray"),
    ]
    for logits, out, error, why in refused:
        with pytest.raises(error, match=why):
            wf.cross_entropy_gradient(logits, targets, out=out)
    shares = np.full((4, 6), 1 / 6, "f4")
    with pytest.raises(ValueError, match="overlaps the targets"):
        wf.cross_entropy_gradient(x, shares, out=shares)
    with pytest.raises(ValueError, match="target 6 of row 0"):
        wf.cross_entropy_gradient(x, targets + 6, out=x)
    assert bits(x) == bits(before)


def test_tensors_of_pytorch(rng):
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        x = torch.from_numpy(rng.standard_normal((7, 30))).to(dtype)
        target = torch.arange(7)
        want = wf.cross_entropy_gradient(x, target)
        version = x._version
        found = wf.cross_entropy_gradient(x, target, out=x)
        assert found.gradient is x and x._version > version and torch.equal(x, want.gradient)
        assert torch.equal(found.loss, want.loss)
    w = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(TypeError, match="detach"):
        wf.cross_entropy_gradient(w, target[:2], out=w)
    kept = (w * 1).detach().requires_grad_()
    loss = (kept * kept).sum()
    with torch.no_grad():
        wf.cross_entropy_gradient(kept, target[:2], out=kept)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with pytest.raises(TypeError, match="negated"):
        wf.cross_entropy_gradient(want.gradient, target, out=torch.zeros(7, 30, dtype=torch.complex128).conj().imag)


def test_sample_of_pytorch(rng):
    torch = pytest.importorskip("torch")
    from warpfold.torch import _composed

    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        x = torch.from_numpy(rng.standard_normal((5, 9, 4))).to(dtype)
        noise = torch.from_numpy(rng.gumbel(size=(5, 9, 4))).to(torch.float32)
        x[2, 3:5], noise[1, 2] = -torch.inf, torch.inf
        for temperature in (0.0, 0.6, 1.0):
            found = wf.torch.sample(x, noise, 1, temperature=temperature)
            assert torch.equal(found, wf.sample(x, noise, 1, temperature=temperature))
            # As on a GPU.
            assert torch.equal(found, _composed.sample(x, noise, 1, temperature))
            each = torch.vmap(lambda x, g: wf.torch.sample(x, g, 0, temperature=temperature))(x, noise)
            assert torch.equal(each, found)
    whole = torch.compile(lambda x, g: wf.torch.sample(x, g), fullgraph=True, backend="aot_eager")
    assert torch.equal(whole(x, noise), wf.torch.sample(x, noise))
    torch.library.opcheck(torch.ops.warpfold.sample, (x, noise, 1, 0.5))
    assert wf.torch.sample(torch.tensor(1.0), torch.tensor(2.0)).shape == ()
    for bad in ({"temperature": -1.0}, {"temperature": float("nan")}, {"dim": 3}):
        with pytest.raises((ValueError, IndexError)):
            wf.torch.sample(x, noise, **bad)
    with pytest.raises(ValueError, match="shape"):
        wf.torch.sample(x, noise[0])
