"""Warpfold's operations as operators of PyTorch, `torch.ops.warpfold`: with shapes for tracing, and with gradients.

An operator's gradient is an operator, too. The gradient of that, a second derivative, is PyTorch's own arithmetic.
Where nothing is traced or transformed, what an operator computes is called as it is, by a plain autograd function if a
gradient is recorded: PyTorch's way to an operator that is written in Python takes the host several times as long as the
rest of a call. `_recorded` decides which way a call takes, and is asked once: `known` of an operator takes its answer.
"""

import functools

import torch
from torch.autograd import forward_ad

from .. import _native
from . import _composed

DEVICES = ("cpu", "cuda")


# Whether `torch.func` is at work. Its `grad` does not take operators with gradients of their own, but functions with them.
_transformed = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)
# Names of a module are found sooner than those of a module's module.
_is_compiling, _is_tracing = torch.compiler.is_compiling, torch._C._is_tracing
_modes, _is_grad_enabled = torch._C._len_torch_dispatch_stack, torch.is_grad_enabled
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
# Modes that trace before dispatch have a stack of their own.
_is_included, _EARLY = torch._C._dispatch_tls_is_dispatch_key_included, torch._C.DispatchKey.PreDispatch
# Whether a tensor is one of `torch.func`, which may be left over from a transform that has ended.
_is_wrapped = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", lambda x: True)
_is_batched = getattr(torch._C._functorch, "is_legacy_batchedtensor", lambda x: False)


def _recorded(arguments):
    """Whether the gradient of a tensor among the arguments is to be recorded. None if tensors, or calls, are not plain:
    traced, transformed, seen by a mode of dispatch, of a class of their own, on several devices or on others than ours;
    or if an argument is neither a tensor nor None. Tensors without memory are not told apart: see `_have_no_memory`."""
    # Dual numbers are plain tensors, too.
    if (
        _is_compiling()
        or _is_tracing()
        or _transformed()
        or _modes() > 0
        or _is_included(_EARLY)
        or forward_ad._current_level >= 0
    ):
        return None
    on_gpu, wanted = None, False
    for x in arguments:
        kind = type(x)
        if kind is _Tensor or kind is _Parameter:
            here = x.is_cuda
            if on_gpu is None:
                on_gpu = here
            if here is not on_gpu or not (here or x.is_cpu):
                return None
            wanted = wanted or x.requires_grad
        elif x is not None:
            return None
    return wanted and _is_grad_enabled()


def _have_no_memory(arguments):
    """Whether some tensors among the arguments have no memory of their own: those of transforms, and of zeros. What
    computes refuses them, and operators do not. To ask beforehand takes as long as all else that is asked."""
    tensors = [x for x in arguments if isinstance(x, _Tensor)]
    return any(_is_wrapped(x) or _is_batched(x) or x._is_zerotensor() for x in tensors)


class _Operator:
    """An operator of what `compute` computes, and functions of the same definition and gradient: one for `torch.func`,
    and one for tensors that are neither traced nor transformed."""

    def __init__(self, op, compute):
        self.op, self.compute = op, compute
        self.function, self.apply, self.batched = None, op, None

    def dispatch(self, *arguments):
        """A call of tensors that are not plain."""
        if not _is_compiling() and forward_ad._current_level >= 0:
            tensors = [x for x in arguments if isinstance(x, torch.Tensor)]
            if any(forward_ad.unpack_dual(x).tangent is not None for x in tensors):
                raise NotImplementedError(f"{self.op._name} has no forward-mode derivative: take its gradient backward")
        if self.function is not None and not torch.compiler.is_dynamo_compiling() and _transformed():
            return self.function.apply(*arguments)
        return self.op(*arguments)

    def register_autograd(self, call, pull, setup_context):
        self.op.register_autograd(pull, setup_context=setup_context)

        def forward(ctx, *arguments):
            output = self.compute(*arguments)
            setup_context(ctx, arguments, output)
            return output

        def function(**members):
            members = {name: staticmethod(member) for name, member in members.items()}
            return type(self.op._name.replace("::", "_"), (torch.autograd.Function,), members)

        self.apply = quick_apply(function(forward=forward, backward=pull))
        self.function = function(
            forward=lambda *arguments: call(*arguments),
            setup_context=setup_context,
            backward=pull,
            vmap=lambda *arguments: self.batched(*arguments),
        )

    def register_vmap(self, call, rule):
        """`rule` is given what to call: the operator, or the function."""
        self.batched = functools.partial(rule, call)
        self.op.register_vmap(functools.partial(rule, self.op))


def quick_apply(function):
    """The `apply` of a function of plain tensors: PyTorch's own looks for transforms first, at length."""
    return super(torch.autograd.Function, function).apply


def _one_by_one(call, info, axes, *arguments):
    """What becomes of a batch if there is no rule for it: of each of its elements by itself."""

    def at(i, x, axis):
        return x.select(axis, i) if isinstance(x, torch.Tensor) and axis is not None else x

    each = [call(*(at(i, *given) for given in zip(arguments, axes))) for i in range(info.batch_size)]
    if isinstance(each[0], torch.Tensor):
        return torch.stack(each), 0
    several = [None if of[0] is None else torch.stack(of) for of in zip(*each)]
    return tuple(several), tuple(None if of is None else 0 for of in several)


def _define(name, schema, compute, shape):
    """An operator: what it computes, and the shapes of its results. `compute` may have None among several results, of
    which the operator makes an empty tensor."""

    def dispatched(*arguments):
        # PyTorch has recorded the operator already.
        found = compute(*_detached(*arguments))
        if isinstance(found, torch.Tensor):
            return found
        return tuple(arguments[0].new_empty(0) if x is None else x for x in found)

    op = torch.library.custom_op(f"warpfold::{name}", dispatched, mutates_args=(), device_types=DEVICES, schema=schema)
    op.register_fake(shape)
    operator = _Operator(op, compute)
    arguments = schema[: schema.index("->")].split(",")
    # No argument beyond these is a tensor.
    count = max(i for i, of in enumerate(arguments) if "Tensor" in of) + 1

    # A function: an object with `__call__` is called at half the speed.
    def call(*arguments):
        return known(_recorded(arguments[:count]), *arguments)

    def known(recorded, *arguments):
        """The same where `_recorded` has been asked."""
        if recorded is not None:
            try:
                return operator.apply(*arguments) if recorded else compute(*arguments)
            except TypeError:
                if not _have_no_memory(arguments):
                    raise
        return operator.dispatch(*arguments)

    call.known = known
    call.register_autograd = functools.partial(operator.register_autograd, call)
    call.register_vmap = functools.partial(operator.register_vmap, call)
    call.register_vmap(_one_by_one)
    return call


def _detached(*arguments):
    """Arguments whose tensors require no gradient, as what computes wants them; as they are, if they are such."""
    return [
        x.detach() if isinstance(x, torch.Tensor) and (x.requires_grad or _is_wrapped(x)) else x for x in arguments
    ]


def _like(x):
    """New memory for a result of the shape of `x`: in C order, whatever the order of `x`."""
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _pulled(formula, inputs, gradient):
    """The gradients of the inputs of a formula, from that of its result."""
    return torch.func.vjp(formula, *inputs)[1](gradient)


# The sum along one axis, or of all elements.


def _sum(x, dim):
    return _native.sum(x, dim)


def _sum_shape(x, dim):
    if dim is None:
        return x.new_empty(())
    dim %= x.dim()
    return x.new_empty(x.shape[:dim] + x.shape[dim + 1 :])


def _sum_setup(ctx, inputs, output):
    x, ctx.dim = inputs
    ctx.shape = x.shape


def _sum_pull(ctx, gradient):
    gradient = gradient if ctx.dim is None else gradient.unsqueeze(ctx.dim)
    return gradient.expand(ctx.shape), None


total = _define("sum", "(Tensor x, int? dim) -> Tensor", _sum, _sum_shape)
total.register_autograd(_sum_pull, setup_context=_sum_setup)


# Softmax and its logarithm.


def _softmax(name, formula):
    """The operator, and its gradient, of which `formula` is the definition."""
    forward, backward = getattr(_native, name), getattr(_native, f"{name}_backward")
    op = _define(name, "(Tensor x, int dim) -> Tensor", forward, lambda x, dim: _like(x))
    of = _define(
        f"{name}_backward",
        "(Tensor gradient, Tensor y, int dim) -> Tensor",
        lambda gradient, y, dim: backward(y, gradient, dim),
        lambda gradient, y, dim: _like(y),
    )

    def setup(ctx, inputs, output):
        ctx.dim = inputs[1]
        ctx.save_for_backward(output)

    def pull(ctx, gradient):
        return of(gradient, *ctx.saved_tensors, ctx.dim), None

    def setup_of(ctx, inputs, output):
        gradient, y, ctx.dim = inputs
        ctx.save_for_backward(gradient, y)

    def pull_of(ctx, gradient):
        return *_pulled(lambda g, y: formula(g, y, ctx.dim), ctx.saved_tensors, gradient), None

    op.register_autograd(pull, setup_context=setup)
    of.register_autograd(pull_of, setup_context=setup_of)
    op.register_vmap(lambda call, info, axes, x, dim: _each(call, axes, (x,), dim))
    of.register_vmap(lambda call, info, axes, gradient, y, dim: _each(call, axes, (gradient, y), dim))
    return op


def _each(op, axes, tensors, dim):
    """An operator along an axis of tensors, of which some have a batch axis as well: that becomes the first."""
    given = list(zip(tensors, axes))
    size = next(x.shape[axis] for x, axis in given if axis is not None)
    tensors = [x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0) for x, axis in given]
    return op(*tensors, dim % (tensors[0].dim() - 1) + 1), 0


softmax = _softmax("softmax", lambda g, y, dim: y * (g - (g * y).sum(dim, keepdim=True)))
log_softmax = _softmax("log_softmax", lambda g, y, dim: g - y.exp() * g.sum(dim, keepdim=True))


# The product of a matrix and the transpose of another: each element is a tree over the last axes of both.


def _product(x, y):
    if x.is_cuda:
        return _composed.product(x, y)
    x, y = x.unsqueeze(1), y.unsqueeze(0)
    return _native.dot(*torch.broadcast_tensors(x, y), axis=2)


def _setup_product(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _pull_product(ctx, gradient):
    x, y = ctx.saved_tensors
    needs_x, needs_y = ctx.needs_input_grad
    return product(gradient, y.t()) if needs_x else None, product(gradient.t(), x.t()) if needs_y else None


product = _define(
    "product", "(Tensor x, Tensor y) -> Tensor", _product, lambda x, y: x.new_empty((x.shape[0], y.shape[0]))
)
product.register_autograd(_pull_product, setup_context=_setup_product)
