"""Norms as operators of PyTorch: of the last axes, of groups of channels, of channels."""

import functools

import torch
import torch.nn.functional as F

from .. import _native
from . import _composed
from ._ops import _define, _have_no_memory, _like, _pulled


def _defined(name, options, results, shapes, forward, backward, formula, count=3, notes=()):
    """An operator of a tensor, weights and biases, and its gradient.

    `options` is a schema, `results` that of the results, and `shapes` gives them for tracing. The first `count`
    arguments are tensors: the first three have gradients, and all but the first may be None. `formula` is the
    definition of the first result, by PyTorch.

    What it `notes` of rows, by these names, are its results from the second on, which its gradient takes after the first
    three tensors.
    The gradient is asked for that of the weights, if they are not `frozen`; and for that of the biases, which it needs
    for nothing else, by these.
    """
    tensors = "Tensor x, Tensor? weight, Tensor? bias"

    def shapes_of(gradient, x, weight, bias, *rest):
        wanted = x, None if rest[-1] else weight, bias
        return tuple(x.new_empty(0) if array is None else _like(array) for array in wanted)

    schema = f"{tensors}, {options}"
    op = _define(name, f"({schema}) -> {results}", forward, shapes)
    noted = "".join(f"Tensor? {note}, " for note in notes)
    schema = f"(Tensor gradient, {tensors}, {noted}{options}, bool frozen) -> (Tensor, Tensor, Tensor)"
    of = _define(f"{name}_backward", schema, backward, shapes_of)
    nothing = [None] * (options.count(",") + 1)

    def setup(ctx, inputs, output):
        ctx.options = inputs[count:]
        if notes:
            _set_noted(ctx, *output[1:])
        ctx.save_for_backward(*inputs[:3], *output[1:] if notes else (), *inputs[3:count])

    def setup_of(ctx, inputs, output):
        ctx.options = inputs[1 + count + len(notes) :]
        ctx.save_for_backward(*inputs[:4], *inputs[4 + len(notes) : 1 + count + len(notes)])

    def pull(ctx, gradient, *others):
        if gradient is None:
            return None, None, None, *nothing
        x, weight, bias, *rest = ctx.saved_tensors
        _, of_weight, of_bias, *_ = ctx.needs_input_grad
        bias = bias if of_bias else None
        found = of(gradient, x, weight, bias, *rest, *ctx.options, not of_weight)
        return found[0], found[1] if of_weight else None, found[2] if of_bias else None, *nothing

    def pull_of(ctx, *gradients):
        gradient, *arrays = ctx.saved_tensors
        arrays, rest = arrays[:3], arrays[3:]
        *options, frozen = ctx.options
        given = [array for array in arrays if array is not None]
        is_wanted = [array is not None and not (frozen and i == 1) for i, array in enumerate(arrays)]

        def filled(given):
            given = iter(given)
            return [None if array is None else next(given) for array in arrays]

        def of_given(gradient, *given):
            found = _pulled(lambda *given: formula(*filled(given), *rest, *options), given, gradient)
            return tuple(of for of, wanted in zip(filled(found), is_wanted) if wanted)

        cotangents = tuple(g for g, wanted in zip(gradients, is_wanted) if wanted)
        of_gradient, *found = _pulled(of_given, (gradient, *given), cotangents)
        return of_gradient, *filled(found), *nothing, *[None] * (1 + len(notes))

    op.register_autograd(pull, setup_context=setup)
    of.register_autograd(pull_of, setup_context=setup_of)
    return op, of


def _unnoted(operator, plain, recorded, *arguments):
    """The first result of an operator that notes, where `_recorded` has been asked: without gradients nothing needs to
    be noted, and `plain` computes it."""
    if recorded is False:
        try:
            return plain(*arguments)
        except TypeError:
            if not _have_no_memory(arguments):
                raise
    return operator.known(recorded, *arguments)[0]


def _set_noted(ctx, *noted):
    """What was noted has no gradient, of which PyTorch would make zeros."""
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(*(array for array in noted if array is not None))


# Norms of the last `rank` axes.


def _axes(rank):
    return -1 if rank == 1 else list(range(-rank, 0))


def _of_last_axes(name, formula):
    forward, noted_too, backward = (getattr(_native, name + of) for of in ("", "_noted", "_backward"))

    def compute(x, weight, bias, rank, eps, offset):
        return noted_too(x, weight, bias, _axes(rank), eps, offset)

    def compute_of(gradient, x, weight, bias, noted, rank, eps, offset, frozen):
        noted = noted if x.is_cuda else None
        return backward(x, gradient, weight, bias, _axes(rank), eps, offset, frozen, noted)

    def shape(x, weight, bias, rank, *rest):
        if not x.is_cuda:
            return _like(x), x.new_empty(0)
        dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
        return _like(x), x.new_empty((*x.shape[: x.dim() - rank], 2), dtype=dtype)

    options = "int rank, float eps, float offset"
    op, of = _defined(name, options, "(Tensor, Tensor)", shape, compute, compute_of, formula, notes=("noted",))

    def plain(x, weight, bias, rank, eps, offset):
        return forward(x, weight, bias, _axes(rank), epsilon=eps, weight_offset=offset)

    norm = functools.partial(_unnoted, op, plain)

    # Of the sums of two tensors: the norm, and the sums.

    def compute_sum(x, residual, weight, bias, rank, eps, offset):
        if x.is_cuda:
            sums = _composed.sums(x, residual)
            y, noted = compute(sums, weight, bias, rank, eps, offset)
            return y, sums, noted
        options = {"epsilon": eps, "weight_offset": offset}
        return *forward(x, weight, bias, _axes(rank), residual=residual, **options), None

    def setup(ctx, inputs, output):
        _, residual, weight, bias, *ctx.options = inputs
        _, total, noted = output
        ctx.dtype = residual.dtype
        _set_noted(ctx, noted)
        ctx.save_for_backward(total, weight, bias, noted)

    def pull(ctx, gradient, of_sum, _):
        if gradient is None:
            return of_sum, None if of_sum is None else of_sum.to(ctx.dtype), *[None] * 5
        total, weight, bias, noted = ctx.saved_tensors
        _, _, needs_weight, needs_bias, *_ = ctx.needs_input_grad
        bias = bias if needs_bias else None
        of_x, of_weight, of_bias = of(gradient, total, weight, bias, noted, *ctx.options, not needs_weight)
        of_x = of_x if of_sum is None else of_x + of_sum
        given = of_weight if needs_weight else None, of_bias if needs_bias else None
        return of_x, of_x.to(ctx.dtype), *given, None, None, None

    def shape_of_sum(x, residual, *rest):
        y, noted = shape(x, *rest)
        return y, _like(x), noted

    schema = f"(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, {options}) -> (Tensor, Tensor, Tensor)"
    added = _define(f"{name}_residual", schema, compute_sum, shape_of_sum)
    added.register_autograd(pull, setup_context=setup)

    def norm_of_sum(recorded, *arguments):
        """The norm of the sums of two tensors, and these sums."""
        return added.known(recorded, *arguments)[:2]

    return norm, norm_of_sum


def _weighted(weight, offset):
    return weight if weight is None or offset == 0 else weight + offset


def _plain_rms_norm(x, weight, bias, rank, eps, offset):
    return F.rms_norm(x, x.shape[x.dim() - rank :], _weighted(weight, offset), eps)


def _plain_layer_norm(x, weight, bias, rank, eps, offset):
    return F.layer_norm(x, x.shape[x.dim() - rank :], _weighted(weight, offset), bias, eps)


rms_norm, rms_norm_residual = _of_last_axes("rms_norm", _plain_rms_norm)
layer_norm, layer_norm_residual = _of_last_axes("layer_norm", _plain_layer_norm)


# Norms of groups of channels.


def _group_norm(x, weight, bias, groups, eps):
    y, noted = _native.group_norm_noted(x, groups, weight, bias, eps)
    return y, x.new_empty(0) if noted is None else noted


def _group_norm_shapes(x, weight, bias, groups, eps):
    if not x.is_cuda:
        return _like(x), x.new_empty(0)
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    return _like(x), x.new_empty((2, x.shape[0], groups), dtype=dtype)


def _group_norm_backward(gradient, x, weight, bias, noted, groups, eps, frozen):
    noted = noted if x.is_cuda else None
    return _native.group_norm_backward(x, gradient, groups, weight, bias, eps, 0.0, frozen, noted)


_noting_group_norm, _ = _defined(
    "group_norm",
    "int groups, float eps",
    "(Tensor, Tensor)",
    _group_norm_shapes,
    _group_norm,
    _group_norm_backward,
    lambda x, weight, bias, groups, eps: F.group_norm(x, groups, weight, bias, eps),
    notes=("noted",),
)


def _plain_group_norm(x, weight, bias, groups, eps):
    return _native.group_norm(x, groups, weight, bias, epsilon=eps)


group_norm = functools.partial(_unnoted, _noting_group_norm, _plain_group_norm)


# Norms of channels, by their own mean and variance, which are results, too, or by others.


def _channels_axis(x):
    return 1 if x.dim() > 1 else 0


def _batch_norm(x, weight, bias, mean, var, eps):
    y, *found = _native.batch_norm(x, weight, bias, mean, var, _channels_axis(x), eps, mean is None)
    # What is given is no result: an operator may not return its arguments.
    return y, *(found if mean is None else (x.new_empty(0) for _ in range(2)))


def _batch_norm_shapes(x, weight, bias, mean, var, eps):
    if mean is not None:
        return _like(x), x.new_empty(0), x.new_empty(0)
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    channels = x.shape[_channels_axis(x)]
    return _like(x), *(x.new_empty(channels, dtype=dtype) for _ in range(2))


def _batch_norm_backward(gradient, x, weight, bias, found_mean, found_var, mean, var, eps, frozen):
    noted = mean is None and x.is_cuda and found_mean is not None
    mean, var = (found_mean, found_var) if noted else (mean, var)
    return _native.batch_norm_backward(x, gradient, _channels_axis(x), eps, weight, bias, mean, var, frozen, noted)


def _plain_batch_norm(x, weight, bias, mean, var, eps):
    return F.batch_norm(x, mean, var, weight, bias, mean is None, 0.0, eps)


batch_norm, _ = _defined(
    "batch_norm",
    "Tensor? mean, Tensor? var, float eps",
    "(Tensor, Tensor, Tensor)",
    _batch_norm_shapes,
    _batch_norm,
    _batch_norm_backward,
    _plain_batch_norm,
    count=5,
    notes=("found_mean", "found_var"),
)
