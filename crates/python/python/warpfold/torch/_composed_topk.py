"""`topk` of more elements than kernels choose, from PyTorch's own of integers: see `_composed`."""

import torch

from ._composed import _rounded

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
