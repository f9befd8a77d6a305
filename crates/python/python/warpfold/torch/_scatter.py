"""Sums into places that indices name, as operators and functions of PyTorch."""

import torch

from .. import _native
from . import _composed
from ._functions import _checked
from ._ops import _define, _like


def _index_add(x, dim, index, source, alpha):
    if x.is_cuda:
        return _composed.index_add(x, dim, index, source, alpha)
    return _native.index_add(x, dim, index, source, alpha=alpha)


_index_add_op = _define(
    "index_add",
    "(Tensor x, int dim, Tensor index, Tensor source, float alpha) -> Tensor",
    _index_add,
    lambda x, *rest: _like(x),
)


def _setup_index(ctx, inputs, output):
    _, ctx.dim, index, source, ctx.alpha = inputs
    ctx.dtype = source.dtype
    ctx.save_for_backward(index)


def _pull_index(ctx, gradient):
    (index,) = ctx.saved_tensors
    of_source = gradient.index_select(ctx.dim, index).to(ctx.dtype)
    return gradient, None, None, of_source if ctx.alpha == 1 else of_source * ctx.alpha, None


_index_add_op.register_autograd(_pull_index, setup_context=_setup_index)


def _scatter_add(x, dim, index, source):
    if x.is_cuda:
        return _composed.scatter_add(x, dim, index, source)
    return _native.scatter_add(x, dim, index, source)


_scatter_add_op = _define(
    "scatter_add",
    "(Tensor x, int dim, Tensor index, Tensor source) -> Tensor",
    _scatter_add,
    lambda x, *rest: _like(x),
)


def _setup_scatter(ctx, inputs, output):
    _, ctx.dim, index, source = inputs
    ctx.dtype = source.dtype
    ctx.save_for_backward(index)


def _pull_scatter(ctx, gradient):
    (index,) = ctx.saved_tensors
    return gradient, None, None, gradient.gather(ctx.dim, index).to(ctx.dtype)


_scatter_add_op.register_autograd(_pull_scatter, setup_context=_setup_scatter)

# Rows of a table. The gradient is a sum by index, and its own gradient takes rows again.


def _embedding(table, indices):
    # A copy, also of a single row.
    return table.index_select(0, indices.reshape(-1)).reshape(*indices.shape, *table.shape[1:])


def _embedding_backward(gradient, indices, count, padding, by_frequency):
    if gradient.is_cuda:
        return _composed.embedding_backward(gradient, indices, count, padding, by_frequency)
    padding = None if padding < 0 else padding
    return _native.embedding_backward(gradient, indices, count, padding_idx=padding, scale_grad_by_freq=by_frequency)


_embedding_op = _define(
    "embedding",
    "(Tensor table, Tensor indices, int padding, bool by_frequency) -> Tensor",
    lambda table, indices, padding, by_frequency: _embedding(table, indices),
    lambda table, indices, *rest: table.new_empty((*indices.shape, table.shape[1])),
)
_embedding_backward_op = _define(
    "embedding_backward",
    "(Tensor gradient, Tensor indices, int count, int padding, bool by_frequency) -> Tensor",
    _embedding_backward,
    lambda gradient, indices, count, *rest: gradient.new_empty((count, gradient.shape[-1])),
)


def _setup_embedding(ctx, inputs, output):
    table, indices, *ctx.options = inputs
    ctx.count = table.shape[0]
    ctx.save_for_backward(indices)


def _pull_embedding(ctx, gradient):
    (indices,) = ctx.saved_tensors
    return _embedding_backward_op(gradient, indices, ctx.count, *ctx.options), None, None, None


def _setup_embedding_backward(ctx, inputs, output):
    _, indices, ctx.count, *ctx.options = inputs
    ctx.save_for_backward(indices)


def _pull_embedding_backward(ctx, gradient):
    (indices,) = ctx.saved_tensors
    padding, by_frequency = ctx.options
    of = gradient[indices]
    if padding >= 0:
        of = of.masked_fill((indices == padding).unsqueeze(-1), 0)
    if by_frequency:
        taken = torch.zeros(ctx.count, dtype=of.dtype, device=of.device).index_put((indices,), of.new_ones(()), accumulate=True)
        of = of / taken[indices].unsqueeze(-1)
    return of, None, None, None, None


_embedding_op.register_autograd(_pull_embedding, setup_context=_setup_embedding)
_embedding_backward_op.register_autograd(_pull_embedding_backward, setup_context=_setup_embedding_backward)


def _indices(name, *tensors):
    for x in tensors:
        if not isinstance(x, torch.Tensor) or x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
            raise TypeError(f"warpfold.torch.{name} takes indices as a tensor of integers")


def index_add(input, dim, index, source, *, alpha=1):
    """Adds indices of `source` to indices of the input along an axis, as `torch.index_add`, deterministically.

    >>> import torch, warpfold as wf
    >>> wf.torch.index_add(torch.zeros(3), 0, torch.tensor([2, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([2., 0., 4.])
    """
    _checked("index_add", input, source)
    _indices("index_add", index)
    return _index_add_op(input, dim, index, source, float(alpha))


def scatter_add(input, dim, index, src):
    """Adds elements of `src` to the input where the index says, as `torch.scatter_add`, deterministically.

    >>> import torch, warpfold as wf
    >>> wf.torch.scatter_add(torch.zeros(3), 0, torch.tensor([2, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([2., 0., 4.])
    """
    _checked("scatter_add", input, src)
    _indices("scatter_add", index)
    if index.dim() == src.dim() and all(n <= m for n, m in zip(index.shape, src.shape)):
        src = src[tuple(slice(n) for n in index.shape)]
    return _scatter_add_op(input, dim, index, src)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of a table, as `torch.nn.functional.embedding`: the gradient of a row is a tree over its uses.

    >>> import torch, warpfold as wf
    >>> wf.torch.embedding(torch.tensor([1, 0, 1]), torch.tensor([[1.0], [2.0]])).flatten()
    tensor([2., 1., 2.])
    """
    _checked("embedding", weight)
    _indices("embedding", input)
    if weight.dim() != 2:
        raise ValueError(f"warpfold.torch.embedding: the table needs 2 axes, and has {weight.dim()}")
    if max_norm is not None or sparse:
        raise ValueError("warpfold.torch.embedding takes no max_norm and no sparse gradient")
    count = weight.shape[0]
    if padding_idx is not None and not -count <= padding_idx < count:
        raise ValueError(f"warpfold.torch.embedding: padding_idx is {padding_idx}, of {count} rows")
    padding = -1 if padding_idx is None else padding_idx % count
    return _embedding_op(weight, input, padding, bool(scale_grad_by_freq))
