"""The kernels of batch norm and group norm in `batch_invariant`."""

import torch

from .. import _native
from . import _composed
from ._invariant import _replaces
from ._norms import _move


@_replaces("native_batch_norm")
def _batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    if x.dim() < 2 or (not training and (running_mean is None or running_var is None)):
        return NotImplemented
    of = _native.batch_norm
    if not training:
        y, _, _ = of(x, weight, bias, running_mean, running_var, 1, eps, False)
        return y, x.new_empty(0), x.new_empty(0)
    y, mean, var = of(x, weight, bias, None, None, 1, eps)
    count = x.numel() // x.shape[1]
    _move(((running_mean, mean), (running_var, var * (count / max(count - 1, 1)))), momentum)
    return y, mean, (var + eps).rsqrt()


@_replaces("native_batch_norm_backward")
def _batch_norm_backward(gradient, x, weight, running_mean, running_var, mean, inverse, training, eps, mask):
    if x.dim() < 2:
        return NotImplemented
    statistics = (None, None) if training else (running_mean, running_var)
    bias = x.new_zeros(x.shape[1], dtype=x.dtype if weight is None else weight.dtype)
    found = _native.batch_norm_backward(x, gradient, 1, eps, weight, bias, *statistics)
    return tuple(of if wanted else None for of, wanted in zip(found, mask))


@_replaces("native_group_norm")
def _group_norm(x, weight, bias, samples, channels, size, groups, eps):
    # The mean and one over the deviation are kept for the gradient, in the dtype of PyTorch's kernel.
    dtype = x.dtype if weight is None else weight.dtype
    rows = x.reshape(samples, groups, -1)
    inverse = (_native.var(rows, 2, dtype) + eps).sqrt().reciprocal()
    y = _native.group_norm(x, groups, weight, bias, epsilon=eps)
    return y, _native.mean(rows, 2, dtype), inverse


@_replaces("native_group_norm_backward")
def _group_norm_backward(gradient, x, mean, inverse, weight, samples, channels, size, groups, mask):
    real = torch.float64 if x.dtype == torch.float64 else torch.float32
    shape = (samples, groups, channels // groups, size)
    g, inverse = gradient.to(real).reshape(shape), inverse.to(real).view(samples, groups, 1, 1)
    normal = (x.to(real).reshape(shape) - mean.to(real).view(samples, groups, 1, 1)) * inverse
    dots, totals = _native.sum(g * normal, 3, keepdims=True), _native.sum(g, 3, keepdims=True)
    of_x = of_weight = of_bias = None
    if mask[0]:
        w = 1 if weight is None else weight.to(real).view(1, groups, -1, 1)
        count = channels // groups * size
        total, slope = (_composed._over(_native.sum(sums * w, 2, keepdims=True), count) for sums in (totals, dots))
        of_x = (((g * w - total) - normal * slope) * inverse).to(x.dtype).view(x.shape)
    dtype = x.dtype if weight is None else weight.dtype
    if mask[1]:
        of_weight = _native.sum(dots.reshape(samples, channels), 0).to(dtype)
    if mask[2]:
        of_bias = _native.sum(totals.reshape(samples, channels), 0).to(dtype)
    return of_x, of_weight, of_bias


@_replaces("cudnn_batch_norm", keys=("CUDA",))
def _cudnn_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    found = _batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)
    return found if found is NotImplemented else (*found, x.new_empty(0, dtype=torch.uint8))


@_replaces("cudnn_batch_norm_backward", keys=("CUDA",))
def _cudnn_batch_norm_backward(x, gradient, weight, running_mean, running_var, mean, inverse, eps, _reserved):
    of = _batch_norm_backward
    return of(gradient, x, weight, running_mean, running_var, mean, inverse, True, eps, (True, True, True))
