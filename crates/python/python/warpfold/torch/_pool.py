"""Pooling, `topk` and `sample` with the names and arguments of PyTorch, whose results have Warpfold's bits."""

from collections import namedtuple

import torch

from . import _pool_ops
from ._functions import _axis, _checked

_TopK = namedtuple("topk", "values indices")


def _each(name, what, numbers, axes):
    """One number for each axis."""
    numbers = [numbers] * axes if isinstance(numbers, (int, torch.SymInt)) else list(numbers)
    if len(numbers) == 1:
        numbers = numbers * axes
    if len(numbers) != axes:
        raise ValueError(f"warpfold.torch.{name}: {what} must be an integer or {axes} integers, not {numbers}")
    return numbers


def _windows(name, input, axes, kernel_size, stride, **options):
    """Checks the input; one number for each axis of the windows, of all options."""
    _checked(name, input)
    if input.dim() not in (axes + 1, axes + 2):
        raise ValueError(
            f"warpfold.torch.{name}: the input has {axes + 1} axes, channels first, or {axes + 2} with a batch, not "
            f"{input.dim()}"
        )
    kernel_size = _each(name, "kernel_size", kernel_size, axes)
    none = stride is None or (isinstance(stride, list) and not stride)
    stride = kernel_size if none else _each(name, "stride", stride, axes)
    return kernel_size, stride, *(_each(name, what, numbers, axes) for what, numbers in options.items())


def _max_pool(name, axes, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    options = _windows(name, input, axes, kernel_size, stride, padding=padding, dilation=dilation)
    if return_indices or (torch.is_grad_enabled() and input.requires_grad):
        values, indices = _pool_ops.max_pool(input, *options, ceil_mode)
        return (values, indices) if return_indices else values
    return _pool_ops.max_pool_values(input, *options, ceil_mode)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The greatest element of each window, as `torch.nn.functional.max_pool1d`.

    >>> import torch, warpfold as wf
    >>> wf.torch.max_pool1d(torch.tensor([[1.0, 5.0, 3.0, 2.0]]), 2)
    tensor([[5., 3.]])
    """
    return _max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The greatest element of each window, as `torch.nn.functional.max_pool2d`.

    >>> import torch, warpfold as wf
    >>> wf.torch.max_pool2d(torch.tensor([[[1.0, 5.0], [3.0, 2.0]]]), 2, return_indices=True)
    (tensor([[[5.]]]), tensor([[[1]]]))
    """
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The greatest element of each window, as `torch.nn.functional.max_pool3d`.

    >>> import torch, warpfold as wf
    >>> wf.torch.max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    return _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(name, axes, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    options = _windows(name, input, axes, kernel_size, stride, padding=padding)
    return _pool_ops.avg_pool(input, *options, ceil_mode, count_include_pad, divisor_override)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window, as `torch.nn.functional.avg_pool1d`.

    >>> import torch, warpfold as wf
    >>> wf.torch.avg_pool1d(torch.tensor([[1.0, 5.0, 3.0, 2.0]]), 2)
    tensor([[3.0000, 2.5000]])
    """
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window, as `torch.nn.functional.avg_pool2d`.

    >>> import torch, warpfold as wf
    >>> wf.torch.avg_pool2d(torch.tensor([[[1.0, 5.0], [3.0, 3.0]]]), 2)
    tensor([[[3.]]])
    """
    return _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window, as `torch.nn.functional.avg_pool3d`.

    >>> import torch, warpfold as wf
    >>> wf.torch.avg_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    return _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def topk(input, k, dim=-1, largest=True, sorted=True):
    """The greatest elements along an axis and their indices, as `torch.topk`: always in order, the first of equal ones
    first.

    >>> import torch, warpfold as wf
    >>> wf.torch.topk(torch.tensor([3, 9, 4, 9]), 3)
    topk(values=tensor([9, 9, 4]), indices=tensor([1, 3, 2]))
    """
    _checked("topk", input, floats=False)
    x, dim = _axis(input, dim)
    values, indices = _pool_ops.topk(x, k, dim, largest)
    if input.dim() == 0 and k == 1:
        values, indices = values.view(()), indices.view(())
    return _TopK(values, indices)


def sample(logits, noise, dim=-1, *, temperature=1.0):
    """The class of each row with the greatest logit + noise * temperature, as `warpfold.sample`; on GPUs, too.

    Of Gumbel's noise, it draws each class with its probability in the softmax of logits / temperature.

    >>> import torch, warpfold as wf
    >>> logits = torch.tensor([[0.0, 1.0, 2.0]]).log()
    >>> noise = -torch.empty(1, 3).exponential_().log()
    >>> int(wf.torch.sample(logits, noise)) in (1, 2)
    True
    """
    _checked("sample", logits, noise)
    if noise.shape != logits.shape:
        raise ValueError(f"the noise has shape {list(noise.shape)}, and the logits {list(logits.shape)}")
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"the temperature is zero or a positive number, not {temperature}")
    x, dim = _axis(logits, dim)
    if x.shape[dim] == 0:
        raise ValueError(f"warpfold.torch.sample: dim {dim} has the classes, and there are none")
    found = _pool_ops.sample(x, noise.view(x.shape) if x.dim() != noise.dim() else noise, dim, float(temperature))
    return found if logits.dim() else found.view(())
