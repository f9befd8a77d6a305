"""The types of operations on rows."""

from typing import Any, Literal, NamedTuple, TypeAlias

Array: TypeAlias = Any
Axis: TypeAlias = int | tuple[int, ...] | list[int] | None
Reduced: TypeAlias = Literal["mean", "sum", "none"]

class NormGradients(NamedTuple):
    x: Any
    weight: Any
    bias: Any

class BatchNorm(NamedTuple):
    y: Any
    mean: Any
    var: Any

class CrossEntropyLoss(NamedTuple):
    loss: Any
    gradient: Any
    logsumexp: Any

def softmax(
    x: Array,
    /,
    axis: Axis = -1,
    *,
    where: Array | None = None,
    scale: float = 1.0,
) -> Any: ...
def softmax_backward(
    y: Array,
    gradient: Array,
    /,
    axis: Axis = -1,
    *,
    scale: float = 1.0,
) -> Any: ...
def log_softmax(
    x: Array,
    /,
    axis: Axis = -1,
    *,
    where: Array | None = None,
    scale: float = 1.0,
) -> Any: ...
def log_softmax_backward(
    y: Array,
    gradient: Array,
    /,
    axis: Axis = -1,
    *,
    scale: float = 1.0,
) -> Any: ...
def rms_norm(
    x: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    axis: Axis = -1,
    *,
    residual: Array | None = None,
    epsilon: float = 1e-5,
    weight_offset: float = 0.0,
) -> Any: ...
def rms_norm_backward(
    x: Array,
    gradient: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    axis: Axis = -1,
    *,
    epsilon: float = 1e-5,
    weight_offset: float = 0.0,
) -> NormGradients: ...
def layer_norm(
    x: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    axis: Axis = -1,
    *,
    residual: Array | None = None,
    epsilon: float = 1e-5,
    weight_offset: float = 0.0,
) -> Any: ...
def layer_norm_backward(
    x: Array,
    gradient: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    axis: Axis = -1,
    *,
    epsilon: float = 1e-5,
    weight_offset: float = 0.0,
) -> NormGradients: ...
def group_norm(
    x: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    *,
    epsilon: float = 1e-5,
    weight_offset: float = 0.0,
) -> Any: ...
def group_norm_backward(
    x: Array,
    gradient: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    *,
    epsilon: float = 1e-5,
    weight_offset: float = 0.0,
) -> NormGradients: ...
def batch_norm(
    x: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    axis: int = 1,
    *,
    mean: Array | None = None,
    var: Array | None = None,
    epsilon: float = 1e-5,
) -> BatchNorm: ...
def batch_norm_backward(
    x: Array,
    gradient: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    axis: int = 1,
    *,
    mean: Array | None = None,
    var: Array | None = None,
    epsilon: float = 1e-5,
) -> NormGradients: ...
def cross_entropy(
    logits: Array,
    targets: Array,
    axis: int = -1,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    weight: Array | None = None,
    reduction: Reduced = "mean",
) -> Any: ...
def cross_entropy_gradient(
    logits: Array,
    targets: Array,
    axis: int = -1,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    weight: Array | None = None,
    reduction: Reduced = "mean",
    gradient: Array | None = None,
    out: Array | None = None,
) -> CrossEntropyLoss: ...
def mse(
    x: Array,
    y: Array,
    /,
    axis: Axis = None,
    *,
    reduction: Reduced = "mean",
) -> Any: ...
def mse_backward(
    x: Array,
    y: Array,
    /,
    gradient: Array | None = None,
    axis: Axis = None,
    *,
    reduction: Reduced = "mean",
) -> Any: ...
def l1(
    x: Array,
    y: Array,
    /,
    axis: Axis = None,
    *,
    reduction: Reduced = "mean",
) -> Any: ...
def l1_backward(
    x: Array,
    y: Array,
    /,
    gradient: Array | None = None,
    axis: Axis = None,
    *,
    reduction: Reduced = "mean",
) -> Any: ...
def huber(
    x: Array,
    y: Array,
    /,
    axis: Axis = None,
    *,
    delta: float = 1.0,
    reduction: Reduced = "mean",
) -> Any: ...
def huber_backward(
    x: Array,
    y: Array,
    /,
    gradient: Array | None = None,
    axis: Axis = None,
    *,
    delta: float = 1.0,
    reduction: Reduced = "mean",
) -> Any: ...
def kl_div(
    x: Array,
    y: Array,
    /,
    axis: Axis = None,
    *,
    log_target: bool = False,
    reduction: Reduced = "mean",
) -> Any: ...
def kl_div_backward(
    x: Array,
    y: Array,
    /,
    gradient: Array | None = None,
    axis: Axis = None,
    *,
    log_target: bool = False,
    reduction: Reduced = "mean",
) -> Any: ...
def bce_with_logits(
    x: Array,
    y: Array,
    /,
    axis: Axis = None,
    *,
    reduction: Reduced = "mean",
) -> Any: ...
def bce_with_logits_backward(
    x: Array,
    y: Array,
    /,
    gradient: Array | None = None,
    axis: Axis = None,
    *,
    reduction: Reduced = "mean",
) -> Any: ...
def dot(
    x: Array,
    y: Array,
    /,
    axis: Axis = None,
) -> Any: ...
def dot_backward(
    x: Array,
    y: Array,
    /,
    gradient: Array | None = None,
    axis: Axis = None,
) -> Any: ...
def cosine_similarity(
    x: Array,
    y: Array,
    /,
    axis: Axis = -1,
    *,
    epsilon: float = 1e-8,
) -> Any: ...
def cosine_similarity_backward(
    x: Array,
    y: Array,
    /,
    gradient: Array | None = None,
    axis: Axis = -1,
    *,
    epsilon: float = 1e-8,
) -> Any: ...
def index_add(
    x: Array,
    axis: int,
    index: Array,
    source: Array,
    *,
    alpha: float = 1.0,
) -> Any: ...
def scatter_add(
    x: Array,
    axis: int,
    index: Array,
    source: Array,
) -> Any: ...
def embedding_backward(
    gradient: Array,
    indices: Array,
    num_embeddings: int,
    *,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Any: ...
