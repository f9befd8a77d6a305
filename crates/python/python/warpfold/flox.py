"""An engine for flox: the grouped aggregations that flox's `generic_aggregate` asks for, by `warpfold.group_by`.

>>> import numpy as np, flox, warpfold as wf
>>> wf.flox.register()
>>> x, by = np.array([1.0, 2.0, 4.0]), np.array([0, 1, 0])
>>> flox.groupby_reduce(x, by, func="mean", engine="warpfold")[0]
array([2.5, 2. ])

A function takes `group_idx`, of the last axis of `array`, and the number of groups as `size`. Groups without elements
get `fill_value`. What is missing here (medians, quantiles, modes; dtypes that are no numbers) is flox's engine "numpy".
"""

import numpy as np

from . import _native

# flox's names, and the reductions that they are.
_SAME = (
    ["sum", "nansum", "prod", "nanprod", "mean", "nanmean", "min", "nanmin", "max", "nanmax", "var", "nanvar", "std"]
    + ["nanstd", "any", "all", "argmin", "argmax", "nanargmin", "nanargmax", "first", "last"]
)
_CASTING = ("sum", "prod", "mean", "var", "std")


def _over_last(array, group_idx, op, size, **options):
    """`warpfold.group_by` along the last axis."""
    array = np.asarray(array)
    found = _native.group_by(np.moveaxis(array, -1, 0), np.asarray(group_idx), op, size, **options)
    return np.moveaxis(found, 0, -1)


def _filled(result, group_idx, size, fill_value, dtype):
    """Results in their dtype, and `fill_value` where there are no elements."""
    if dtype is not None:
        result = result.astype(dtype, copy=False)
    if fill_value is not None:
        empty = np.asarray(_native.group_by(np.asarray(group_idx), group_idx, "size", size)) == 0
        if empty.any():
            result = np.array(result, dtype=np.result_type(result.dtype, np.min_scalar_type(fill_value)))
            result[..., empty] = fill_value
            result = result if dtype is None else result.astype(dtype, copy=False)
    return result


def _size(group_idx, size):
    return int(np.max(group_idx, initial=-1)) + 1 if size is None else int(size)


def _aggregation(op):
    plain = op.removeprefix("nan")

    def aggregate(group_idx, array, *, axis=-1, size=None, fill_value=None, dtype=None, **options):
        array, size = np.asarray(array), _size(group_idx, size)
        chosen = {}
        if plain in ("var", "std"):
            chosen["ddof"] = options.pop("ddof", 0)
        if options:
            raise TypeError(f"{op} takes no {', '.join(options)}")
        if dtype is not None and plain in _CASTING and array.dtype.kind == np.dtype(dtype).kind == "f":
            chosen["dtype"] = dtype
        if plain not in _CASTING and plain not in ("any", "all"):
            # A result that `_filled`, or the lines below, replace.
            chosen["fill"] = -1 if plain.startswith("arg") and array.size else 0
        result = _over_last(array, group_idx, op, size, **chosen)
        if plain.startswith("arg") and fill_value is not None:
            none = result < 0
            if none.any():
                result = np.where(none, fill_value, result)
        return _filled(result, group_idx, size, fill_value, dtype)

    aggregate.__name__ = aggregate.__qualname__ = op
    aggregate.__doc__ = f"The aggregation `{op}` of flox, by ``warpfold.group_by``."
    return aggregate


def nanlen(group_idx, array, *, axis=-1, size=None, fill_value=None, dtype=None):
    """The number of elements that are not NaN."""
    array, size = np.asarray(array), _size(group_idx, size)
    present = ~np.isnan(array) if array.dtype.kind == "f" else np.ones(array.shape, bool)
    return _filled(_over_last(present, group_idx, "count_nonzero", size), group_idx, size, fill_value, dtype)


def len(group_idx, array, *, axis=-1, size=None, fill_value=None, dtype=None):
    """The number of elements."""
    array, size = np.asarray(array), _size(group_idx, size)
    sizes = np.asarray(_native.group_by(np.asarray(group_idx), group_idx, "size", size))
    return _filled(np.broadcast_to(sizes, (*array.shape[:-1], size)), group_idx, size, fill_value, dtype)


def _squares(op):
    def aggregate(group_idx, array, **options):
        return _AGGREGATIONS[op](group_idx, np.asarray(array) ** 2, **options)

    aggregate.__doc__ = "The sum of squares."
    return aggregate


def _end(op, last):
    def aggregate(group_idx, array, *, axis=-1, size=None, fill_value=None, dtype=None):
        array, size = np.asarray(array), _size(group_idx, size)
        n = array.shape[-1]
        if array.dtype.kind != "f" or n == 0:
            return _AGGREGATIONS[op](group_idx, array, size=size, fill_value=fill_value, dtype=dtype)
        none = -1 if last else n
        places = np.where(np.isnan(array), none, np.arange(n))
        found = _over_last(places, group_idx, "max" if last else "min", size, fill=none)
        result = np.take_along_axis(array, np.clip(found, 0, n - 1), -1)
        result[found == none] = np.nan
        return _filled(result, group_idx, size, fill_value, dtype)

    aggregate.__doc__ = f"The {op} element that is not NaN; NaN if there is none."
    return aggregate


# From here on `sum`, `len` and so on are flox's, in this module.
_AGGREGATIONS = {op: _aggregation(op) for op in _SAME}
_AGGREGATIONS |= {"nanlen": nanlen, "len": len}
_AGGREGATIONS |= {"sum_of_squares": _squares("sum"), "nansum_of_squares": _squares("nansum")}
_AGGREGATIONS |= {"nanfirst": _end("first", False), "nanlast": _end("last", True)}
globals().update(_AGGREGATIONS)


def aggregation(func, dtype):
    """The function for an aggregation of elements of a dtype; None if this engine has none."""
    known = np.dtype(dtype).kind in "biuf" and np.dtype(dtype) != np.longdouble
    return _AGGREGATIONS.get(func) if known else None


def register():
    """Adds ``engine="warpfold"`` to flox in this process, and in those that it forks.

    Workers of Dask that were started before need the same call: ``client.run(warpfold.flox.register)``.
    """
    import flox.aggregations
    import flox.core

    theirs = flox.aggregations.generic_aggregate
    if getattr(theirs, "_has_warpfold", False):
        return

    def generic_aggregate(group_idx, array, *, engine, func, **options):
        if engine != "warpfold":
            return theirs(group_idx, array, engine=engine, func=func, **options)
        method = aggregation(func, array.dtype) if isinstance(array, np.ndarray) else None
        if method is None:
            return theirs(group_idx, array, engine="numpy", func=func, **options)
        return method(group_idx, array, **options)

    generic_aggregate._has_warpfold = True
    flox.aggregations.generic_aggregate = generic_aggregate
    flox.core.generic_aggregate = generic_aggregate
