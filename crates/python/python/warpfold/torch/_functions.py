"""Functions with the names and arguments of `torch.nn.functional`, whose results have Warpfold's bits."""

import torch

from . import _at_once, _loss_ops, _ops
from ._composed import divided


def _checked(name, *tensors, floats=True):
    """Refuses what is no tensor on the CPU or an NVIDIA GPU; and what are no floats, unless any elements are taken."""
    for x in tensors:
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"warpfold.torch.{name} takes tensors, not {type(x).__name__}")
        if not (x.is_cuda or x.is_cpu or x.is_meta):
            raise TypeError(
                f"warpfold.torch.{name}: the tensor is on {x.device}, where this operation is not computed yet: move it to "
                f"the host first (x.cpu()), or call torch.nn.functional.{name}"
            )
        if floats and not x.is_floating_point():
            raise TypeError(f"warpfold.torch.{name} takes floats, not {x.dtype}: cast the tensor first")


def _checked_also(name, *tensors):
    """As `_checked`, of tensors that may be left out."""
    for x in tensors:
        if x is not None:
            _checked(name, x)


def _together(name, input, *tensors):
    """Refuses tensors of several devices. Some may be left out."""
    for x in tensors:
        if x is not None and x.device != input.device:
            raise TypeError(
                f"warpfold.torch.{name}: the input is on {input.device}, and another tensor on {x.device}: move them to "
                "one device"
            )


def _asked(name, tensors):
    """What `_ops._recorded` says of tensors of floats, of which all but the first may be left out: what are none are
    refused, as by `_checked`."""
    recorded = _ops._recorded(tensors)
    if recorded is None or tensors[0] is None:
        _checked(name, tensors[0])
        _checked_also(name, *tensors[1:])
        _together(name, *tensors)
        return recorded
    # Plain tensors on the CPU or a GPU.
    for x in tensors:
        if x is not None and not x.is_floating_point():
            _checked(name, x)
    return recorded


def _axis(x, dim):
    """The tensor with at least one axis, and the axis `dim` of it."""
    rank = x.dim()
    if dim is None:
        dim = 0 if rank in (0, 1, 3) else 1
    if not -(rank or 1) <= dim < (rank or 1):
        raise IndexError(f"dim {dim} is out of range for a tensor with {rank} axes")
    return (x if rank else x.view(1)), dim


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The softmax along an axis, as `torch.nn.functional.softmax`.

    >>> import torch, warpfold as wf
    >>> wf.torch.softmax(torch.tensor([0.0, 0.0, -1000.0]), 0)
    tensor([0.5000, 0.5000, 0.0000])
    """
    return _softmax("softmax", _ops.softmax, input, dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of the softmax along an axis, as `torch.nn.functional.log_softmax`.

    >>> import torch, warpfold as wf
    >>> wf.torch.log_softmax(torch.tensor([0.0, -1000.0]), 0)
    tensor([    0., -1000.])
    """
    return _softmax("log_softmax", _ops.log_softmax, input, dim, dtype)


def _softmax(name, op, input, dim, dtype):
    input = input if dtype is None or not isinstance(input, torch.Tensor) else input.to(dtype)
    recorded = _asked(name, (input,))
    rank = input.dim()
    if dim is not None and -rank <= dim < rank:
        return op.known(recorded, input, dim)
    x, dim = _axis(input, dim)
    found = op.known(recorded, x, dim)
    return found if x is input else found.view(())


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """The cross-entropy of logits and classes, as `torch.nn.functional.cross_entropy`.

    Classes are along axis 1, or axis 0 of a single row. Targets are indices of classes, or distributions over them.

    >>> import torch, warpfold as wf
    >>> wf.torch.cross_entropy(torch.tensor([[0.0, 1000.0], [0.0, 1000.0]]), torch.tensor([1, 0]))
    tensor(500.)
    """
    recorded = _ops._recorded((input, target, weight))
    _checked("cross_entropy", input)
    _checked_also("cross_entropy", weight)
    reduction = _reduction(reduction, size_average, reduce)
    if not isinstance(target, torch.Tensor):
        raise TypeError(f"warpfold.torch.cross_entropy takes tensors, not {type(target).__name__}")
    if recorded is None:
        _together("cross_entropy", input, target, weight)
    if weight is not None and weight.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError("warpfold.torch.cross_entropy has no gradient of weights: detach them")
    rank = input.dim()
    if rank == 0:
        raise ValueError("warpfold.torch.cross_entropy: the input has no axis of classes")
    dim = 0 if rank == 1 else 1
    if target.is_floating_point():
        if target.shape != input.shape:
            raise ValueError(f"the target has shape {tuple(target.shape)}, and the input {tuple(input.shape)}")
        if ignore_index >= 0:
            raise ValueError("warpfold.torch.cross_entropy: targets that are distributions take no ignore_index")
        options = dim, label_smoothing, reduction
        return _loss_ops.cross_entropy_of_distributions.known(recorded, input, target, weight, *options)
    if recorded and not label_smoothing and reduction != "none" and _at_once.applies(input, target, weight, dim):
        return _at_once.at_once(input, target, weight, dim, ignore_index, reduction)
    options = dim, ignore_index, label_smoothing, reduction
    return _loss_ops.cross_entropy.known(recorded, input, target, weight, *options)[0]


def _reduction(reduction, size_average=None, reduce=None):
    if size_average is not None or reduce is not None:
        mean = size_average is None or size_average
        return ("mean" if mean else "sum") if reduce is None or reduce else "none"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction: give mean, sum or none")
    return reduction


def _alike(x, y):
    """Two tensors, broadcast to one shape and promoted to one dtype."""
    if x.dtype != y.dtype:
        dtype = torch.promote_types(x.dtype, y.dtype)
        x, y = x.to(dtype), y.to(dtype)
    return (x, y) if x.shape == y.shape else torch.broadcast_tensors(x, y)


def _loss(name, kind, input, target, reduction, weight=None, parameter=0.0, by_weights=False):
    """A loss of elements and targets, which are broadcast and promoted to one dtype."""
    if weight is None and type(input) is type(target) is torch.Tensor:
        if input.dtype is target.dtype and input.shape == target.shape:
            recorded = _asked(name, (input, target))
            return _loss_ops.loss.known(recorded, input, target, kind, parameter, reduction)
    _checked(name, input)
    _checked_also(name, weight)
    if not isinstance(target, torch.Tensor):
        raise TypeError(f"warpfold.torch.{name} takes tensors, not {type(target).__name__}")
    x, y = _alike(input, target)
    _checked(name, y)
    if weight is None:
        return _loss_ops.loss(x, y, kind, parameter, reduction)
    losses = _loss_ops.loss(x, y, kind, parameter, "none") * weight
    if reduction == "none":
        return losses
    total = _ops.total(losses, None)
    if reduction == "sum":
        return total
    return total / _ops.total(weight, None) if by_weights else divided(total, losses.numel())


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of squared differences, as `torch.nn.functional.mse_loss`.

    >>> import torch, warpfold as wf
    >>> wf.torch.mse_loss(torch.tensor([1.0, 4.0]), torch.tensor([1.0, 2.0]))
    tensor(2.)
    """
    reduction = _reduction(reduction, size_average, reduce)
    return _loss("mse_loss", "mse", input, target, reduction, weight, by_weights=True)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of absolute differences, as `torch.nn.functional.l1_loss`.

    >>> import torch, warpfold as wf
    >>> wf.torch.l1_loss(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 1.0]))
    tensor(2.)
    """
    reduction = _reduction(reduction, size_average, reduce)
    return _loss("l1_loss", "l1", input, target, reduction, weight, by_weights=True)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Huber's loss, as `torch.nn.functional.huber_loss`.

    >>> import torch, warpfold as wf
    >>> wf.torch.huber_loss(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 0.0]))
    tensor(1.5000)
    """
    return _loss("huber_loss", "huber", input, target, _reduction(reduction), weight, float(delta))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Huber's loss over `beta`, as `torch.nn.functional.smooth_l1_loss`.

    >>> import torch, warpfold as wf
    >>> wf.torch.smooth_l1_loss(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 0.0]), beta=2.0)
    tensor(1.1250)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if beta < 0:
        raise ValueError(f"smooth_l1_loss does not take a negative beta, this is {beta}")
    if beta == 0:
        return _loss("smooth_l1_loss", "l1", input, target, reduction)
    return divided(_loss("smooth_l1_loss", "huber", input, target, reduction, parameter=float(beta)), beta)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The divergence of the target from the distribution whose logarithm the input is, as `torch.nn.functional.kl_div`.

    >>> import torch, warpfold as wf
    >>> wf.torch.kl_div(torch.tensor([[-1.0, -2.0]]), torch.tensor([[0.0, 1.0]]), reduction="batchmean")
    tensor(2.)
    """
    if reduction == "batchmean" and size_average is None and reduce is None:
        total = _loss("kl_div", "kl_div", input, target, "sum", parameter=float(log_target))
        return divided(total, input.shape[0]) if input.dim() else total
    reduction = _reduction(reduction, size_average, reduce)
    return _loss("kl_div", "kl_div", input, target, reduction, parameter=float(log_target))


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """The cross-entropy of a target between 0 and 1 and the logistic function of the input, as that function of
    `torch.nn.functional`.

    >>> import torch, warpfold as wf
    >>> wf.torch.binary_cross_entropy_with_logits(torch.tensor([1000.0, -2.0]), torch.tensor([0.0, 0.0])) > 500
    tensor(True)
    """
    name, kind = "binary_cross_entropy_with_logits", "bce_with_logits"
    reduction = _reduction(reduction, size_average, reduce)
    if isinstance(target, torch.Tensor) and isinstance(input, torch.Tensor) and target.shape != input.shape:
        raise ValueError(f"the target has shape {tuple(target.shape)}, and the input {tuple(input.shape)}")
    if pos_weight is None:
        return _loss(name, kind, input, target, reduction, weight)
    # The losses of both answers, and each its share.
    _checked(name, input, target, pos_weight)
    yes, no = (_loss(name, kind, input, torch.full_like(input, answer), "none") for answer in (1.0, 0.0))
    losses = pos_weight * target * yes + (1 - target) * no
    losses = losses if weight is None else losses * weight
    if reduction == "none":
        return losses
    total = _ops.total(losses, None)
    return total if reduction == "sum" else divided(total, losses.numel())


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosines of the angles between rows along an axis, as `torch.nn.functional.cosine_similarity`.

    >>> import torch, warpfold as wf
    >>> wf.torch.cosine_similarity(torch.tensor([[3.0, 4.0]]), torch.tensor([[6.0, 8.0]]))
    tensor([1.])
    """
    _checked("cosine_similarity", x1, x2)
    x, y = _alike(x1, x2)
    x, dim = _axis(x, dim)
    return _loss_ops.cosine(x, y.view(x.shape) if y.dim() == 0 else y, dim, eps)
