"""The types of `warpfold.dask`. Results are dask arrays; of other arrays, what `warpfold` gives."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

_Axis: TypeAlias = int | tuple[int, ...] | list[int] | None
_Precision: TypeAlias = Literal["tree", "compensated"] | None
_Every: TypeAlias = int | Mapping[int, int] | None

class _Total(Protocol):
    def __call__(
        self,
        x: Any,
        axis: _Axis = None,
        dtype: Any = None,
        keepdims: bool = False,
        initial: float | None = None,
        where: Any = None,
        *,
        precision: _Precision = None,
        split_every: _Every = None,
    ) -> Any: ...

class _Mean(Protocol):
    def __call__(
        self,
        x: Any,
        axis: _Axis = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        where: Any = None,
        precision: _Precision = None,
        split_every: _Every = None,
    ) -> Any: ...

class _Deviation(Protocol):
    def __call__(
        self,
        x: Any,
        axis: _Axis = None,
        dtype: Any = None,
        ddof: float | None = None,
        keepdims: bool = False,
        *,
        where: Any = None,
        correction: float | None = None,
        precision: _Precision = None,
        split_every: _Every = None,
    ) -> Any: ...

class _Norm(Protocol):
    def __call__(
        self,
        x: Any,
        axis: _Axis = None,
        *,
        ord: float | None = None,
        dtype: Any = None,
        keepdims: bool = False,
        where: Any = None,
        precision: _Precision = None,
        split_every: _Every = None,
    ) -> Any: ...

class _Extremum(Protocol):
    def __call__(
        self,
        x: Any,
        axis: _Axis = None,
        keepdims: bool = False,
        initial: float | None = None,
        where: Any = None,
        *,
        split_every: _Every = None,
    ) -> Any: ...

class _Truth(Protocol):
    def __call__(
        self,
        x: Any,
        axis: _Axis = None,
        keepdims: bool = False,
        *,
        where: Any = None,
        split_every: _Every = None,
    ) -> Any: ...

class _Place(Protocol):
    def __call__(
        self,
        x: Any,
        axis: _Axis = None,
        *,
        keepdims: bool = False,
        where: Any = None,
        split_every: _Every = None,
    ) -> Any: ...

class _Pair(Protocol):
    def __call__(
        self,
        x: Any,
        axis: _Axis = None,
        *,
        keepdims: bool = False,
        where: Any = None,
        split_every: _Every = None,
    ) -> tuple[Any, Any]: ...

sum: _Total
prod: _Total
nansum: _Total
nanprod: _Total
mean: _Mean
nanmean: _Mean
logsumexp: _Mean
nanlogsumexp: _Mean
var: _Deviation
std: _Deviation
nanvar: _Deviation
nanstd: _Deviation
norm: _Norm
nannorm: _Norm
min: _Extremum
max: _Extremum
nanmin: _Extremum
nanmax: _Extremum
any: _Truth
all: _Truth
count_nonzero: _Truth
argmin: _Place
argmax: _Place
nanargmin: _Place
nanargmax: _Place
minmax: _Pair

def group_by(
    values: Any,
    labels: Any,
    op: str | Sequence[str] | None = None,
    num_groups: int | None = None,
    *,
    fill: float | None = None,
    dtype: Any = None,
    where: Any = None,
    ddof: float | None = None,
    precision: _Precision = None,
    split_every: int | None = None,
) -> Any: ...
