"""The kernels of sums by index in `batch_invariant`: each is a tree over the elements that go to a place."""

import torch

from .. import _native
from . import _composed
from ._invariant import _replaces


@_replaces("index_add")
def _index_add(x, dim, index, source, alpha=1):
    if x.dim() == 0 or index.numel() == 0 or x.dtype != source.dtype:
        return NotImplemented
    index = index.reshape(-1)
    if int(index.min()) < 0 or int(index.max()) >= x.shape[dim]:
        return NotImplemented
    if x.is_cuda:
        return _composed.index_add(x, dim, index, source, float(alpha))
    return _native.index_add(x, dim, index, source, alpha=float(alpha))


@_replaces("index_add_")
def _index_add_here(x, dim, index, source, alpha=1):
    found = _index_add(x, dim, index, source, alpha)
    return found if found is NotImplemented else x.copy_(found)


@_replaces("scatter_add")
def _scatter_add(x, dim, index, source):
    if x.dim() == 0 or index.numel() == 0 or x.dtype != source.dtype:
        return NotImplemented
    if int(index.min()) < 0 or int(index.max()) >= x.shape[dim]:
        return NotImplemented
    source = source[tuple(slice(length) for length in index.shape)]
    return (_composed if x.is_cuda else _native).scatter_add(x, dim, index, source)


@_replaces("scatter_add_")
def _scatter_add_here(x, dim, index, source):
    found = _scatter_add(x, dim, index, source)
    return found if found is NotImplemented else x.copy_(found)


@_replaces("embedding_dense_backward")
def _embedding(gradient, indices, count, padding, by_frequency):
    if gradient.is_cuda:
        return _composed.embedding_backward(gradient, indices, count, padding, by_frequency)
    padding = None if padding < 0 else padding
    return _native.embedding_backward(
        gradient, indices, count, padding_idx=padding, scale_grad_by_freq=by_frequency
    )


@_replaces("bincount")
def _bincount(x, weights=None, minlength=0):
    if weights is None or not weights.is_floating_point() or int(x.min()) < 0:
        return NotImplemented
    weights = weights if weights.dtype == torch.float32 else weights.double()
    return _native.group_by(weights, x, "sum", max(int(x.max()) + 1, minlength))


@_replaces("_index_put_impl_")
def _index_put(x, indices, values, accumulate=False, unsafe=False):
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if not accumulate or len(given) != 1 or given[0][1].dtype not in (torch.int64, torch.int32):
        return NotImplemented
    (dim, index) = given[0]
    before, after = x.shape[:dim], x.shape[dim + 1 :]
    source = values.expand(*before, *index.shape, *after).reshape(*before, -1, *after)
    index = torch.where(index < 0, index + x.shape[dim], index).flatten()
    return _index_add_here(x, dim, index, source)
