"""Hugging Face's `transformers`: losses with the signatures of its own, an attention for its registry. Imported without
it: nothing here needs it before a model of it is given."""

import torch

from . import _functions

# The name of the attention in the registry of `transformers`.
ATTENTION = "warpfold"


def loss_of(model):
    """The name of a model's loss, if it is a model of `transformers` that has one."""
    if not hasattr(type(model), "loss_function"):
        return None
    if getattr(model, "_loss_function", None) is None and getattr(model, "loss_type", None) is None:
        return None
    return getattr(model.loss_function, "__name__", repr(model.loss_function))


def _cross_entropy(logits, labels, count, ignore_index):
    """The mean over the labels that are not ignored, or the sum over a count that is given."""
    labels = labels.reshape(-1).to(logits.device)
    reduction = "mean" if count is None else "sum"
    loss = _functions.cross_entropy(logits, labels, ignore_index=ignore_index, reduction=reduction)
    if count is None:
        return loss
    return loss / (count.to(loss.device) if isinstance(count, torch.Tensor) else count)


def causal_loss(
    logits, labels, vocab_size, num_items_in_batch=None, ignore_index=-100, shift_labels=None, **options
):
    """The loss of a causal language model: each token's logits, and the next token."""
    if shift_labels is None:
        shift_labels = torch.nn.functional.pad(labels, (0, 1), value=ignore_index)[..., 1:]
    logits = logits.float().reshape(-1, vocab_size)
    return _cross_entropy(logits, shift_labels, num_items_in_batch, ignore_index)


def masked_loss(logits, labels, vocab_size, num_items_in_batch=None, ignore_index=-100, **options):
    """The loss of a masked language model: each token's logits, and the token."""
    return _cross_entropy(logits.float().reshape(-1, vocab_size), labels, num_items_in_batch, ignore_index)


def token_loss(logits, labels, config, num_items_in_batch=None, ignore_index=-100, **options):
    """The loss of a classifier of tokens."""
    logits = logits.reshape(-1, config.num_labels).float()
    return _cross_entropy(logits, labels, num_items_in_batch, ignore_index)


# Losses by the names that `transformers` gives them.
LOSSES = {
    "ForCausalLMLoss": causal_loss,
    "ForMaskedLMLoss": masked_loss,
    "ForTokenClassification": token_loss,
}


def register_attention():
    """Makes the attention known to `transformers`, with the masks of its eager one."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(ATTENTION, attention)
    ALL_MASK_ATTENTION_FUNCTIONS.register(ATTENTION, ALL_MASK_ATTENTION_FUNCTIONS["eager"])


# What some models give to change the scores: not to be left out in silence.
_UNKNOWN = ("softcap", "s_aux", "position_bias", "score_mod", "block_mask")


def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **options):
    """Attention whose softmax is Warpfold's: scores of all pairs, and the values weighed by them."""
    given = [name for name in _UNKNOWN if options.get(name) is not None]
    if given:
        what = f"the attention of Warpfold has no {given[0]}"
        raise NotImplementedError(f"{what}: patch the model without attention=True")
    groups = query.shape[1] // key.shape[1]
    key, value = (heads.repeat_interleave(groups, 1) if groups > 1 else heads for heads in (key, value))
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = query @ key.transpose(2, 3) * scaling
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = _functions.softmax(scores, -1)
    weights = torch.nn.functional.dropout(weights, dropout, module.training)
    return (weights @ value).transpose(1, 2).contiguous(), weights
