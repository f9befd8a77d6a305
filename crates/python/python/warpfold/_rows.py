"""Gradients of rows that come with others: results with names."""

import sys
from collections import namedtuple

import numpy as np

from . import _native

NormGradients = namedtuple("NormGradients", "x weight bias")
NormGradients.__doc__ = "The gradients of a norm: of its elements, and of its weights and biases, if there are any."

BatchNorm = namedtuple("BatchNorm", "y mean var")
BatchNorm.__doc__ = "A batch norm, and the mean and the variance of each channel by which it was normalised."

CrossEntropyLoss = namedtuple("CrossEntropyLoss", "loss gradient logsumexp")
CrossEntropyLoss.__doc__ = "A cross-entropy, the gradient of the logits, and the logsumexp of each row."

_GRADIENTS = """The gradients of {name} of the elements `x`, from that of its result.

Parameters
----------
x, gradient : array
    Of floats, of one shape: the elements, and the gradient of the result.
weight, bias, axis, epsilon, weight_offset
    As they were given to {name}.

Returns
-------
NormGradients
    With `x`, of the shape and dtype of `x`; `weight` and `bias`, of the shape and dtype of what was given, or None:
    trees over the rows.

Raises
------
TypeError, ValueError, numpy.exceptions.AxisError, MemoryError
    As {name}.

Examples
--------
>>> import warpfold as wf
>>> wf.{name}_backward([3.0, -3.0], [1.0, 1.0], weight=[1.0, 2.0], epsilon=0).weight
array([ 1., -1.])
"""


def rms_norm_backward(x, gradient, weight=None, bias=None, axis=-1, *, epsilon=1e-5, weight_offset=0.0):
    found = _native.rms_norm_backward(x, gradient, weight, bias, axis, epsilon, weight_offset)
    return NormGradients(*found)


def layer_norm_backward(x, gradient, weight=None, bias=None, axis=-1, *, epsilon=1e-5, weight_offset=0.0):
    found = _native.layer_norm_backward(x, gradient, weight, bias, axis, epsilon, weight_offset)
    return NormGradients(*found)


rms_norm_backward.__doc__ = _GRADIENTS.format(name="rms_norm")
layer_norm_backward.__doc__ = _GRADIENTS.format(name="layer_norm")


def group_norm_backward(x, gradient, num_groups, weight=None, bias=None, *, epsilon=1e-5, weight_offset=0.0):
    """The gradients of group_norm of the elements `x`, from that of its result.

    Parameters
    ----------
    x, gradient : array
        Of floats, of one shape: the elements, and the gradient of the result.
    num_groups, weight, bias, epsilon, weight_offset
        As they were given to group_norm.

    Returns
    -------
    NormGradients
        With `x`, of the shape and dtype of `x`; `weight` and `bias`, of the shape and dtype of what was given, or
        None: trees over the samples, of a tree over the channel in each.

    Raises
    ------
    TypeError, ValueError, numpy.exceptions.AxisError, MemoryError
        As group_norm.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.group_norm_backward([[1.0, 3.0]], [[1.0, 2.0]], 1, bias=[0.0, 0.0]).bias
    array([1., 2.])
    """
    found = _native.group_norm_backward(x, gradient, num_groups, weight, bias, epsilon, weight_offset)
    return NormGradients(*found)


def _both(mean, var):
    if (mean is None) != (var is None):
        raise ValueError("batch_norm takes mean and var, or neither: give both")


def batch_norm(x, weight=None, bias=None, axis=1, *, mean=None, var=None, epsilon=1e-5):
    """Each channel less its mean, over its deviation: (x - mean) / sqrt(var + epsilon) * weight + bias.

    Parameters
    ----------
    x : array
        Of floats, of any library, where it is.
    weight, bias : array, optional
        A factor of each channel's normalised elements, and what is added after that.
    axis : int
        That of the channels.
    mean, var : array, optional
        The statistics of each channel. By default those of the elements, over all other axes.
    epsilon : float
        Added to the variance before its root is taken.

    Returns
    -------
    BatchNorm
        With `y`, of the shape and dtype of `x`; `mean` and `var`, by which it was normalised: float64 if `x` is, and
        else float32. `var` is over the number of elements, as that of wf.var. Of no elements both are NaN.

    Raises
    ------
    TypeError
        For what is no array of floats, an array with nulls, and arrays of which only some are on a GPU.
    ValueError
        For arrays of a wrong shape, and for `mean` without `var`.
    numpy.exceptions.AxisError
        For an axis that is not there.
    MemoryError
        For a result that memory does not hold.

    Examples
    --------
    >>> import warpfold as wf
    >>> found = wf.batch_norm([[1.0, 10.0], [3.0, 30.0]], epsilon=0)
    >>> found.y
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> found.mean, found.var
    (array([ 2., 20.]), array([  1., 100.]))
    >>> wf.batch_norm([[3.0], [5.0]], mean=[1.0], var=[4.0], epsilon=0).y
    array([[1.],
           [2.]])
    """
    _both(mean, var)
    return BatchNorm(*_native.batch_norm(x, weight, bias, mean, var, axis, epsilon))


def batch_norm_backward(x, gradient, weight=None, bias=None, axis=1, *, mean=None, var=None, epsilon=1e-5):
    """The gradients of batch_norm of the elements `x`, from that of its result.

    Parameters
    ----------
    x, gradient : array
        Of floats, of one shape: the elements, and the gradient of the result.
    weight, bias, axis, mean, var, epsilon
        As they were given to batch_norm. Statistics that are given do not depend on the elements.

    Returns
    -------
    NormGradients
        With `x`, of the shape and dtype of `x`; `weight` and `bias`, of the shape and dtype of what was given, or
        None: trees over the channel.

    Raises
    ------
    TypeError, ValueError, numpy.exceptions.AxisError, MemoryError
        As batch_norm.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.batch_norm_backward([[1.0], [3.0]], [[1.0], [2.0]], weight=[1.0], bias=[0.0], epsilon=0)[1:]
    (array([1.]), array([3.]))
    """
    _both(mean, var)
    return NormGradients(*_native.batch_norm_backward(x, gradient, axis, epsilon, weight, bias, mean, var))


def _place(out):
    """The array that a gradient is written to."""
    if isinstance(out, np.ndarray) and not isinstance(out, np.ma.MaskedArray):
        if not out.flags.writeable:
            raise ValueError("cross_entropy_gradient: out is read-only: give an array that can be written to")
        return out.view(np.ndarray)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(out, torch.Tensor):
        raise TypeError(
            f"cross_entropy_gradient: out is an array of NumPy or a tensor of PyTorch, and this is {type(out).__name__}"
        )
    if out.is_neg():
        raise TypeError("cross_entropy_gradient: out is a view of negated numbers: give a tensor of its own")
    return out


def cross_entropy_gradient(
    logits,
    targets,
    axis=-1,
    *,
    ignore_index=-100,
    label_smoothing=0.0,
    weight=None,
    reduction="mean",
    gradient=None,
    out=None,
):
    """The cross-entropy of rows of logits, and the gradient of the logits in the same call.

    Parameters
    ----------
    logits, targets, axis, ignore_index, label_smoothing, weight, reduction
        As those of cross_entropy.
    gradient : array, optional
        That of the loss, of its shape. By default 1.
    out : array, optional
        Where the gradient of the logits goes, of their shape and dtype: an array of NumPy, or a tensor of PyTorch on
        the CPU. It may be the logits themselves, which are overwritten then, and no memory of their size is needed. If
        the call is interrupted, a part of them is.

    Returns
    -------
    CrossEntropyLoss
        With `loss`; `gradient`, of the shape and dtype of the logits, or `out`; `logsumexp`, that of each row.

    Raises
    ------
    TypeError, ValueError, numpy.exceptions.AxisError, MemoryError
        As cross_entropy. For an `out` that is read-only, whose elements share memory, or that overlaps the logits
        without being the same elements: ValueError.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.cross_entropy_gradient([[0.0, 0.0], [3.0, 3.0]], [1, 0], reduction="sum").gradient
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    >>> import numpy as np
    >>> logits = np.array([[0.0, 0.0], [3.0, 3.0]])
    >>> loss = wf.cross_entropy_gradient(logits, [1, 0], reduction="sum", out=logits).loss
    >>> logits
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    given = logits, targets, axis, ignore_index, label_smoothing, weight, reduction, gradient
    if out is None:
        return CrossEntropyLoss(*_native.cross_entropy_gradient(*given, None))
    loss, _, logsumexp = _native.cross_entropy_gradient(*given, _place(out))
    if not isinstance(out, np.ndarray) and not out.is_inference():
        # PyTorch is told, so that a graph that has kept the tensor says so.
        sys.modules["torch"].autograd.graph.increment_version(out)
    return CrossEntropyLoss(loss, out, logsumexp)
