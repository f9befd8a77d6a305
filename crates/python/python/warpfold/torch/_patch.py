"""Puts Warpfold's operations into a model that exists: norms, the loss and, if asked for, the softmax of attention.

A module keeps its class, its parameters and its hooks; its `forward` is replaced, and put back by `undo`. Norms that
are a library's own classes are known by what they compute: each is run once, on numbers made for this.
"""

import copy
import types

import torch

from . import _functions, _norms, _transformers

# The attributes by which libraries name the epsilon of a norm.
_EPSILONS = ("variance_epsilon", "eps", "epsilon")
# How close a norm must be to its definition, in float32, to be known as one.
_CLOSE = 1e-5


class Patch:
    """What `patch_model` has done.

    Attributes
    ----------
    replaced : dict
        For each module, by its name in the model: what computes it now.
    kept : dict
        For each norm, softmax or loss that is as it was: why.
    """

    def __init__(self):
        self.replaced, self.kept, self._undo = {}, {}, []

    def undo(self):
        """Puts back what was there. A second call does nothing."""
        while self._undo:
            self._undo.pop()()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.undo()

    def __repr__(self):
        lines = [f"{name or 'the model'}: {by}" for name, by in self.replaced.items()]
        lines += [f"{name or 'the model'}: kept, {why}" for name, why in self.kept.items()]
        return "\n".join(lines) or "nothing to replace"

    def _forward(self, name, module, forward, by):
        module.forward = types.MethodType(forward, module)
        self.replaced[name] = by
        self._undo.append(lambda: module.__dict__.pop("forward", None))


def patch_model(model, *, norms=True, loss=True, attention=False):
    """Puts Warpfold's operations into a model, in place; gives a `Patch`, which says what was replaced and undoes it.

    Parameters
    ----------
    model : torch.nn.Module
        A model of `transformers`, or any other.
    norms : bool
        Replace `torch.nn.RMSNorm`, `torch.nn.LayerNorm`, and classes that compute an RMS norm, such as LlamaRMSNorm, or
        GemmaRMSNorm, which adds 1 to its weights. Softmax modules, too.
    loss : bool
        Replace `torch.nn.CrossEntropyLoss`, and the losses of `transformers` for language models (causal, masked) and
        for token classification.
    attention : bool
        Compute the softmax of a `transformers` model's attention by Warpfold, in its "eager" form: all scores are in
        memory. The products remain PyTorch's.

    Examples
    --------
    >>> import torch, warpfold as wf
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    >>> with wf.torch.patch_model(model) as patch:
    ...     print(patch)
    1: layer_norm
    """
    patch = Patch()
    try:
        for name, module in model.named_modules():
            if norms:
                _patch_norm(patch, name, module)
            if loss:
                _patch_loss(patch, name, module)
        if attention:
            _patch_attention(patch, model)
    except BaseException:
        patch.undo()
        raise
    return patch


def _layer_norm(self, input):
    return _norms.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


def _rms_norm(self, x):
    return _norms.rms_norm(x, self.normalized_shape, self.weight, self.eps)


def _softmax(self, input):
    return _functions.softmax(input, self.dim)


def _log_softmax(self, input):
    return _functions.log_softmax(input, self.dim)


def _cross_entropy(self, input, target):
    options = {"ignore_index": self.ignore_index, "label_smoothing": self.label_smoothing}
    return _functions.cross_entropy(input, target, self.weight, reduction=self.reduction, **options)


# PyTorch's own modules.
_PLAIN = {
    torch.nn.LayerNorm: (_layer_norm, "layer_norm"),
    torch.nn.RMSNorm: (_rms_norm, "rms_norm"),
    torch.nn.Softmax: (_softmax, "softmax"),
    torch.nn.LogSoftmax: (_log_softmax, "log_softmax"),
}


def _patch_norm(patch, name, module):
    kind = type(module)
    if kind not in _PLAIN and "norm" not in kind.__name__.lower():
        return
    if kind.__module__.startswith(__package__):
        return
    if "forward" in vars(module):
        patch.kept[name] = "its forward has been replaced already"
    elif kind in _PLAIN:
        patch._forward(name, module, *_PLAIN[kind])
    elif not next(module.children(), None):
        forward, by = _recognised(module)
        if forward is None:
            patch.kept[name] = f"{kind.__name__} is {by}"
        else:
            patch._forward(name, module, forward, by)


def _recognised(module):
    """The forward of a module that computes an RMS norm of its last axis, and its name; or None, and why not."""
    weight = module._parameters.get("weight")
    epsilon = next((name for name in _EPSILONS if isinstance(getattr(module, name, None), float)), None)
    alone = [of for of in module._parameters.values() if of is not None] == [weight] and not module._buffers
    if weight is None or weight.dim() != 1 or not alone or epsilon is None:
        return None, "no norm that is replaced"
    offset = _offset(module, getattr(module, epsilon))
    result = None if offset is None else _result(module)
    if result is None:
        return None, "no RMS norm by what it computes"

    def forward(self, x):
        dtype = result(x.dtype, self.weight.dtype)
        if dtype != x.dtype:
            x = x.to(torch.promote_types(x.dtype, dtype))
        found = _norms.rms_norm(x, x.shape[-1:], self.weight, getattr(self, epsilon), weight_offset=offset)
        return found.to(dtype)

    return forward, "rms_norm" if offset == 0 else f"rms_norm of weights + {offset:g}"


def _tried(module, dtype, weight_dtype, scale):
    """What the module makes of a row of numbers, by weights made for this; and these. None if it does not take them."""
    count = module.weight.numel()
    numbers = torch.linspace(-2, 3, count, dtype=torch.float64).sin()
    x, weight = torch.stack([numbers, numbers.flip(0) * scale]).to(dtype), (numbers * 3).cos().to(weight_dtype)
    # The module's other self: nothing of the module is touched, and no hook is called.
    other = copy.copy(module)
    other._parameters = {**module._parameters, "weight": torch.nn.Parameter(weight, requires_grad=False)}
    try:
        with torch.no_grad():
            found = other.forward(x)
    except Exception:
        return None
    return (found, x, weight) if isinstance(found, torch.Tensor) and found.shape == x.shape else None


def _offset(module, epsilon):
    """What an RMS norm adds to its weights, 0 or 1. None if the module is no RMS norm."""
    # The second row is as small as epsilon lets it be, so that epsilon counts.
    tried = _tried(module, torch.float32, torch.float32, max(epsilon, 0.0) ** 0.5 or 1.0)
    if tried is None:
        return None
    found, x, weight = (of.double() for of in tried)
    normal = x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt()
    for offset in (0.0, 1.0):
        if torch.allclose(found, normal * (weight + offset), rtol=_CLOSE, atol=_CLOSE):
            return offset
    return None


def _result(module):
    """The dtype of a norm's results, as a function of the dtypes of elements and weights. None if it is another one."""
    half, single = torch.bfloat16, torch.float32
    tried = [_tried(module, *dtypes, 1.0) for dtypes in ((half, single), (single, half))]
    found = [None if of is None else of[0].dtype for of in tried]
    rules = {
        (half, single): lambda of_x, of_weight: of_x,
        (single, single): torch.promote_types,
        (single, half): lambda of_x, of_weight: of_weight,
    }
    return rules.get(tuple(found))


def _patch_loss(patch, name, module):
    if type(module) is torch.nn.CrossEntropyLoss and "forward" not in vars(module):
        patch._forward(name, module, _cross_entropy, "cross_entropy")
    found = _transformers.loss_of(module)
    if found is None:
        return
    place = f"{name}.loss_function".lstrip(".")
    ours = _transformers.LOSSES.get(found)
    if ours is None:
        patch.kept[place] = f"{found} is no loss that is replaced"
        return
    before = vars(module).get("_loss_function")
    module.loss_function = ours
    patch.replaced[place] = "cross_entropy"

    def undo():
        if before is None:
            vars(module).pop("_loss_function", None)
        else:
            module.loss_function = before

    patch._undo.append(undo)


def _patch_attention(patch, model):
    if not hasattr(model, "set_attn_implementation"):
        patch.kept["attention"] = "no model of transformers, whose attention can be chosen"
        return
    before = model.config._attn_implementation
    _transformers.register_attention()
    model.set_attn_implementation(_transformers.ATTENTION)
    patch.replaced["attention"] = "softmax"
    patch._undo.append(lambda: model.set_attn_implementation(before))
