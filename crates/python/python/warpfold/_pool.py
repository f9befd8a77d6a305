"""Pooling, its gradients, the greatest elements along an axis, and classes that are drawn."""

from collections import namedtuple

from . import _native

MaxPool = namedtuple("MaxPool", "values indices")
MaxPool.__doc__ = "The greatest element of each window, and its index."

TopK = namedtuple("TopK", "values indices")
TopK.__doc__ = "The first elements along an axis in an order, and their indices."

_WINDOWS = """kernel_size : int or tuple of int
    Elements of a window along each of the last one to three axes. An integer: along the last axis.
stride : int or tuple of int, optional
    From a window to the next. By default `kernel_size`, so that windows do not overlap.
padding : int or tuple of int
    Elements before and after each axis that windows may take in, at most half of `kernel_size`. They are no elements
    of a window.
{dilation}ceil_mode : bool
    Whether a last window may go beyond the padding, if it begins before the padding's end.
"""
_DILATION = """dilation : int or tuple of int
    From an element of a window to the next.
"""
_COUNTS = """count_include_pad : bool
    Whether to divide by the number of elements with their padding.
divisor_override : int, optional
    What to divide by in place of a number of elements.
"""
_RAISES = """
Raises
------
TypeError
    For what is no array of floats, and for arrays of which only some are on a GPU.
ValueError
    For windows that do not fit the array, and arrays of a wrong shape.
MemoryError
    For a result that memory does not hold.
"""


def _documented(text):
    """Sets a docstring, with what all poolings share."""

    def of(function):
        windows = _WINDOWS.format(dilation=_DILATION if "max_pool" in function.__name__ else "")
        function.__doc__ = text.format(windows=windows, counts=_COUNTS, raises=_RAISES)
        return function

    return of


@_documented("""The greatest element of each window over the last axes.

NaN is greater than any number. Names and semantics are PyTorch's.

Parameters
----------
x : array
    Of floats, of any library, where it is; with any axes before those of the windows.
{windows}return_indices : bool
    Whether to return where the elements are as well.

Returns
-------
array or MaxPool
    Of the dtype of `x`, an element for each window; with `return_indices`, `values` and `indices`: the index of the
    first such element, in row-major order of the axes of the window. A window whose elements are all padding, which
    only dilation makes, has minus infinity and -1.
{raises}
Examples
--------
>>> import warpfold as wf
>>> wf.max_pool([1.0, 5.0, 3.0, 2.0], 2)
array([5., 3.])
>>> wf.max_pool([[1.0, 5.0], [5.0, 2.0]], (2, 2), return_indices=True).indices
array([[1]])
""")
def max_pool(x, kernel_size, stride=None, padding=0, dilation=1, *, ceil_mode=False, return_indices=False):
    found = _native.max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return MaxPool(*found) if return_indices else found[0]


@_documented("""The gradient of the elements before a max_pool, from that of its values and their indices.

Each element's is a tree over the windows that hold it, so it depends on nothing but the data.

Parameters
----------
gradient : array
    That of the values, of their shape.
indices : array of int64
    Of max_pool. One that is not in its window has no gradient.
size : int or tuple of int
    The lengths of the last axes of the elements, as many as a window has.
{windows}
Returns
-------
array
    Of the dtype of `gradient`.
{raises}
Examples
--------
>>> import warpfold as wf
>>> wf.max_pool_backward([2.0, 4.0], [1, 1], 3, 2, stride=1)
array([0., 6., 0.])
""")
def max_pool_backward(
    gradient, indices, size, kernel_size, stride=None, padding=0, dilation=1, *, ceil_mode=False
):
    return _native.max_pool_backward(gradient, indices, size, kernel_size, stride, padding, dilation, ceil_mode)


@_documented("""The mean of each window over the last axes.

The sum is a tree over the elements of the window, in row-major order. Names and semantics are PyTorch's.

Parameters
----------
x : array
    Of floats, of any library, where it is; with any axes before those of the windows.
{windows}{counts}
Returns
-------
array
    Of the dtype of `x`, a mean for each window.
{raises}
Examples
--------
>>> import warpfold as wf
>>> wf.avg_pool([1.0, 5.0, 3.0, 2.0], 2)
array([3. , 2.5])
>>> wf.avg_pool([[1.0, 5.0], [5.0, 2.0]], (2, 2), padding=1, count_include_pad=False)
array([[1., 5.],
       [5., 2.]])
""")
def avg_pool(
    x,
    kernel_size,
    stride=None,
    padding=0,
    *,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    return _native.avg_pool(x, None, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@_documented("""The gradient of the elements before an avg_pool, from that of its result.

Each element's is a tree over the windows that hold it, so it depends on nothing but the data.

Parameters
----------
gradient : array
    That of the means, of their shape.
size : int or tuple of int
    The lengths of the last axes of the elements, as many as a window has.
{windows}{counts}
Returns
-------
array
    Of the dtype of `gradient`.
{raises}
Examples
--------
>>> import warpfold as wf
>>> wf.avg_pool_backward([2.0, 4.0], 3, 2, stride=1)
array([1., 3., 2.])
""")
def avg_pool_backward(
    gradient,
    size,
    kernel_size,
    stride=None,
    padding=0,
    *,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    return _native.avg_pool(
        gradient, size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def top_k(x, k, axis=-1, largest=True):
    """The greatest elements along an axis, the greatest first, or the least, the least first.

    NaN is greater than any number. Of equal elements the first comes first. On a GPU a row is read once for every
    1024 of `k`, so `k` of many thousands takes long there.

    Parameters
    ----------
    x : array
        Of any dtype and library, where it is.
    k : int
        How many, from 0 to the length of the axis.
    axis : int
        The axis.
    largest : bool
        Whether the greatest are asked for.

    Returns
    -------
    TopK
        With `values`, of the dtype of `x` and of length k along the axis, and `indices`, int64.

    Raises
    ------
    ValueError
        For more elements than there are.
    numpy.exceptions.AxisError
        For an axis that is not there.
    MemoryError
        For a result that memory does not hold.
    warpfold.Error
        For an array on a GPU that cannot be used, or an axis of 2^31 elements there.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.top_k([3, 9, 4, 9], 3)
    TopK(values=array([9, 9, 4]), indices=array([1, 3, 2]))
    """
    return TopK(*_native.top_k(x, k, axis, largest))


def sample(logits, noise, axis=-1, *, temperature=1.0):
    """A class of each row of logits, drawn by noise that is given.

    It is the index of the greatest logit + noise * temperature, the first of equal ones. If the noise is Gumbel's, a
    class is drawn with its probability in the softmax of logits / temperature. The same noise draws the same class in
    any batch.

    Parameters
    ----------
    logits : array
        Of floats, with an axis of classes. A class whose logit is minus infinity is not drawn before others.
    noise : array
        Of floats, of the shape of `logits`: -log(-log(u)), of u between 0 and 1. numpy.random.Generator.gumbel gives
        it.
    axis : int
        That of the classes.
    temperature : float
        Zero: the greatest logit, and the noise is not read.

    Returns
    -------
    scalar or array
        Of int64, of the shape of the other axes.

    Raises
    ------
    TypeError
        For what is no array of floats, and an array on a GPU: wf.torch.sample takes it.
    ValueError
        For noise of another shape, rows without classes, and a temperature that is negative or not finite.
    numpy.exceptions.AxisError
        For an axis that is not there.
    MemoryError
        For a result that memory does not hold.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.sample([[1.0, 2.0, 3.0]], [[0.5, 4.0, -2.0]])
    array([1])
    >>> wf.sample([[1.0, 2.0, 3.0]], [[0.5, 4.0, -2.0]], temperature=0)
    array([2])
    """
    return _native.sample(logits, noise, temperature, axis)
