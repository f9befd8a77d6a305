"""Pooling, `topk` and `sample` as operators of PyTorch. Windows take any axes before theirs."""

import torch

from .. import _native
from . import _composed, _composed_topk
from ._ops import _define

_MAX = "int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode"
_AVERAGE = (
    "int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override"
)


def _outputs(length, size, stride, padding, dilation, ceil_mode):
    """The number of windows of an axis."""
    room = length + 2 * padding - dilation * (size - 1) - 1
    outputs = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (outputs - 1) * stride >= length + padding:
        outputs -= 1
    return outputs


def _pooled(x, kernel_size, stride, padding, dilation, ceil_mode, dtype=None):
    """New memory for a result of windows."""
    n = len(kernel_size)
    each = zip(x.shape[x.dim() - n :], kernel_size, stride, padding, dilation)
    lengths = [_outputs(*numbers, ceil_mode) for numbers in each]
    return x.new_empty([*x.shape[: x.dim() - n], *lengths], dtype=dtype)


def _batched(op, count=1):
    """A rule of `vmap` for an operator whose first arguments are tensors, with a batch axis or without."""

    def rule(call, info, axes, *arguments):
        given = list(zip(arguments[:count], axes))
        tensors = [
            x.expand(info.batch_size, *x.shape) if axis is None else x.movedim(axis, 0) for x, axis in given
        ]
        found = call(*tensors, *arguments[count:])
        return found, (0, 0) if isinstance(found, tuple) else 0

    op.register_vmap(rule)


# The greatest elements of windows, with their indices and without.


def _max(x, kernel_size, stride, padding, dilation, ceil_mode):
    return _native.max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, True)


def _max_values(x, kernel_size, stride, padding, dilation, ceil_mode):
    return _native.max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, False)[0]


def _max_shape(x, *options):
    return _pooled(x, *options), _pooled(x, *options, dtype=torch.int64)


def _max_backward(gradient, indices, size, *options):
    return _native.max_pool_backward(gradient, indices, size, *options)


def _unpooled(gradient, size):
    """New memory for a gradient of elements."""
    return gradient.new_empty([*gradient.shape[: gradient.dim() - len(size)], *size])


max_pool = _define("max_pool", f"(Tensor x, {_MAX}) -> (Tensor, Tensor)", _max, _max_shape)
max_pool_values = _define("max_pool_values", f"(Tensor x, {_MAX}) -> Tensor", _max_values, _pooled)
max_pool_backward = _define(
    "max_pool_backward",
    f"(Tensor gradient, Tensor indices, SymInt[] size, {_MAX}) -> Tensor",
    _max_backward,
    lambda gradient, indices, size, *options: _unpooled(gradient, size),
)


def _setup_max(ctx, inputs, output):
    x, *ctx.options = inputs
    ctx.size = x.shape[x.dim() - len(ctx.options[0]) :]
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def _pull_max(ctx, gradient, _):
    (indices,) = ctx.saved_tensors
    return max_pool_backward(gradient, indices, ctx.size, *ctx.options), *[None] * 5


def _setup_max_backward(ctx, inputs, output):
    _, indices, size, *_ = inputs
    ctx.axes = len(size)
    ctx.save_for_backward(indices)


def _pull_max_backward(ctx, gradient):
    (indices,) = ctx.saved_tensors
    first = gradient.dim() - ctx.axes
    chosen = gradient.flatten(first).gather(-1, indices.clamp(min=0).flatten(first)).view(indices.shape)
    return chosen.where(indices >= 0, 0), *[None] * 7


max_pool.register_autograd(_pull_max, setup_context=_setup_max)
max_pool_backward.register_autograd(_pull_max_backward, setup_context=_setup_max_backward)
_batched(max_pool)
_batched(max_pool_values)
_batched(max_pool_backward, 2)


# The means of windows.


def _average(x, *options):
    return _native.avg_pool(x, None, *options)


def _average_backward(gradient, size, *options):
    return _native.avg_pool(gradient, size, *options)


def _average_shape(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    return _pooled(x, kernel_size, stride, padding, [1] * len(kernel_size), ceil_mode)


avg_pool = _define("avg_pool", f"(Tensor x, {_AVERAGE}) -> Tensor", _average, _average_shape)
avg_pool_backward = _define(
    "avg_pool_backward",
    f"(Tensor gradient, SymInt[] size, {_AVERAGE}) -> Tensor",
    _average_backward,
    lambda gradient, size, *options: _unpooled(gradient, size),
)


def _setup_average(ctx, inputs, output):
    x, *ctx.options = inputs
    ctx.size = x.shape[x.dim() - len(ctx.options[0]) :]


def _pull_average(ctx, gradient):
    return avg_pool_backward(gradient, ctx.size, *ctx.options), *[None] * 6


def _setup_average_backward(ctx, inputs, output):
    _, _, *ctx.options = inputs


def _pull_average_backward(ctx, gradient):
    return avg_pool(gradient, *ctx.options), *[None] * 7


avg_pool.register_autograd(_pull_average, setup_context=_setup_average)
avg_pool_backward.register_autograd(_pull_average_backward, setup_context=_setup_average_backward)
_batched(avg_pool)
_batched(avg_pool_backward)


# The first elements along an axis in an order.


# The greatest k of kernels: they choose 1024 at a time, and read a row for each of these rounds.
_MOST_CHOSEN = 8192


def _topk(x, k, dim, largest):
    # Nor do they count longer rows, or take more axes.
    others = x.is_cuda and (k > _MOST_CHOSEN or x.dim() > 16 or x.shape[dim] >= 2**31)
    of = _composed_topk.topk if others else _native.top_k
    return of(x, k, dim, largest)


def _topk_shape(x, k, dim, largest):
    dim %= x.dim()
    shape = [*x.shape[:dim], k, *x.shape[dim + 1 :]]
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


topk = _define("topk", "(Tensor x, SymInt k, int dim, bool largest) -> (Tensor, Tensor)", _topk, _topk_shape)


def _setup_topk(ctx, inputs, output):
    x, _, ctx.dim, _ = inputs
    ctx.shape = x.shape
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def _pull_topk(ctx, gradient, _):
    (indices,) = ctx.saved_tensors
    # Every element is chosen once at most: nothing is added.
    return gradient.new_zeros(ctx.shape).scatter(ctx.dim, indices, gradient), None, None, None


topk.register_autograd(_pull_topk, setup_context=_setup_topk)


@topk.register_vmap
def _topk_batched(call, info, axes, x, k, dim, largest):
    x = x.movedim(axes[0], 0)
    return call(x, k, dim % (x.dim() - 1) + 1, largest), (0, 0)


# Classes that are drawn.


def _sample(logits, noise, dim, temperature):
    if logits.is_cuda:
        return _composed.sample(logits, noise, dim, temperature)
    return _native.sample(logits, noise, temperature, dim)


def _sample_shape(logits, noise, dim, temperature):
    dim %= logits.dim()
    return logits.new_empty(logits.shape[:dim] + logits.shape[dim + 1 :], dtype=torch.int64)


_SAMPLE = "(Tensor logits, Tensor noise, int dim, float temperature) -> Tensor"
sample = _define("sample", _SAMPLE, _sample, _sample_shape)


@sample.register_vmap
def _sample_batched(call, info, axes, logits, noise, dim, temperature):
    given = zip((logits, noise), axes)
    logits, noise = (
        x.expand(info.batch_size, *x.shape) if axis is None else x.movedim(axis, 0) for x, axis in given
    )
    return call(logits, noise, dim % (logits.dim() - 1) + 1, temperature), 0
