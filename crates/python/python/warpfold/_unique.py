"""The set functions of the array API standard.

They differ from it in one point: all NaNs are one value, as in `numpy.unique`.
"""

from collections import namedtuple

from . import _native

UniqueAllResult = namedtuple("UniqueAllResult", "values indices inverse_indices counts")
UniqueCountsResult = namedtuple("UniqueCountsResult", "values counts")
UniqueInverseResult = namedtuple("UniqueInverseResult", "values inverse_indices")


def unique_all(x, /, *, device=None):
    """The distinct values, where each occurs first, the index of each element's value, and the number of occurrences.

    Parameters
    ----------
    x : array
        Of any shape.
    device : str, optional
        Where to compute. Arrays on a GPU are computed there, and the call waits until it is done.

    Returns
    -------
    UniqueAllResult
        A named tuple: values (ascending, NaN last), indices, inverse_indices (of the shape of `x`), counts.

    Raises
    ------
    TypeError, ValueError
        For what is no array, and for arrays with nulls.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.unique_all([3, 1, 3]).inverse_indices
    array([1, 0, 1])
    """
    values, counts, first, inverse = _native.unique(x, True, True, device)
    return UniqueAllResult(values, first, inverse, counts)


def unique_counts(x, /, *, device=None):
    """The distinct values, ascending, and the number of times that each occurs.

    Parameters, exceptions: those of `unique_all`.

    Returns
    -------
    UniqueCountsResult
        A named tuple: values, counts.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.unique_counts([3, 1, 3])
    UniqueCountsResult(values=array([1, 3]), counts=array([1, 2]))
    """
    values, counts, _, _ = _native.unique(x, False, False, device)
    return UniqueCountsResult(values, counts)


def unique_inverse(x, /, *, device=None):
    """The distinct values, ascending, and the index among them of each element's value.

    Parameters, exceptions: those of `unique_all`.

    Returns
    -------
    UniqueInverseResult
        A named tuple: values, inverse_indices (of the shape of `x`).

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.unique_inverse([3, 1, 3])
    UniqueInverseResult(values=array([1, 3]), inverse_indices=array([1, 0, 1]))
    """
    values, _, _, inverse = _native.unique(x, False, True, device, False)
    return UniqueInverseResult(values, inverse)


def unique_values(x, /, *, device=None):
    """The distinct values, ascending; NaN, if there is one, is the last.

    Parameters, exceptions: those of `unique_all`.

    Returns
    -------
    array

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.unique_values([3, 1, 3])
    array([1, 3])
    """
    return _native.unique(x, False, False, device, False)[0]
