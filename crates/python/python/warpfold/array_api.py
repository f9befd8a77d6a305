"""The namespace of the array API standard over NumPy's arrays: the reductions are Warpfold's, all else is NumPy's.

Ours are the statistical functions but for the cumulative ones, `argmax`, `argmin`, `count_nonzero`, the `unique_`
functions, `all` and `any`, with the standard's signatures. Results of no axes are NumPy's scalars, as NumPy's own are.
NumPy has all other names of the standard from version 2.1 on.

Three things differ from the functions of the same names in `warpfold`, because the standard says so:

- Every NaN is a value of its own in `unique_…`. Elsewhere all NaNs are one value, as in `numpy.unique`.
- `dtype=` of `sum` and `prod` casts anything. `warpfold.sum` refuses to cast floats to integers, since it loses what
  nobody asked to lose.
- Complex arrays are taken, and are reduced by NumPy: Warpfold has no complex dtypes.

>>> import warpfold.array_api as xp
>>> xp.sum(xp.asarray([1, 2, 3], dtype=xp.uint8))
np.uint64(6)
"""

from __future__ import annotations

from builtins import bool as _bool
from typing import Any, TypeAlias

import numpy as np

if not hasattr(np, "unstack"):
    raise ImportError(f"warpfold.array_api needs NumPy 2.1 or later, this is {np.__version__}")

from numpy import (  # the form by which type checkers see that the names are this module's
    __array_api_version__ as __array_api_version__, __array_namespace_info__ as __array_namespace_info__, abs as abs,
    acos as acos, acosh as acosh, add as add, arange as arange, argsort as argsort, asarray as asarray, asin as asin,
    asinh as asinh, astype as astype, atan as atan, atan2 as atan2, atanh as atanh, bitwise_and as bitwise_and,
    bitwise_invert as bitwise_invert, bitwise_left_shift as bitwise_left_shift, bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift, bitwise_xor as bitwise_xor, bool as bool,
    broadcast_arrays as broadcast_arrays, broadcast_shapes as broadcast_shapes, broadcast_to as broadcast_to,
    can_cast as can_cast, ceil as ceil, clip as clip, complex64 as complex64, complex128 as complex128,
    concat as concat, conj as conj, copysign as copysign, cos as cos, cosh as cosh, cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum, diff as diff, divide as divide, e as e, empty as empty, empty_like as empty_like,
    equal as equal, exp as exp, expand_dims as expand_dims, expm1 as expm1, eye as eye, fft as fft, finfo as finfo,
    flip as flip, float32 as float32, float64 as float64, floor as floor, floor_divide as floor_divide,
    from_dlpack as from_dlpack, full as full, full_like as full_like, greater as greater,
    greater_equal as greater_equal, hypot as hypot, iinfo as iinfo, imag as imag, inf as inf, int8 as int8,
    int16 as int16, int32 as int32, int64 as int64, isdtype as isdtype, isfinite as isfinite, isin as isin,
    isinf as isinf, isnan as isnan, less as less, less_equal as less_equal, linalg as linalg, linspace as linspace,
    log as log, log1p as log1p, log2 as log2, log10 as log10, logaddexp as logaddexp, logical_and as logical_and,
    logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, matmul as matmul,
    matrix_transpose as matrix_transpose, maximum as maximum, meshgrid as meshgrid, minimum as minimum,
    moveaxis as moveaxis, multiply as multiply, nan as nan, negative as negative, newaxis as newaxis,
    nextafter as nextafter, nonzero as nonzero, not_equal as not_equal, ones as ones, ones_like as ones_like,
    permute_dims as permute_dims, pi as pi, positive as positive, pow as pow, real as real, reciprocal as reciprocal,
    remainder as remainder, repeat as repeat, reshape as reshape, result_type as result_type, roll as roll,
    round as round, searchsorted as searchsorted, sign as sign, signbit as signbit, sin as sin, sinh as sinh,
    sort as sort, sqrt as sqrt, square as square, squeeze as squeeze, stack as stack, subtract as subtract,
    take as take, take_along_axis as take_along_axis, tan as tan, tanh as tanh, tensordot as tensordot, tile as tile,
    tril as tril, triu as triu, trunc as trunc, uint8 as uint8, uint16 as uint16, uint32 as uint32, uint64 as uint64,
    unstack as unstack, vecdot as vecdot, where as where, zeros as zeros, zeros_like as zeros_like,
)

import warpfold as _wf

from ._native import __version__ as __version__
from ._unique import UniqueAllResult, UniqueCountsResult, UniqueInverseResult

Array: TypeAlias = Any
Axes: TypeAlias = "int | tuple[int, ...] | None"


def _is_complex(x: Array, dtype: Any = None) -> _bool:
    """Whether a reduction is NumPy's."""
    return np.iscomplexobj(x) or (dtype is not None and np.dtype(dtype).kind == "c")


def _total(name: str, x: Array, axis: Axes, dtype: Any, keepdims: _bool) -> Array:
    """A sum or a product, of elements that are cast to any dtype first."""
    if _is_complex(x, dtype):
        return getattr(np, name)(x, axis=axis, dtype=dtype, keepdims=keepdims)
    if dtype is not None and np.dtype(dtype).kind in "iu" and np.asarray(x).dtype.kind == "f":
        x = np.asarray(x).astype(dtype)
    return getattr(_wf, name)(x, axis, dtype, keepdims=keepdims)


def _of(name: str, x: Array, **options: Any) -> Array:
    """Another reduction."""
    return getattr(np if _is_complex(x) else _wf, name)(x, **options)


def sum(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: _bool = False) -> Array:
    """The sum of elements. Without `dtype`, signed integers give int64, unsigned ones uint64, and floats keep theirs.

    >>> import warpfold.array_api as xp
    >>> xp.sum(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([4., 6.])
    """
    return _total("sum", x, axis, dtype, keepdims)


def prod(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: _bool = False) -> Array:
    """The product of elements. Its dtype is that of their sum.

    >>> import warpfold.array_api as xp
    >>> xp.prod(xp.asarray([2, 3], dtype=xp.int8))
    np.int64(6)
    """
    return _total("prod", x, axis, dtype, keepdims)


def mean(x: Array, /, *, axis: Axes = None, keepdims: _bool = False) -> Array:
    """The mean of elements.

    >>> import warpfold.array_api as xp
    >>> xp.mean(xp.asarray([1.0, 2.0]))
    np.float64(1.5)
    """
    return _of("mean", x, axis=axis, keepdims=keepdims)


def var(x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: _bool = False) -> Array:
    """The variance: squared deviations over the count less `correction`.

    >>> import warpfold.array_api as xp
    >>> xp.var(xp.asarray([1.0, 2.0, 3.0]), correction=1)
    np.float64(1.0)
    """
    return _of("var", x, axis=axis, correction=correction, keepdims=keepdims)


def std(x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: _bool = False) -> Array:
    """The standard deviation: the square root of the variance.

    >>> import warpfold.array_api as xp
    >>> xp.std(xp.asarray([1.0, 3.0]))
    np.float64(1.0)
    """
    return _of("std", x, axis=axis, correction=correction, keepdims=keepdims)


def max(x: Array, /, *, axis: Axes = None, keepdims: _bool = False) -> Array:
    """The greatest element, or NaN if there is one.

    >>> import warpfold.array_api as xp
    >>> xp.max(xp.asarray([3, 1, 2]))
    np.int64(3)
    """
    return _of("max", x, axis=axis, keepdims=keepdims)


def min(x: Array, /, *, axis: Axes = None, keepdims: _bool = False) -> Array:
    """The least element, or NaN if there is one.

    >>> import warpfold.array_api as xp
    >>> xp.min(xp.asarray([3, 1, 2]))
    np.int64(1)
    """
    return _of("min", x, axis=axis, keepdims=keepdims)


def argmax(x: Array, /, *, axis: int | None = None, keepdims: _bool = False) -> Array:
    """Where the greatest element is: the first of several.

    >>> import warpfold.array_api as xp
    >>> xp.argmax(xp.asarray([3, 1, 3]))
    np.int64(0)
    """
    return _of("argmax", x, axis=axis, keepdims=keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: _bool = False) -> Array:
    """Where the least element is: the first of several.

    >>> import warpfold.array_api as xp
    >>> xp.argmin(xp.asarray([3, 1, 1]))
    np.int64(1)
    """
    return _of("argmin", x, axis=axis, keepdims=keepdims)


def count_nonzero(x: Array, /, *, axis: Axes = None, keepdims: _bool = False) -> Array:
    """The number of elements that are not zero.

    >>> import warpfold.array_api as xp
    >>> xp.count_nonzero(xp.asarray([3, 0, 1]))
    np.int64(2)
    """
    return _of("count_nonzero", x, axis=axis, keepdims=keepdims)


def all(x: Array, /, *, axis: Axes = None, keepdims: _bool = False) -> Array:
    """Whether every element is true: not zero.

    >>> import warpfold.array_api as xp
    >>> xp.all(xp.asarray([3, 0, 1]))
    np.False_
    """
    return _of("all", x, axis=axis, keepdims=keepdims)


def any(x: Array, /, *, axis: Axes = None, keepdims: _bool = False) -> Array:
    """Whether any element is true: not zero.

    >>> import warpfold.array_api as xp
    >>> xp.any(xp.asarray([3, 0, 1]))
    np.True_
    """
    return _of("any", x, axis=axis, keepdims=keepdims)


def unique_all(x: Array, /) -> UniqueAllResult:
    """The distinct values, where each occurs first, the index of each element's value, and the number of occurrences.

    >>> import warpfold.array_api as xp
    >>> xp.unique_all(xp.asarray([3.0, xp.nan, 3.0, xp.nan])).counts
    array([2, 1, 1])
    """
    if _is_complex(x):
        return UniqueAllResult(*np.unique_all(x))
    found = _wf.unique_all(x)
    x = np.ravel(x)
    if len(found.values) == 0 or found.values[-1] == found.values[-1]:
        return found
    # NaN is the last value. Each NaN becomes a value of its own, in the order of the elements.
    [nans] = np.nonzero(x != x)
    numbers = len(found.values) - 1
    inverse = np.ravel(found.inverse_indices)
    inverse[nans] = numbers + np.arange(len(nans))
    return UniqueAllResult(
        np.concat([found.values[:-1], x[nans]]),
        np.concat([found.indices[:-1], nans]),
        inverse.reshape(found.inverse_indices.shape),
        np.concat([found.counts[:-1], np.ones_like(nans)]),
    )


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """The distinct values, ascending, and the number of times that each occurs.

    >>> import warpfold.array_api as xp
    >>> xp.unique_counts(xp.asarray([3, 1, 3])).counts
    array([1, 2])
    """
    if _is_complex(x):
        return UniqueCountsResult(*np.unique_counts(x))
    values, counts = _wf.unique_counts(x)
    if len(values) == 0 or values[-1] == values[-1]:
        return UniqueCountsResult(values, counts)
    nans = int(counts[-1])
    return UniqueCountsResult(_apart(values, nans), np.concat([counts[:-1], np.ones(nans, counts.dtype)]))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """The distinct values, ascending, and the index among them of each element's value.

    >>> import warpfold.array_api as xp
    >>> xp.unique_inverse(xp.asarray([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    if _is_complex(x):
        return UniqueInverseResult(*np.unique_inverse(x))
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Array, /) -> Array:
    """The distinct values, ascending; every NaN is one.

    >>> import warpfold.array_api as xp
    >>> xp.unique_values(xp.asarray([3, 1, 3]))
    array([1, 3])
    """
    return np.unique_values(x) if _is_complex(x) else unique_counts(x).values


def _apart(values: Array, nans: int) -> Array:
    """Distinct values of which the last is NaN, with so many NaNs."""
    return np.concat([values[:-1], np.full(nans, values[-1])])
