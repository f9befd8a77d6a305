"""What `warpfold.torch` composes of `topk` on a GPU: on the CPU, beside its own."""

import pytest
from test_torch_composed import DTYPES, Random, same

from warpfold import _native

torch = pytest.importorskip("torch")
from warpfold.torch import _composed_topk as composed  # noqa: E402


def all_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        same(one, other)
        assert one.is_contiguous()


@pytest.mark.parametrize("dtype", [*DTYPES, torch.int8, torch.uint8, torch.int64, torch.bool])
@pytest.mark.parametrize("largest", [True, False])
def test_topk(dtype, largest):
    for seed in range(12):
        rng = Random(seed)
        shape = [[30], [4, 9], [7, 3, 5], [3, 0]][seed % 4]
        axis = rng.number(len(shape)) - [0, len(shape)][seed % 2]
        x = rng.tensor(*shape, special=True) * 2
        if not dtype.is_floating_point:
            x = x.nan_to_num(0, 9, -9).abs() if dtype == torch.uint8 else x.nan_to_num(0, 9, -9)
        x = x.to(dtype)
        for k in {0, min(1, shape[axis]), shape[axis] // 2, shape[axis]}:
            all_same(composed.topk(x, k, axis, largest), _native.top_k(x, k, axis, largest))
        with pytest.raises(ValueError, match="k is"):
            composed.topk(x, shape[axis] + 1, axis, largest)
