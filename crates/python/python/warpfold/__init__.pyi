"""The types of the package. Results are of the kind of the argument: an array, or a scalar of NumPy."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, overload

from . import array_api as array_api
from . import dask as dask
from . import flox as flox
from . import torch as torch
from ._kmeans import KMeans as KMeans
from ._pool import MaxPool as MaxPool
from ._pool import TopK as TopK
from ._pool import avg_pool as avg_pool
from ._pool import avg_pool_backward as avg_pool_backward
from ._pool import max_pool as max_pool
from ._pool import max_pool_backward as max_pool_backward
from ._pool import sample as sample
from ._pool import top_k as top_k
from ._rows import BatchNorm as BatchNorm
from ._rows import CrossEntropyLoss as CrossEntropyLoss
from ._rows import NormGradients as NormGradients
from ._rows import batch_norm as batch_norm
from ._rows import batch_norm_backward as batch_norm_backward
from ._rows import bce_with_logits as bce_with_logits
from ._rows import bce_with_logits_backward as bce_with_logits_backward
from ._rows import cosine_similarity as cosine_similarity
from ._rows import cosine_similarity_backward as cosine_similarity_backward
from ._rows import cross_entropy as cross_entropy
from ._rows import cross_entropy_gradient as cross_entropy_gradient
from ._rows import dot as dot
from ._rows import dot_backward as dot_backward
from ._rows import embedding_backward as embedding_backward
from ._rows import group_norm as group_norm
from ._rows import group_norm_backward as group_norm_backward
from ._rows import huber as huber
from ._rows import huber_backward as huber_backward
from ._rows import index_add as index_add
from ._rows import kl_div as kl_div
from ._rows import kl_div_backward as kl_div_backward
from ._rows import l1 as l1
from ._rows import l1_backward as l1_backward
from ._rows import layer_norm as layer_norm
from ._rows import layer_norm_backward as layer_norm_backward
from ._rows import log_softmax as log_softmax
from ._rows import log_softmax_backward as log_softmax_backward
from ._rows import mse as mse
from ._rows import mse_backward as mse_backward
from ._rows import rms_norm as rms_norm
from ._rows import rms_norm_backward as rms_norm_backward
from ._rows import scatter_add as scatter_add
from ._rows import softmax as softmax
from ._rows import softmax_backward as softmax_backward

# An array of any library that warpfold takes.
Array: TypeAlias = Any
Axis: TypeAlias = int | tuple[int, ...] | list[int] | None
Precision: TypeAlias = Literal["tree", "compensated"] | None
DType: TypeAlias = Any
Number: TypeAlias = int | float | bool

__version__: str

class Error(RuntimeError): ...

def sum(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: Array | None = None,
    *,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def prod(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: Array | None = None,
    *,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def nansum(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: Array | None = None,
    *,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def nanprod(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: Array | None = None,
    *,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def mean(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def nanmean(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def logsumexp(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def nanlogsumexp(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def var(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    correction: float | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def std(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    correction: float | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def nanvar(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    correction: float | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def nanstd(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DType = None,
    out: Array | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    correction: float | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def norm(
    x: Array,
    /,
    axis: Axis = None,
    *,
    ord: float | None = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    where: Array | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def nannorm(
    x: Array,
    /,
    axis: Axis = None,
    *,
    ord: float | None = None,
    dtype: DType = None,
    out: Array | None = None,
    keepdims: bool = False,
    where: Array | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
def min(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: Array | None = None,
    *,
    device: str | None = None,
) -> Any: ...
def max(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: Array | None = None,
    *,
    device: str | None = None,
) -> Any: ...
def nanmin(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: Array | None = None,
    *,
    device: str | None = None,
) -> Any: ...
def nanmax(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: Array | None = None,
    *,
    device: str | None = None,
) -> Any: ...
def argmin(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    *,
    keepdims: bool = False,
    where: Array | None = None,
    device: str | None = None,
) -> Any: ...
def argmax(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    *,
    keepdims: bool = False,
    where: Array | None = None,
    device: str | None = None,
) -> Any: ...
def nanargmin(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    *,
    keepdims: bool = False,
    where: Array | None = None,
    device: str | None = None,
) -> Any: ...
def nanargmax(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    *,
    keepdims: bool = False,
    where: Array | None = None,
    device: str | None = None,
) -> Any: ...
def minmax(
    x: Array,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    where: Array | None = None,
    device: str | None = None,
) -> tuple[Any, Any]: ...
def any(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    device: str | None = None,
) -> Any: ...
def all(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    device: str | None = None,
) -> Any: ...
def count_nonzero(
    x: Array,
    /,
    axis: Axis = None,
    out: Array | None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
    device: str | None = None,
) -> Any: ...
def set_num_threads(threads: int, /) -> None: ...
def get_num_threads() -> int: ...

class Description:
    NAMES: ClassVar[tuple[str, ...]]
    count: Any
    nan_count: Any
    min: Any
    argmin: Any
    max: Any
    argmax: Any
    mean: Any
    std: Any
    sum: Any
    norm: Any
    dtype: str
    shape: tuple[int, ...]
    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, name: str) -> Any: ...
    def keys(self) -> tuple[str, ...]: ...

class Device(NamedTuple):
    name: str
    description: str
    processors: int
    memory: int
    capability: tuple[int, int] | None

def describe(
    x: Array,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    where: Array | None = None,
    skip_nan: bool = False,
    device: str | None = None,
) -> Description: ...
def explain(
    op: str,
    x: Array,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    dtype: DType = None,
    precision: Precision = None,
    device: str | None = None,
) -> str: ...
def devices() -> list[Device]: ...
def tree_reference(x: Array, op: Literal["sum", "mean", "prod", "var", "std"] = "sum") -> Any: ...
def segmented(
    values: Array,
    offsets: Array,
    op: str = "sum",
    *,
    fill: Number | None = None,
    dtype: DType = None,
    where: Array | None = None,
    ddof: float | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
@overload
def group_by(
    values: Array,
    labels: Array,
    op: str | None = None,
    num_groups: int | None = None,
    *,
    fill: Number | None = None,
    dtype: DType = None,
    where: Array | None = None,
    ddof: float | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> Any: ...
@overload
def group_by(
    values: Array,
    labels: Array,
    op: list[str] | tuple[str, ...],
    num_groups: int | None = None,
    *,
    fill: Number | None = None,
    dtype: DType = None,
    where: Array | None = None,
    ddof: float | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> dict[str, Any]: ...
def reduce_by_key(
    keys: Array,
    values: Array,
    op: str = "sum",
    *,
    dtype: DType = None,
    where: Array | None = None,
    ddof: float | None = None,
    precision: Precision = None,
    device: str | None = None,
) -> tuple[Any, Any]: ...
def bincount(x: Array, weights: Array | None = None, minlength: int = 0, *, device: str | None = None) -> Any: ...
def centroid_update(x: Array, labels: Array, num_clusters: int) -> tuple[Any, Any]: ...
def histogram(
    x: Array,
    bins: int | str | Sequence[float] | Array | None = 10,
    range: Sequence[float] | None = None,
    density: bool | None = None,
    weights: Array | None = None,
    *,
    device: str | None = None,
) -> tuple[Any, Any]: ...

class UniqueAllResult(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any

class UniqueCountsResult(NamedTuple):
    values: Any
    counts: Any

class UniqueInverseResult(NamedTuple):
    values: Any
    inverse_indices: Any

def unique_all(x: Array, /, *, device: str | None = None) -> UniqueAllResult: ...
def unique_counts(x: Array, /, *, device: str | None = None) -> UniqueCountsResult: ...
def unique_inverse(x: Array, /, *, device: str | None = None) -> UniqueInverseResult: ...
def unique_values(x: Array, /, *, device: str | None = None) -> Any: ...

class Stream:
    def __init__(
        self,
        op: str,
        dtype: DType,
        *,
        start: int = 0,
        masked: bool = False,
        result_dtype: DType = None,
        initial: Number | None = None,
        ddof: float | None = None,
        correction: float | None = None,
        ord: float | None = None,
        precision: Precision = None,
    ) -> None: ...
    def push(self, x: Array, /, *, where: Array | None = None) -> None: ...
    def merge(self, other: Stream) -> None: ...
    def finish(self) -> Any: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, bytes: bytes) -> Stream: ...
    @property
    def count(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def op(self) -> str: ...

class Spans:
    def __init__(
        self,
        op: str,
        dtype: DType,
        shape: Sequence[int] = (),
        *,
        masked: bool = False,
        result_dtype: DType = None,
        initial: Number | None = None,
        ddof: float | None = None,
        correction: float | None = None,
        ord: float | None = None,
        precision: Precision = None,
    ) -> None: ...
    def add(
        self,
        x: Array,
        axis: Axis = None,
        start: int | Sequence[int] | None = None,
        total: int | Sequence[int] | None = None,
        *,
        where: Array | None = None,
        threads: int | None = None,
    ) -> None: ...
    def merge(self, *others: Spans) -> None: ...
    def finish(self, total: int) -> Any: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, bytes: bytes) -> Spans: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ranges(self) -> list[tuple[int, int]]: ...
    @property
    def op(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
