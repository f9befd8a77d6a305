"""Reductions of NumPy's arrays: values beside NumPy's in f64, dtypes and shapes beside NumPy's, the tree's bits."""

import warnings

import numpy as np
import pytest
from conftest import FLOATS, INTEGERS, bits, cases, random_array, random_axis, random_shape

import warpfold as wf

SAME = ["sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "count_nonzero", "argmin", "argmax"]
NAN = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "nanargmin", "nanargmax"]


def bound(x, count):
    """How far a sum of `count` elements with magnitudes like those of `x` may be from the exact result, relative to the
    sum of magnitudes: the tree's depth in roundings, and the rounding of the result."""
    u = {2: 2.0**-11, 4: 2.0**-24}.get(x.dtype.itemsize if x.dtype.kind == "f" else 8, 2.0**-53)
    return (np.log2(max(count, 1)) + 4) * u


def near(found, want, scale, relative):
    most = np.finfo(np.asarray(found).dtype).max if np.asarray(found).dtype.kind == "f" else np.inf
    found, want = np.asarray(found, np.float64), np.asarray(want, np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(found - want)
    assert found.shape == want.shape
    good = ~(error > relative * scale) & (np.isnan(found) == np.isnan(want))
    # Products overflow: then the exact result must be beyond what the dtype holds.
    good |= np.isinf(found) & (np.abs(want) >= most)
    assert np.all(good), (found, want, error, relative * scale)


@pytest.mark.parametrize("name", SAME)
def test_agrees_with_numpy_in_f64(name, rng):
    ours, theirs = getattr(wf, name), getattr(np, name)
    for _ in range(cases(80)):
        x = random_array(rng, rng.choice(FLOATS + INTEGERS), random_shape(rng))
        axis = random_axis(rng, x.ndim)
        if name.startswith("arg") and isinstance(axis, tuple):
            continue
        options = {"keepdims": True} if rng.random() < 0.3 else {}
        found = ours(x, axis, **options)
        exact = x.astype(np.float64) if x.dtype.kind == "f" else x
        with np.errstate(all="ignore"):
            want = theirs(exact, axis=axis, **options)
            scale = np.sum(np.abs(exact.astype(np.float64)), axis=axis, **options)
        count = x.size
        if name in ("sum", "mean"):
            near(found, want, scale, bound(x, count))
        elif name in ("prod", "var", "std") and x.dtype.kind == "f":
            with np.errstate(all="ignore"):
                magnitude = np.abs(want) if name == "prod" else scale**2 + scale
                near(found, want, magnitude + 1e-6, 8 * count * bound(x, count))
        elif name in ("var", "std"):
            near(found, want, np.abs(want) + 1e-300, 2.0**-40)
        else:
            assert np.array_equal(found, want), (name, x.dtype, axis)
        native = x.astype(x.dtype.newbyteorder("="))
        with np.errstate(all="ignore"):
            dtype = np.asarray(theirs(native, axis=axis)).dtype
        assert np.asarray(found).dtype == dtype


@pytest.mark.parametrize("name", NAN)
def test_skips_nan(name, rng):
    ours, theirs = getattr(wf, name), getattr(np, name)
    for _ in range(cases(40)):
        x = random_array(rng, rng.choice(["f4", "f8"]), random_shape(rng)).copy()
        x[rng.random(x.shape) < 0.2] = np.nan
        axis = random_axis(rng, x.ndim)
        if "arg" in name and (isinstance(axis, tuple) or np.isnan(x).all(axis).any()):
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            want = theirs(x.astype(np.float64), axis=axis)
        found = ours(x, axis)
        if "min" in name or "max" in name:
            assert np.array_equal(found, want, equal_nan=True)
        else:
            with np.errstate(all="ignore"):
                scale = np.nansum(np.abs(x), axis=axis) ** 2 + np.abs(want) + 1
            near(found, want, scale, 8 * max(x.size, 1) * bound(x, x.size))


def test_bits_do_not_depend_on_the_layout(rng):
    for _ in range(cases(150)):
        dtype = rng.choice(FLOATS + INTEGERS)
        x = random_array(rng, dtype, random_shape(rng))
        axis = random_axis(rng, x.ndim)
        plain = np.array(x.astype(x.dtype.newbyteorder("=")), order="C")
        for name in SAME + ["logsumexp", "norm"]:
            assert bits(getattr(wf, name)(x, axis)) == bits(getattr(wf, name)(plain, axis)), (name, dtype, axis)


def test_a_mask_leaves_elements_out(rng):
    for _ in range(cases(60)):
        x = random_array(rng, rng.choice(["f4", "f8", "i4"]), random_shape(rng))
        mask = rng.random(x.shape) < 0.7
        axis = random_axis(rng, x.ndim)
        found = wf.sum(x, axis, where=mask)
        exact = x.astype("f8")
        near(found, np.sum(exact, axis=axis, where=mask), np.sum(np.abs(exact), axis=axis), bound(x, x.size))
        options = {"where": mask, "initial": -1000}
        assert np.array_equal(wf.max(x, axis, **options), np.max(x, axis=axis, **options))
    assert wf.sum([1, 2, 3], where=True) == 6
    assert wf.sum([1, 2, 3], where=False) == 0
    assert wf.sum(np.ones((2, 3)), where=[True, False, True]) == 4


def test_results_are_numpys_scalars_and_arrays():
    assert type(wf.sum(np.ones(3, "f4"))) is np.float32
    assert type(wf.argmax([1, 2])) is np.int64
    assert type(wf.any([1])) is np.bool_
    assert wf.sum(np.ones((2, 3)), keepdims=True).shape == (1, 1)
    large = wf.sum(np.ones((2, 100_000)), axis=0)
    assert large.flags.writeable and large.flags.c_contiguous
    large += 1
    assert large[-1] == 3
    assert wf.sum(np.zeros((0, 3)), axis=0).tolist() == [0, 0, 0]
    assert wf.sum(np.zeros((3, 0)), axis=0).shape == (0,)
    least, greatest = wf.minmax(np.arange(6).reshape(2, 3), axis=1)
    assert least.tolist() == [0, 3] and greatest.tolist() == [2, 5]


def test_options():
    x = np.array([[1.5, 2.5], [3.5, 4.5]], "f4")
    assert wf.sum(x, dtype=np.float64).dtype == np.float64
    assert wf.sum(x, dtype="f8", initial=1).item() == 13.0
    assert wf.var(x, ddof=1) == wf.var(x, correction=1)
    assert wf.norm(x, ord=1) == 12 and wf.norm(x, ord=np.inf) == 4.5
    out = np.zeros(2, "f4")
    assert wf.sum(x, 0, None, out) is out and out.tolist() == [5, 7]
    assert wf.max(x, 0, out) is out
    scalar = np.zeros(())
    assert wf.sum(x, out=scalar) is scalar and scalar == 12
    assert wf.sum(np.array([1e8, 1, -1e8, 1], "f4"), precision="compensated") == 2
    assert wf.sum(x, device="cpu") == 12
    assert wf.sum(np.ones(4, "u8"), initial=2**63).item() == 2**63 + 4


def test_numbers_lists_and_buffers():
    import array

    assert wf.sum(3.5) == 3.5
    assert wf.max([[1, 2], [3]][0]) == 2
    assert wf.sum(array.array("d", [1, 2])) == 3
    assert wf.sum(memoryview(b"abc")) == 294
    assert wf.sum(bytearray(b"abc")) == 294
    assert wf.sum(range(4)) == 6

    class Interface:
        __array_interface__ = np.arange(4.0).__array_interface__
        keep = np.arange(4.0)
        __array_interface__ = keep.__array_interface__

    assert wf.sum(Interface()) == 6


def test_the_mean_of_many_float32():
    x = np.full((1 << 20, 3), 0.1, np.float32)
    assert wf.mean(x, axis=0).tolist() == [np.float32(0.1)] * 3


def test_any_byte_but_zero_is_true(rng):
    for _ in range(cases(40)):
        bytes_ = rng.choice(np.array([0, 0, 1, 2, 127, 128, 255], np.uint8), (int(rng.integers(1, 300)), 3))
        odd, plain = bytes_.view(bool), bytes_ != 0
        for name in SAME + ["norm"]:
            for axis in (0, 1, None):
                assert bits(getattr(wf, name)(odd, axis)) == bits(getattr(wf, name)(plain, axis)), (name, axis)
        assert bits(wf.minmax(odd, 0)) == bits(wf.minmax(plain, 0))
        for name, value in dict(wf.describe(odd, 0)).items():
            assert bits(value) == bits(getattr(wf.describe(plain, 0), name)), name
        labels = rng.integers(0, 3, len(odd))
        for name in ("argmax", "max", "sum", "first"):
            assert bits(wf.group_by(odd, labels, name, 3, fill=0)) == bits(wf.group_by(plain, labels, name, 3, fill=0))
        for found, want in zip(wf.unique_all(odd), wf.unique_all(plain)):
            assert bits(found) == bits(want)
        x = rng.standard_normal(odd.shape)
        assert bits(wf.sum(x, 0, where=odd)) == bits(wf.sum(x, 0, where=plain))


def test_results_go_to_out(rng):
    x = rng.standard_normal((200, 30)).astype("f4")
    want = wf.sum(x, 0)
    wide = np.zeros((30, 3), "f4")
    swapped = np.zeros(30, ">f4")
    unaligned = np.zeros(121, np.uint8)[1:].view("f4")
    for out in (np.zeros(30, "f4"), np.zeros(30), wide[:, 1], np.zeros(30, "f4")[::-1], swapped, unaligned):
        assert wf.sum(x, 0, out=out) is out
        assert np.array_equal(out, want)
    assert not wide[:, [0, 2]].any()
    # Elements are read before the result is written.
    row = x[0]
    assert wf.sum(x, 0, out=row) is row and bits(x[0]) == bits(want)
    locked = np.zeros(30, "f4")
    locked.flags.writeable = False
    with pytest.raises(ValueError):
        wf.sum(x, 0, out=locked)
    assert not locked.any()
    masked = np.ma.array(x, mask=x > 0)
    assert wf.max(masked, 0, out=np.zeros(30, "f4")).max() <= 0
