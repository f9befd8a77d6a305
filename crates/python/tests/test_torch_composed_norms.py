"""What `warpfold.torch` composes of norms of channels and of `topk` on a GPU: on the CPU, beside its own kernels."""

import pytest
from test_torch_composed import DTYPES, Random, same

import warpfold as wf
from warpfold import _native

torch = pytest.importorskip("torch")
from warpfold.torch import _composed_norms as composed  # noqa: E402


# PyTorch's roots of float64 on a CPU are not all rounded once; those on a GPU are.
ROUNDED = [dtype for dtype in DTYPES if dtype != torch.float64]


def given(rng, shape, dtype, special, count):
    """Elements, a gradient, and numbers of channels, of which some may be missing."""
    x, gradient = (rng.tensor(*shape, dtype=dtype, special=special) for _ in range(2))
    numbers = [rng.tensor(shape[1], dtype=dtype) if rng.number(4) else None for _ in range(count)]
    return x, gradient, *numbers


def all_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            same(one, other)
            assert one.is_contiguous()


@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("seed", range(16))
def test_group_norm(dtype, seed):
    rng = Random(seed)
    groups = 1 + rng.number(4)
    shape = [1 + rng.number(5), groups * (1 + rng.number(4)), *[(7,), (), (3, 50), (0,)][seed % 4]]
    x, gradient, weight, bias = given(rng, shape, dtype, seed % 5 == 4, 2)
    eps = [1e-5, 0.3][seed % 2]
    same(composed.group_norm(x, groups, weight, bias, eps), wf.group_norm(x, groups, weight, bias, epsilon=eps))
    found = composed.group_norm_backward(x, gradient, groups, weight, bias, eps)
    all_same(found, _native.group_norm_backward(x, gradient, groups, weight, bias, eps, 0.0))
    frozen = composed.group_norm_backward(x, gradient, groups, weight, bias, eps, True)
    all_same(frozen, (found[0], None, found[2]))


@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("seed", range(16))
def test_batch_norm(dtype, seed):
    rng = Random(seed + 100)
    shape = [1 + rng.number(9), 1 + rng.number(7), *[(7,), (), (3, 50), (0,)][seed % 4]]
    x, gradient, weight, bias = given(rng, shape, dtype, seed % 5 == 4, 2)
    statistics = None, None
    if rng.number(2):
        statistics = rng.tensor(shape[1], dtype=dtype), rng.tensor(shape[1], dtype=dtype).abs()
    eps = [1e-5, 0.3][seed % 2]
    found = composed.batch_norm(x, weight, bias, *statistics, 1, eps)
    all_same(found, _native.batch_norm(x, weight, bias, *statistics, 1, eps))
    found = composed.batch_norm_backward(x, gradient, 1, eps, weight, bias, *statistics)
    all_same(found, _native.batch_norm_backward(x, gradient, 1, eps, weight, bias, *statistics))
    frozen = composed.batch_norm_backward(x, gradient, 1, eps, weight, bias, *statistics, True)
    all_same(frozen, (found[0], None, found[2]))


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


def test_what_is_refused():
    x = torch.ones(2, 6, 3)
    with pytest.raises(ValueError, match="groups"):
        composed.group_norm(x, 4, None, None, 1e-5)
    with pytest.raises(ValueError, match="weight"):
        composed.group_norm(x, 2, torch.ones(5), None, 1e-5)
    with pytest.raises(ValueError, match="mean"):
        composed.batch_norm(x, None, None, torch.ones(5), torch.ones(6), 1, 1e-5)
