"""Gradients of rows that come with others: results with names."""

from collections import namedtuple

from . import _native

NormGradients = namedtuple("NormGradients", "x weight bias")
NormGradients.__doc__ = "The gradients of a norm: of its elements, and of its weights and biases, if there are any."

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
):
    """The cross-entropy of rows of logits, and the gradient of the logits in the same call.

    Parameters
    ----------
    logits, targets, axis, ignore_index, label_smoothing, weight, reduction
        As those of cross_entropy.
    gradient : array, optional
        That of the loss, of its shape. By default 1.

    Returns
    -------
    CrossEntropyLoss
        With `loss`; `gradient`, of the shape and dtype of the logits; `logsumexp`, that of each row.

    Raises
    ------
    TypeError, ValueError, numpy.exceptions.AxisError, MemoryError
        As cross_entropy.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.cross_entropy_gradient([[0.0, 0.0], [3.0, 3.0]], [1, 0], reduction="sum").gradient
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    found = _native.cross_entropy_gradient(
        logits, targets, axis, ignore_index, label_smoothing, weight, reduction, gradient
    )
    return CrossEntropyLoss(*found)
