"""The types of pooling, `top_k` and `sample`."""

from typing import Any, Literal, NamedTuple, TypeAlias, overload

Array: TypeAlias = Any
Numbers: TypeAlias = int | tuple[int, ...] | list[int]

class MaxPool(NamedTuple):
    values: Any
    indices: Any

class TopK(NamedTuple):
    values: Any
    indices: Any

@overload
def max_pool(
    x: Array,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    *,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Any: ...
@overload
def max_pool(
    x: Array,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    *,
    ceil_mode: bool = False,
    return_indices: Literal[True],
) -> MaxPool: ...
def max_pool_backward(
    gradient: Array,
    indices: Array,
    size: Numbers,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    *,
    ceil_mode: bool = False,
) -> Any: ...
def avg_pool(
    x: Array,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any: ...
def avg_pool_backward(
    gradient: Array,
    size: Numbers,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any: ...
def top_k(x: Array, k: int, axis: int = -1, largest: bool = True) -> TopK: ...
def sample(logits: Array, noise: Array, axis: int = -1, *, temperature: float = 1.0) -> Any: ...
