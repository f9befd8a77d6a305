"""Functions, modules and operators of PyTorch whose results depend on their rows alone: not on the batch, the layout
or the threads.

>>> import torch
>>> import warpfold as wf
>>> logits = torch.zeros(2, 4, requires_grad=True)
>>> loss = wf.torch.cross_entropy(logits, torch.tensor([0, 1]))
>>> loss.backward()
>>> logits.grad[0]
tensor([-0.3750,  0.1250,  0.1250,  0.1250])

Functions have the names and arguments of `torch.nn.functional`, modules those of `torch.nn`. Tensors are on the CPU or,
for most of them, on an NVIDIA GPU. What a result is, bit for bit, is written in docs/numerics.md.
"""

from . import _invariant_norms, _invariant_sums  # noqa: F401 (register kernels)
from ._functions import (
    binary_cross_entropy_with_logits,
    cosine_similarity,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    log_softmax,
    mse_loss,
    smooth_l1_loss,
    softmax,
)
from ._hooks import kernel_mapping, register_vllm
from ._invariant import Report, batch_invariant
from ._modules import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    CrossEntropyLoss,
    GroupNorm,
    LayerNorm,
    LogSoftmax,
    RMSNorm,
    Softmax,
    TreeLinear,
)
from ._norms import batch_norm, group_norm, layer_norm, rms_norm
from ._patch import Patch, patch_model
from ._pool import avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d, sample, topk
from ._scatter import embedding, index_add, scatter_add

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CrossEntropyLoss",
    "GroupNorm",
    "LayerNorm",
    "LogSoftmax",
    "Patch",
    "RMSNorm",
    "Report",
    "Softmax",
    "TreeLinear",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_invariant",
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "cosine_similarity",
    "cross_entropy",
    "embedding",
    "group_norm",
    "huber_loss",
    "index_add",
    "kernel_mapping",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "log_softmax",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mse_loss",
    "patch_model",
    "register_vllm",
    "rms_norm",
    "sample",
    "scatter_add",
    "smooth_l1_loss",
    "softmax",
    "topk",
]
