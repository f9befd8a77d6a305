"""The losses as operators of PyTorch: cross-entropy, losses of two tensors, cosines."""

import torch
import torch.nn.functional as F

from .. import _native
from . import _composed
from ._ops import _define, _like, _pulled, log_softmax

# Cross-entropy of logits along an axis, and classes.

_CLASSES = "Tensor logits, Tensor target, Tensor? weight, int dim, int ignore_index, float smoothing, str reduction"


def _cross_entropy(logits, target, weight, dim, ignore_index, smoothing, reduction):
    if logits.is_cuda:
        return _composed.cross_entropy(logits, target, dim, ignore_index, smoothing, weight, reduction)
    loss = _native.cross_entropy(
        logits, target, dim, ignore_index=ignore_index, label_smoothing=smoothing, weight=weight, reduction=reduction
    )
    return loss, None


def _cross_entropy_backward(gradient, noted, logits, target, weight, dim, ignore_index, smoothing, reduction):
    if logits.is_cuda:
        return _composed.cross_entropy_gradient(
            logits, target, dim, ignore_index, smoothing, weight, reduction, gradient, noted
        )
    found = _native.cross_entropy_gradient(
        logits, target, dim, ignore_index, smoothing, weight, reduction, gradient, None
    )
    return found[1]


def _plain_cross_entropy(logits, target, weight, dim, ignore_index, smoothing, reduction):
    logits = logits.movedim(dim, -1)
    flat = logits.reshape(-1, logits.shape[-1])
    loss = F.cross_entropy(
        flat, target.flatten().long(), weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=smoothing
    )
    return loss.reshape(target.shape) if reduction == "none" else loss


def _cross_entropy_shape(logits, target, weight, dim, ignore_index, smoothing, reduction):
    noted = logits.new_empty(0)
    if logits.is_cuda and not smoothing:
        noted = logits.new_empty((*target.shape, 2), dtype=_composed.real(logits))
    return logits.new_empty(target.shape if reduction == "none" else ()), noted


# The loss, and what the gradient needs of rows.
cross_entropy = _define("cross_entropy", f"({_CLASSES}) -> (Tensor, Tensor)", _cross_entropy, _cross_entropy_shape)
cross_entropy_backward = _define(
    "cross_entropy_backward",
    f"(Tensor gradient, Tensor? noted, {_CLASSES}) -> Tensor",
    _cross_entropy_backward,
    lambda gradient, noted, logits, *options: _like(logits),
)


def _setup_classes(ctx, inputs, output):
    *tensors, dim, ignore_index, smoothing, reduction = inputs
    ctx.options = dim, ignore_index, smoothing, reduction
    if output[1] is not None:
        ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(output[1], *tensors)


def _pull_classes(ctx, gradient, _noted):
    return cross_entropy_backward(gradient, *ctx.saved_tensors, *ctx.options), *[None] * 6


def _setup_classes_backward(ctx, inputs, output):
    gradient, _noted, *tensors, dim, ignore_index, smoothing, reduction = inputs
    ctx.options = dim, ignore_index, smoothing, reduction
    ctx.save_for_backward(gradient, *tensors)


def _pull_classes_backward(ctx, gradient):
    of_loss, logits, target, weight = ctx.saved_tensors

    def formula(of_loss, logits):
        return _pulled(lambda x: _plain_cross_entropy(x, target, weight, *ctx.options), (logits,), of_loss)[0]

    of_loss, of_logits = _pulled(formula, (of_loss, logits), gradient)
    return of_loss, None, of_logits, *[None] * 6


cross_entropy.register_autograd(_pull_classes, setup_context=_setup_classes)
cross_entropy_backward.register_autograd(_pull_classes_backward, setup_context=_setup_classes_backward)

# Cross-entropy of logits along an axis, and distributions.

_DISTRIBUTIONS = "Tensor logits, Tensor target, Tensor? weight, int dim, float smoothing, str reduction"


def _distributions(logits, target, weight, dim, smoothing, reduction):
    if logits.is_cuda:
        return _composed.distributions(logits, target, dim, smoothing, weight, reduction)
    return _cross_entropy(logits, target, weight, dim, -100, smoothing, reduction)[0]


def _distributions_backward(gradient, logits, target, weight, dim, smoothing, reduction):
    if logits.is_cuda:
        return _composed.distributions_gradient(logits, target, dim, smoothing, weight, reduction, gradient)
    return _cross_entropy_backward(gradient, None, logits, target, weight, dim, -100, smoothing, reduction)


def _distributions_shape(logits, target, weight, dim, smoothing, reduction):
    return logits.new_empty(logits.shape[:dim] + logits.shape[dim + 1 :] if reduction == "none" else ())


cross_entropy_of_distributions = _define(
    "cross_entropy_of_distributions", f"({_DISTRIBUTIONS}) -> Tensor", _distributions, _distributions_shape
)
distributions_backward = _define(
    "cross_entropy_of_distributions_backward",
    f"(Tensor gradient, {_DISTRIBUTIONS}) -> Tensor",
    _distributions_backward,
    lambda gradient, logits, *options: _like(logits),
)


def _setup_distributions(ctx, inputs, output):
    *tensors, dim, smoothing, reduction = inputs
    ctx.options = dim, smoothing, reduction
    ctx.save_for_backward(*tensors)


def _of_probabilities(gradient, logits, target, weight, dim, smoothing, reduction):
    """The gradient of the targets."""
    of = log_softmax(logits, dim) * (smoothing - 1)
    if weight is not None:
        of = of * weight.view([-1 if axis == dim else 1 for axis in range(logits.dim())])
    if reduction == "mean":
        gradient = _composed.divided(gradient, logits.numel() // logits.shape[dim])
    return (of * (gradient.unsqueeze(dim) if reduction == "none" else gradient)).to(target.dtype)


def _pull_distributions(ctx, gradient):
    needs_logits, needs_target = ctx.needs_input_grad[:2]
    arguments = (gradient, *ctx.saved_tensors, *ctx.options)
    of_logits = distributions_backward(*arguments) if needs_logits else None
    return of_logits, _of_probabilities(*arguments) if needs_target else None, *[None] * 4


def _pull_distributions_backward(ctx, gradient):
    of_loss, logits, target, weight = ctx.saved_tensors
    dim, smoothing, reduction = ctx.options

    def plain(logits, target):
        losses = F.cross_entropy(
            logits.movedim(dim, -1).reshape(-1, logits.shape[dim]),
            target.movedim(dim, -1).reshape(-1, logits.shape[dim]),
            weight,
            reduction=reduction,
            label_smoothing=smoothing,
        )
        return losses.reshape(of_loss.shape)

    def formula(of_loss, logits, target):
        return _pulled(lambda x: plain(x, target), (logits,), of_loss)[0]

    return *_pulled(formula, (of_loss, logits, target), gradient), *[None] * 4


cross_entropy_of_distributions.register_autograd(_pull_distributions, setup_context=_setup_distributions)
distributions_backward.register_autograd(_pull_distributions_backward, setup_context=_setup_distributions)

# Losses of elements and targets: `kind` is Warpfold's name, and `parameter` its number or truth value.

_LOSS = "Tensor x, Tensor y, str kind, float parameter, str reduction"


# What computes them, and their gradients.
_KINDS = {
    "mse": (_native.mse, _native.mse_backward, None),
    "l1": (_native.l1, _native.l1_backward, None),
    "bce_with_logits": (_native.bce_with_logits, _native.bce_with_logits_backward, None),
    "huber": (_native.huber, _native.huber_backward, lambda parameter: {"delta": parameter}),
    "kl_div": (_native.kl_div, _native.kl_div_backward, lambda parameter: {"log_target": parameter != 0}),
}


def _loss(x, y, kind, parameter, reduction):
    if x.is_cuda and reduction != "none":
        # Other layouts would be copied in memory of Warpfold's own, which is kept.
        x, y = x.contiguous(), y.contiguous()
    forward, _, options = _KINDS[kind]
    return forward(x, y, reduction=reduction, **(options(parameter) if options else {}))


def _loss_backward(gradient, x, y, kind, parameter, reduction):
    _, backward, options = _KINDS[kind]
    return backward(x, y, gradient, reduction=reduction, **(options(parameter) if options else {}))


def _plain_loss(x, y, kind, parameter, reduction):
    if kind == "huber":
        return F.huber_loss(x, y, reduction=reduction, delta=parameter)
    if kind == "bce_with_logits":
        return F.binary_cross_entropy_with_logits(x, y, reduction=reduction)
    if kind == "kl_div":
        return torch.kl_div(x, y, ("none", "mean", "sum").index(reduction), log_target=parameter != 0)
    return {"mse": F.mse_loss, "l1": F.l1_loss}[kind](x, y, reduction=reduction)


loss = _define(
    "loss",
    f"({_LOSS}) -> Tensor",
    _loss,
    lambda x, y, kind, parameter, reduction: _like(x) if reduction == "none" else x.new_empty(()),
)
loss_backward = _define(
    "loss_backward", f"(Tensor gradient, {_LOSS}) -> Tensor", _loss_backward, lambda gradient, x, *options: _like(x)
)


def _setup_loss(ctx, inputs, output):
    *tensors, kind, parameter, reduction = inputs
    ctx.options = kind, parameter, reduction
    ctx.save_for_backward(*tensors)


def _of_targets(gradient, x, y, of_x, kind, parameter, reduction):
    """The gradient of the targets, from that of the elements."""
    if kind in ("mse", "l1", "huber"):
        return -of_x
    each = _composed.divided(gradient, x.numel()) if reduction == "mean" else gradient
    if kind == "bce_with_logits":
        return -x * each
    if parameter:
        return y.exp() * (y - x + 1) * each
    return torch.where(y > 0, y.log() + 1 - x, torch.where(y == 0, -x, torch.nan)) * each


def _pull_loss(ctx, gradient):
    x, y = ctx.saved_tensors
    of_x = loss_backward(gradient, x, y, *ctx.options)
    of_y = _of_targets(gradient, x, y, of_x, *ctx.options) if ctx.needs_input_grad[1] else None
    return of_x, of_y, None, None, None


def _pull_loss_backward(ctx, gradient):
    def formula(of_loss, x, y):
        return _pulled(lambda x: _plain_loss(x, y, *ctx.options), (x,), of_loss)[0]

    return *_pulled(formula, ctx.saved_tensors, gradient), None, None, None


loss.register_autograd(_pull_loss, setup_context=_setup_loss)
loss_backward.register_autograd(_pull_loss_backward, setup_context=_setup_loss)

# Cosines of the rows along an axis.

_COSINE = "Tensor x, Tensor y, int dim, float eps"


def _cosine(x, y, dim, eps):
    return _native.cosine_similarity(x, y, dim, epsilon=eps)


def _cosine_backward(gradient, x, y, dim, eps):
    if x.is_cuda:
        return _composed.cosine_similarity_backward(x, y, gradient, dim, eps)
    return _native.cosine_similarity_backward(x, y, gradient, dim, epsilon=eps)


def _cosine_shape(x, y, dim, eps):
    dim %= x.dim()
    return x.new_empty(x.shape[:dim] + x.shape[dim + 1 :])


cosine = _define("cosine_similarity", f"({_COSINE}) -> Tensor", _cosine, _cosine_shape)
cosine_backward = _define(
    "cosine_similarity_backward",
    f"(Tensor gradient, {_COSINE}) -> Tensor",
    _cosine_backward,
    lambda gradient, x, *options: _like(x),
)


def _setup_cosine(ctx, inputs, output):
    *tensors, dim, eps = inputs
    ctx.options = dim, eps
    ctx.save_for_backward(*tensors)


def _pull_cosine(ctx, gradient):
    x, y = ctx.saved_tensors
    wanted = zip(ctx.needs_input_grad, ((x, y), (y, x)))
    of = [cosine_backward(gradient, *both, *ctx.options) if needed else None for needed, both in wanted]
    return *of, None, None


def _pull_cosine_backward(ctx, gradient):
    def formula(of_cosine, x, y):
        return _pulled(lambda x: F.cosine_similarity(x, y, *ctx.options), (x,), of_cosine)[0]

    return *_pulled(formula, ctx.saved_tensors, gradient), None, None


cosine.register_autograd(_pull_cosine, setup_context=_setup_cosine)
cosine_backward.register_autograd(_pull_cosine_backward, setup_context=_setup_cosine)
