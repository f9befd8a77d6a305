"""The types of the package. Results are of the kind of the argument: an array, or a scalar of NumPy."""

from typing import Any, Literal, TypeAlias

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
