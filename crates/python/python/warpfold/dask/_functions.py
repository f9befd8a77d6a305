"""The public reductions: names, arguments and semantics of `warpfold`, and Dask's `split_every`.

The functions are made from a table, since only their names and arguments differ. `__init__.pyi` has their types.
"""

import inspect

from ._reduce import reduce

_SECTIONS = {
    "axis": "axis : int or tuple of int, optional\n    The axes to reduce; None: all.",
    "dtype": "dtype : dtype, optional\n    Elements are cast to this dtype first, and the result has it.",
    "ddof": "ddof, correction : number\n    Subtracted from the count in the divisor. Two names of one option.",
    "ord": "ord : {1, 2, inf}\n    The order.",
    "keepdims": "keepdims : bool\n    Whether reduced axes stay, with length 1.",
    "initial": "initial : number, optional\n    One more operand, on the left.",
    "where": "where : array of bool, optional\n    Reduce only where it is true; broadcast to the shape of `x`.",
    "precision": 'precision : {"tree", "compensated"}\n    Plain sums up the tree, or double words up the same tree.',
    "split_every": "split_every : int or dict, optional\n    How many states are merged by one task, as Dask takes it. "
    "The result does not depend on it.",
}

_DOC = """{first}

As ``warpfold.{name}``, of an array in chunks, and with the same bits.

Parameters
----------
x : dask.array.Array
    With chunks of known lengths. Other arrays are reduced at once.
{sections}

Returns
-------
{returns}
    Lazy.

Raises
------
TypeError, ValueError, numpy.exceptions.AxisError
    As ``warpfold.{name}``; a ValueError for chunks of unknown lengths.

Examples
--------
>>> import dask.array as da, warpfold as wf
>>> x = da.from_array([1.0, 3.0, 2.0, 2.0], chunks=3)
>>> {call}
{result}
"""

# Arguments by position, then those by name; then each function's name, first line, and result in the example.
_FAMILIES = [
    (
        ("axis", "dtype", "keepdims", "initial", "where"),
        ("precision", "split_every"),
        ("sum", "The sum of elements.", "np.float64(8.0)"),
        ("prod", "The product of elements.", "np.float64(12.0)"),
        ("nansum", "The sum of elements that are not NaN.", "np.float64(8.0)"),
        ("nanprod", "The product of elements that are not NaN.", "np.float64(12.0)"),
    ),
    (
        ("axis", "dtype", "keepdims"),
        ("where", "precision", "split_every"),
        ("mean", "The mean of elements.", "np.float64(2.0)"),
        ("nanmean", "The mean of elements that are not NaN.", "np.float64(2.0)"),
        ("logsumexp", "The logarithm of the sum of the elements' exponentials.", "np.float64(3.626"),
        ("nanlogsumexp", "The logarithm of the sum of exponentials of elements that are not NaN.", "np.float64(3.626"),
    ),
    (
        ("axis", "dtype", "ddof", "keepdims"),
        ("where", "correction", "precision", "split_every"),
        ("var", "The variance of elements.", "np.float64(0.5)"),
        ("std", "The standard deviation of elements.", "np.float64(0.707"),
        ("nanvar", "The variance of elements that are not NaN.", "np.float64(0.5)"),
        ("nanstd", "The standard deviation of elements that are not NaN.", "np.float64(0.707"),
    ),
    (
        ("axis",),
        ("ord", "dtype", "keepdims", "where", "precision", "split_every"),
        ("norm", "The norm of a vector: of order 2, or 1, or infinity.", "np.float64(4.242"),
        ("nannorm", "The norm of the elements that are not NaN.", "np.float64(4.242"),
    ),
    (
        ("axis", "keepdims", "initial", "where"),
        ("split_every",),
        ("min", "The least element. -0.0 is below +0.0.", "np.float64(1.0)"),
        ("max", "The greatest element. -0.0 is below +0.0.", "np.float64(3.0)"),
        ("nanmin", "The least element that is not NaN; NaN if there is no other.", "np.float64(1.0)"),
        ("nanmax", "The greatest element that is not NaN; NaN if there is no other.", "np.float64(3.0)"),
    ),
    (
        ("axis", "keepdims"),
        ("where", "split_every"),
        ("any", "Whether any element is not zero. NaN is not zero.", "np.True_"),
        ("all", "Whether every element is not zero. NaN is not zero.", "np.True_"),
        ("count_nonzero", "The number of elements that are not zero. NaN is not zero.", "np.int64(4)"),
    ),
    (
        ("axis",),
        ("keepdims", "where", "split_every"),
        ("argmin", "The index of the least element, the first of several.", "np.int64(0)"),
        ("argmax", "The index of the greatest element, the first of several.", "np.int64(1)"),
        ("nanargmin", "The index of the least element that is not NaN.", "np.int64(0)"),
        ("nanargmax", "The index of the greatest element that is not NaN.", "np.int64(1)"),
        ("minmax", "The least and the greatest element, in one read.", "(np.float64(1.0), np.float64(3.0))"),
    ),
]


def _documented(name, first, result, arguments):
    indented = "\n".join(_SECTIONS[argument] for argument in arguments if argument in _SECTIONS)
    call = f"wf.dask.{name}(x).compute()"
    if name == "minmax":
        call = "import dask; dask.compute(*wf.dask.minmax(x))"
    elif not result.endswith((")", "_")):
        call, result = f"round(float({call}), 2)", str(round(float(result.split("(")[1]), 2))
    returns = "tuple of dask.array.Array" if name == "minmax" else "dask.array.Array"
    return _DOC.format(first=first, name=name, sections=indented, returns=returns, call=call, result=result)


def _function(name, first, result, positions, names):
    kind, unset = inspect.Parameter, {"keepdims": False}
    parameters = [kind("x", kind.POSITIONAL_OR_KEYWORD)]
    parameters += [kind(n, kind.POSITIONAL_OR_KEYWORD, default=unset.get(n)) for n in positions]
    parameters += [kind(n, kind.KEYWORD_ONLY, default=unset.get(n)) for n in names]
    signature = inspect.Signature(parameters)

    def function(*args, **options):
        return reduce(name, **signature.bind(*args, **options).arguments)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "warpfold.dask"
    function.__signature__ = signature
    function.__doc__ = _documented(name, first, result, (*positions, *names))
    return function


FUNCTIONS = {
    name: _function(name, first, result, positions, names)
    for positions, names, *functions in _FAMILIES
    for name, first, result in functions
}
