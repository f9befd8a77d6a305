"""`warpfold.array_api`: the standard's rules where they differ from `warpfold`. `checks/array_api_check.py` runs the
standard's own tests."""

import doctest
import subprocess
import sys

import numpy as np
import pytest
from conftest import bits, cases, random_array, random_axis, random_shape

import warpfold as wf

if not hasattr(np, "unstack"):
    pytest.skip("the namespace needs NumPy 2.1", allow_module_level=True)

xp = wf.array_api

REDUCTIONS = ["sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "all", "any", "count_nonzero"]


def test_reductions_have_the_bits_of_the_package(rng):
    for _ in range(cases(40)):
        x = random_array(rng, rng.choice(["f4", "f8", "i4", "u2"]), random_shape(rng))
        axis = random_axis(rng, x.ndim)
        for name in REDUCTIONS:
            if name.startswith("arg") and isinstance(axis, tuple):
                continue
            found = getattr(xp, name)(x, axis=axis, keepdims=True)
            assert bits(found) == bits(getattr(wf, name)(x, axis, keepdims=True)), name
    with pytest.raises(TypeError):
        xp.sum(np.ones((2, 2)), 0)


def test_dtypes_of_sums():
    for name in ("sum", "prod"):
        reduce = getattr(xp, name)
        for dtype in (xp.int8, xp.int16, xp.int32, xp.int64):
            assert reduce(xp.ones(3, dtype=dtype)).dtype == xp.int64
        for dtype in (xp.uint8, xp.uint16, xp.uint32, xp.uint64):
            assert reduce(xp.ones(3, dtype=dtype)).dtype == xp.uint64
        for dtype in (xp.float32, xp.float64, xp.complex64):
            assert reduce(xp.ones(3, dtype=dtype)).dtype == dtype
        assert reduce(xp.asarray([1.5, 2.5]), dtype=xp.int16).dtype == xp.int16
    assert xp.sum(xp.asarray([1.5, 2.5]), dtype=xp.int64) == 3
    with pytest.raises(TypeError):
        wf.sum([1.5, 2.5], dtype="i8")


def test_every_nan_is_a_value():
    x = np.array([[np.nan, 2, -0.0], [0.0, np.nan, 2]])
    found = xp.unique_all(x)
    assert found.values[:2].tolist() == [0, 2] and np.isnan(found.values[2:]).all() and len(found.values) == 4
    assert found.indices.tolist() == [2, 1, 0, 4]
    assert found.inverse_indices.tolist() == [[2, 1, 0], [0, 3, 1]]
    assert found.counts.tolist() == [2, 2, 1, 1]
    assert xp.unique_counts(x).counts.tolist() == [2, 2, 1, 1]
    assert bits(xp.unique_values(x)) == bits(found.values)
    assert len(xp.unique_values(np.zeros(0))) == 0
    assert xp.unique_inverse(np.array([3, 1, 3])).inverse_indices.tolist() == [1, 0, 1]


def test_complex_arrays_are_numpys():
    x = np.array([1 + 2j, 0, 1 + 2j])
    for name in ("sum", "prod", "mean", "var", "std", "any", "all", "count_nonzero"):
        assert getattr(xp, name)(x) == getattr(np, name)(x)
    assert xp.sum(np.arange(3), dtype=xp.complex128).dtype == xp.complex128
    assert xp.unique_counts(x).counts.tolist() == [1, 2]
    assert [len(part) for part in xp.unique_all(x)] == [2, 2, 3, 2]
    assert len(xp.unique_values(x)) == len(xp.unique_inverse(x).values) == 2


def test_what_is_not_ours_is_numpys():
    for name in ("add", "where", "searchsorted", "cumulative_sum", "linalg", "isin", "take_along_axis"):
        assert getattr(xp, name) is getattr(np, name)


def test_examples():
    assert doctest.testmod(xp).failed == 0


def test_is_imported_when_asked_for():
    code = "import sys, warpfold; assert 'warpfold.array_api' not in sys.modules; warpfold.array_api.sum"
    subprocess.run([sys.executable, "-c", code], check=True)
