"""Group norm, batch norm and `topk` on a GPU, from PyTorch's elementwise arithmetic and Warpfold's sums and norms: see
`_composed`."""

import torch

from .. import _native
from ._composed import _number, _over, _rounded, _sqrt, _sum, real


def _inverse(variance, eps):
    """One over the deviation."""
    return 1 / _sqrt(variance + _number(eps, variance.dtype))


def _normalised(rows, eps):
    """Rows of float32 or float64 less their mean, over their deviation; the mean, and one over the deviation."""
    if rows.is_cuda:
        normal, noted = _native.layer_norm_noted(rows, None, None, -1, eps, 0.0)
        return normal, *noted.t().contiguous()
    normal, mean, variance = _native.batch_norm(rows, None, None, None, None, 0, eps)
    return normal, mean, _inverse(variance, eps)


def _affine(normal, weight, bias, shape):
    """Normalised elements times weights, plus biases: of channels, in tensors of this shape."""
    if weight is not None:
        normal = normal * weight.to(normal.dtype).view(shape)
    return normal if bias is None else normal + bias.to(normal.dtype).view(shape)


def _like(numbers, array):
    """The gradient of an array, as far as there is one."""
    return None if array is None else _rounded(numbers, array.dtype)


# Groups of channels: a row is a group of a sample.


def _checked(op, x, groups, **of_channels):
    channels = x.shape[1]
    if groups < 1 or channels % groups:
        raise ValueError(f"{op}: {channels} channels do not go into {groups} groups of the same size")
    _of_channels(op, channels, of_channels)
    return x.shape[0], channels, x.shape[2:].numel()


def _of_channels(op, channels, arrays):
    for what, array in arrays.items():
        if array is not None and array.shape != (channels,):
            raise ValueError(f"{op}: the {what} of {channels} channels has shape {tuple(array.shape)}")


def group_norm(x, groups, weight, bias, eps):
    """As `wf.group_norm`."""
    samples, channels, run = _checked("group_norm", x, groups, weight=weight, bias=bias)
    rows = x.to(real(x)).reshape(samples * groups, channels // groups * run)
    normal = _normalised(rows, eps)[0].view(samples, channels, run)
    return _rounded(_affine(normal, weight, bias, (1, channels, 1)), x.dtype).view(x.shape)


def group_norm_backward(x, gradient, groups, weight, bias, eps, frozen=False):
    """The gradients of the elements, the weights if they are not frozen, and the biases."""
    samples, channels, run = _checked("group_norm_backward", x, groups, weight=weight, bias=bias)
    dtype, count = real(x), channels // groups * run
    normal, _, inverse = _normalised(x.to(dtype).reshape(samples * groups, count), eps)
    shape = samples, groups, channels // groups, run
    normal, inverse, g = normal.view(shape), inverse.view(samples, groups, 1, 1), gradient.to(dtype).reshape(shape)
    dots, totals = (_sum(terms, [3], True) for terms in (g * normal, g))
    w = 1 if weight is None else weight.to(dtype).view(1, groups, -1, 1)
    total, slope = (_over(_sum(sums * w, [2], True), count) for sums in (totals, dots))
    of_x = ((g * w - total) - normal * slope) * inverse

    def down(sums, array):
        return None if array is None else _rounded(_sum(sums.reshape(samples, channels), [0]), array.dtype)

    of_weight, of_bias = down(dots, None if frozen else weight), down(totals, bias)
    return _rounded(of_x, x.dtype).view(x.shape), of_weight, of_bias


# Channels: a row is a channel.


class _Channels:
    """Elements as rows, normalised by statistics of their own or by those given."""

    def __init__(self, op, x, axis, eps, mean, variance, weight, bias):
        self.x, self.axis, self.dtype = x, axis, real(x)
        channels = x.shape[axis]
        _of_channels(op, channels, {"weight": weight, "bias": bias, "mean": mean, "variance": variance})
        self.shape = channels, x.numel() // channels if channels else 0
        rows = self.rows(x)
        self.given = mean is not None
        if self.given:
            self.mean, self.variance = mean.to(self.dtype), variance.to(self.dtype)
            self.inverse = _inverse(self.variance, eps)
            self.normal = (rows - self.mean.unsqueeze(1)) * self.inverse.unsqueeze(1)
        else:
            self.normal, self.mean, self.inverse = _normalised(rows, eps)

    def rows(self, x):
        return x.movedim(self.axis, 0).to(self.dtype).reshape(self.shape)

    def result(self, rows):
        x = self.x.movedim(self.axis, 0)
        return _rounded(rows, x.dtype).view(x.shape).movedim(0, self.axis).contiguous()


def batch_norm(x, weight, bias, mean, variance, axis, eps):
    """As `wf.batch_norm`: the norm, the mean and the variance."""
    of = _Channels("batch_norm", x, axis, eps, mean, variance, weight, bias)
    y = of.result(_affine(of.normal, weight, bias, (-1, 1)))
    if of.given:
        # An operator's results are no arguments.
        return y, of.mean.clone(), of.variance.clone()
    return y, of.mean, _native.var(of.rows(x), 1)


def batch_norm_backward(x, gradient, axis, eps, weight, bias, mean, variance, frozen=False):
    """The gradients of the elements, the weights if they are not frozen, and the biases."""
    of = _Channels("batch_norm_backward", x, axis, eps, mean, variance, weight, bias)
    g, count = of.rows(gradient), of.shape[1]
    of_weight = None if frozen else weight
    # Statistics that are given do not depend on the elements.
    dots = _sum(g * of.normal, [1]) if of_weight is not None or not of.given else None
    totals = _sum(g, [1]) if bias is not None or not of.given else None
    factor = of.inverse if weight is None else of.inverse * weight.to(of.dtype)
    if not of.given:
        total, slope = (_over(sums, count).unsqueeze(1) for sums in (totals, dots))
        g = (g - total) - of.normal * slope
    return of.result(g * factor.unsqueeze(1)), _like(dots, of_weight), _like(totals, bias)


# The first elements along an axis in an order.

_KEYS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _places(x):
    """Integers in the order of `top_k`: NaN is the greatest number, and zeros of either sign are equal."""
    if not x.is_floating_point():
        return x.to(torch.uint8) if x.dtype == torch.bool else x
    dtype = _KEYS[x.element_size()]
    most = torch.iinfo(dtype).max
    key = x.contiguous().view(dtype)
    key = torch.where(key < 0, key ^ most, key)
    # -0.0 has become -1.
    return torch.where(x.isnan(), most, torch.where(key == -1, 0, key))


def topk(x, k, dim, largest):
    """As `wf.top_k`: of integers that are the elements' places, and their indices below that, so that none are equal.
    Elements of 64 bits have no room for these: they are sorted, and equal ones keep their order."""
    length, keys = x.shape[dim], _places(x)
    if not 0 <= k <= length:
        raise ValueError(f"top_k: k is {k}, and the axis has {length} elements: give at most as many")
    if x.element_size() < 8 and length < 2**31:
        keys = keys.long() if largest else keys.long().bitwise_not()
        shape = [-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())]
        down = torch.arange(length - 1, -1, -1, device=x.device).view(shape)
        indices = length - 1 - (torch.topk(keys * 2**31 + down, k, dim)[0] & 2**31 - 1)
    else:
        indices = torch.sort(keys, dim=dim, descending=largest, stable=True)[1].narrow(dim, 0, k)
    values = x.gather(dim, indices)
    return _rounded(values, x.dtype) if x.is_floating_point() else values.contiguous(), indices.contiguous()
