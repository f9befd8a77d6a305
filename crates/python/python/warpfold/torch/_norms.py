"""Norms with the names and arguments of `torch.nn.functional`, whose results have Warpfold's bits."""

import torch

from . import _norm_ops
from ._functions import _asked, _checked, _checked_also

_EPS, _EPS_OF_DOUBLES = (torch.finfo(dtype).eps for dtype in (torch.float32, torch.float64))


def rms_norm(input, normalized_shape, weight=None, eps=None, *, residual=None, weight_offset=0.0):
    """The last axes over the root of their mean square, as `torch.nn.functional.rms_norm`.

    Without `eps` it is that of float32, or of float64 for float64, as in PyTorch. `weight_offset` is added to each
    weight: 1 for weights that are stored as their distance from 1, as Gemma's. A `residual` of the shape of the input is
    added to it first, and the result is the norm and the sum, which is rounded to the dtype of the input.

    >>> import torch, warpfold as wf
    >>> wf.torch.rms_norm(torch.tensor([3.0, -3.0]), [2], torch.tensor([1.0, 2.0]))
    tensor([ 1., -2.])
    >>> wf.torch.rms_norm(torch.tensor([1.0, 7.0]), [2], residual=torch.tensor([2.0, -10.0]))
    (tensor([ 1., -1.]), tensor([ 3., -3.]))
    """
    recorded = _asked("rms_norm", (input, weight, residual))
    if eps is None:
        eps = _EPS_OF_DOUBLES if input.dtype == torch.float64 else _EPS
    rank = _normalized("rms_norm", input, normalized_shape)
    if residual is None:
        return _norm_ops.rms_norm(recorded, input, weight, None, rank, eps, float(weight_offset))
    _alike("rms_norm", input, residual)
    return _norm_ops.rms_norm_residual(recorded, input, residual, weight, None, rank, eps, float(weight_offset))


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, *, residual=None, weight_offset=0.0):
    """The last axes less their mean, over their deviation, as `torch.nn.functional.layer_norm`.

    `residual` and `weight_offset` are those of `rms_norm`.

    >>> import torch, warpfold as wf
    >>> wf.torch.layer_norm(torch.tensor([1.0, 3.0]), [2], eps=0.0)
    tensor([-1.,  1.])
    """
    recorded = _asked("layer_norm", (input, weight, bias, residual))
    rank = _normalized("layer_norm", input, normalized_shape)
    if residual is None:
        return _norm_ops.layer_norm(recorded, input, weight, bias, rank, eps, float(weight_offset))
    _alike("layer_norm", input, residual)
    return _norm_ops.layer_norm_residual(recorded, input, residual, weight, bias, rank, eps, float(weight_offset))


def _alike(name, input, residual):
    if residual.shape != input.shape:
        raise ValueError(
            f"warpfold.torch.{name}: the residual has shape {list(residual.shape)}, and must have that of the input, "
            f"{list(input.shape)}"
        )


def _normalized(name, input, shape):
    """How many axes are normalised."""
    if isinstance(shape, int):
        raise TypeError(f"warpfold.torch.{name}: normalized_shape is {shape}, and must be a list or a tuple: [{shape}]")
    shape, own = tuple(shape), input.shape
    if len(shape) == 1 and own and own[-1] == shape[0]:
        return 1
    if not shape or own[-len(shape) :] != shape:
        raise ValueError(
            f"warpfold.torch.{name}: normalized_shape is {list(shape)}, which must be the shape of the last axes of "
            f"the input, whose shape is {list(input.shape)}"
        )
    return len(shape)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Groups of channels of each sample less their mean, over their deviation, as `torch.nn.functional.group_norm`.

    >>> import torch, warpfold as wf
    >>> wf.torch.group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    recorded = _asked("group_norm", (input, weight, bias))
    if input.dim() < 2:
        raise ValueError(f"warpfold.torch.group_norm: the input needs 2 axes at least, and has {input.dim()}")
    if num_groups < 1 or input.shape[1] % num_groups:
        raise ValueError(
            f"warpfold.torch.group_norm: num_groups is {num_groups}, which must divide the channels, {input.shape[1]}"
        )
    return _norm_ops.group_norm(recorded, input, weight, bias, num_groups, eps)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Each channel less its mean, over its deviation, as `torch.nn.functional.batch_norm`.

    In training the running mean and variance, if they are given, move towards those of the input by `momentum`, the
    variance towards the unbiased one.

    >>> import torch, warpfold as wf
    >>> mean, var = torch.zeros(1), torch.ones(1)
    >>> wf.torch.batch_norm(torch.tensor([[1.0], [3.0]]), mean, var, training=True, momentum=0.5, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    >>> mean, var
    (tensor([1.]), tensor([1.5000]))
    """
    _checked("batch_norm", input)
    _checked_also("batch_norm", running_mean, running_var, weight, bias)
    if input.dim() < 2:
        raise ValueError(f"warpfold.torch.batch_norm: the input needs 2 axes at least, and has {input.dim()}")
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("warpfold.torch.batch_norm: give running_mean and running_var, or train")
        return _norm_ops.batch_norm(input, weight, bias, running_mean, running_var, eps)[0]
    channels = input.shape[1]
    count = input.numel() // channels if channels else 0
    if channels and count <= 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")
    y, mean, var = _norm_ops.batch_norm(input, weight, bias, None, None, eps)
    if running_mean is not None or running_var is not None:
        _move(((running_mean, mean), (running_var, var * (count / max(count - 1, 1)))), momentum)
    return y


def _move(pairs, momentum):
    """Moves running statistics towards those that were found."""
    with torch.no_grad():
        for running, found in pairs:
            if running is not None:
                running.copy_(found.detach() * momentum + running.to(found.dtype) * (1 - momentum))
