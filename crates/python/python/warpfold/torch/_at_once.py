"""Cross-entropy whose gradient is computed together with the loss, while the logits are in the GPU's cache.

The gradient of the loss is not known then: it is taken to be 1. If backward finds another one, on the device, the
gradient is computed once more, with the bits that it has otherwise. Neither waits for the GPU.
"""

import torch

from . import _composed, _loss_ops
from ._ops import _have_no_memory, _recorded, quick_apply


def applies(logits, target, weight, axis):
    """Whether the gradient of logits is wanted, on a GPU, and their classes lie side by side."""
    is_asked = logits.is_cuda and logits.requires_grad and all(n == 1 for n in logits.shape[axis + 1 :])
    return is_asked and not _have_no_memory((logits, target, weight))


class AtOnce(torch.autograd.Function):
    """The mean or the sum of the losses of classes."""

    @staticmethod
    def forward(ctx, logits, target, weight, *options):
        loss, *ctx.there = _composed.cross_entropy_at_once(logits, target, weight, *options)
        ctx.save_for_backward(logits, target, weight)
        ctx.options = options
        return loss

    @staticmethod
    def backward(ctx, of_loss):
        logits, target, weight = ctx.saved_tensors
        axis, ignore_index, reduction = ctx.options
        # Whoever has the gradient may write to it. So it is given away once.
        there, ctx.there = ctx.there, None
        is_odd = _recorded((of_loss,)) is None or _have_no_memory((of_loss,))
        if there is None or torch.is_grad_enabled() or is_odd:
            options = axis, ignore_index, 0.0, reduction
            found = _loss_ops.cross_entropy_backward(of_loss, None, logits, target, weight, *options)
        else:
            found = _composed.cross_entropy_again(of_loss, *there, logits, target, weight, axis, ignore_index)
        return found, *[None] * 5


at_once = quick_apply(AtOnce)
