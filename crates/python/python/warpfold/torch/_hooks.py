"""What the kernel hooks of other libraries are given: the `kernels` of Hugging Face, and vLLM's out-of-tree layers.

Nothing here is imported from them before it is asked for.
"""

import os

import torch

from . import _norms


# Layers of `kernels` have no state of their own: `forward` reads that of the module it is put into.


class RMSNorm(torch.nn.Module):
    """The layer "RMSNorm"."""

    can_torch_compile = True
    has_backward = True

    def forward(self, hidden_states):
        return _rms_norm_of(self, hidden_states, 0.0)


class RMSNormZeroCentered(torch.nn.Module):
    """The layer "RMSNormZeroCentered", whose weights are stored as their distance from 1."""

    can_torch_compile = True
    has_backward = True

    def forward(self, hidden_states):
        return _rms_norm_of(self, hidden_states, 1.0)


def _rms_norm_of(module, x, offset):
    """The norm of a module of `transformers`, by the names that its classes give to the epsilon."""
    epsilon = module.variance_epsilon if hasattr(module, "variance_epsilon") else module.eps
    weight = getattr(module, "weight", None)
    return _norms.rms_norm(x, x.shape[-1:], weight, epsilon, weight_offset=offset)


class _Repository:
    """Where `kernels` finds a layer: here, and not on a hub."""

    def __init__(self, layer):
        self.layer, self.layer_name = layer, layer.__name__

    def load(self):
        return self.layer

    def __eq__(self, other):
        return isinstance(other, _Repository) and self.layer is other.layer

    def __hash__(self):
        return hash(self.layer)

    def __str__(self):
        return f"warpfold.torch, layer `{self.layer_name}`"


def kernel_mapping():
    """Warpfold's layers, for `kernels.register_kernel_mapping` and `kernels.use_kernel_mapping`.

    On the CPU and on NVIDIA GPUs, for inference, training and `torch.compile`. Results are rounded once, to the dtype
    of the elements.

    >>> import warpfold as wf
    >>> {layer: list(devices) for layer, devices in wf.torch.kernel_mapping().items()}
    {'RMSNorm': ['cpu', 'cuda'], 'RMSNormZeroCentered': ['cpu', 'cuda']}
    """
    layers = RMSNorm, RMSNormZeroCentered
    return {layer.__name__: dict.fromkeys(("cpu", "cuda"), _Repository(layer)) for layer in layers}


# vLLM's layers, and what they add to their weights.
_VLLM = {"RMSNorm": 0.0, "GemmaRMSNorm": 1.0}


def register_vllm():
    """Makes the layers RMSNorm and GemmaRMSNorm of vLLM Warpfold's, with and without residual.

    They are registered by `CustomOp.register_oot`: models that are built after that have them. A second call does
    nothing. vLLM calls this in each of its processes if the environment has WARPFOLD_VLLM=1, since the package has an
    entry point in the group `vllm.general_plugins`.

    Returns
    -------
    list of str
        The names of the layers that are Warpfold's now.

    Examples
    --------
    >>> import importlib.util, warpfold as wf
    >>> if importlib.util.find_spec("vllm"):
    ...     layers = wf.torch.register_vllm()
    """
    from vllm.model_executor import custom_op
    from vllm.model_executor.layers import layernorm

    base, found = custom_op.CustomOp, []
    for name, offset in _VLLM.items():
        theirs = getattr(layernorm, name, None)
        if theirs is None:
            continue
        registry = getattr(base, "op_registry_oot", None)
        registry = getattr(custom_op, "op_registry_oot", {}) if registry is None else registry
        if name not in registry:
            base.register_oot(_layer(theirs, offset), name=name)
        elif not issubclass(registry[name], _Ours):
            continue
        found.append(name)
    return found


class _Ours:
    """Marks the layers that are registered here."""


def _layer(theirs, offset):
    """A layer of vLLM whose norm is Warpfold's on every platform that vLLM dispatches to."""

    class Layer(_Ours, theirs):
        def forward_native(self, x, residual=None):
            if getattr(self, "variance_size_override", None) is not None:
                return super().forward_native(x, residual)
            weight = self.weight if getattr(self, "has_weight", True) else None
            options = {"residual": residual, "weight_offset": offset}
            return _norms.rms_norm(x, x.shape[-1:], weight, self.variance_epsilon, **options)

        forward_cuda = forward_cpu = forward_oot = forward_native

    Layer.__name__ = Layer.__qualname__ = theirs.__name__
    return Layer


def vllm_plugin():
    """The entry point of vLLM's plugins: nothing unless the environment asks for it."""
    if os.environ.get("WARPFOLD_VLLM") == "1":
        register_vllm()
