"""Windows, norms of channels and `topk` of arrays on a GPU. Without one: that they are recognised, and what is said."""

import numpy as np
import pytest
from test_gpu import HAS_GPU, Interface, torch_with_gpu
from test_gpu_rows import equal

import warpfold as wf


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU, and the address is not of its memory")
def test_without_a_driver():
    x, indices = Interface(shape=(2, 6)), Interface(shape=(2, 3), typestr="<i8")
    for call in (
        lambda: wf.max_pool(x, 2),
        lambda: wf.max_pool(x, 2, return_indices=True),
        lambda: wf.max_pool_backward(Interface(shape=(2, 3)), indices, 6, 2),
        lambda: wf.avg_pool(x, 2),
        lambda: wf.avg_pool_backward(Interface(shape=(2, 3)), 6, 2),
        lambda: wf.top_k(x, 2),
    ):
        with pytest.raises(wf.Error, match="driver|GPU"):
            call()


def test_what_is_refused():
    x, host = Interface(shape=(2, 3)), np.zeros((2, 3), "i8")
    with pytest.raises(TypeError, match="GPU"):
        wf.max_pool_backward(x, host, 6, 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_torch_has_the_bits_of_the_cpu(dtype):
    torch = torch_with_gpu()
    for seed in range(12):
        of = torch.Generator().manual_seed(seed)
        x = torch.randn(2, 6, 9 + seed, 20, generator=of)
        x.view(-1)[:: 50 + seed] = [torch.nan, -0.0, torch.inf][seed % 3]
        x = x.to(getattr(torch, dtype))
        if seed % 2:
            x = x.to(memory_format=torch.channels_last)
        weight, bias = (torch.randn(6, generator=of).to(x.dtype) for _ in range(2))
        for call in (
            lambda x, w, b: wf.max_pool(x, (3, 3), (2, 1), 1),
            lambda x, w, b: wf.max_pool(x, (2, 3), return_indices=True)[1],
            lambda x, w, b: wf.max_pool(x, (9 + seed, 20), return_indices=True)[1],
            lambda x, w, b: wf.avg_pool(x, (9 + seed, 20)),
            lambda x, w, b: wf.avg_pool(x, (9, 9), 2, ceil_mode=True),
            lambda x, w, b: wf.torch.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            lambda x, w, b: wf.torch.group_norm(x, 3, w, b),
            lambda x, w, b: wf.torch.batch_norm(x, b.float(), w.float().abs(), w, b),
            lambda x, w, b: wf.torch.batch_norm(x, None, None, w, b, training=True),
            lambda x, w, b: wf.group_norm(x, 2, w, weight_offset=1.0),
            lambda x, w, b: wf.group_norm_backward(x, x * 2, 2, w, b).x,
            lambda x, w, b: wf.group_norm_backward(x, x * 2, 2, w, b).weight,
            lambda x, w, b: wf.batch_norm(x, w, b).y,
            lambda x, w, b: wf.batch_norm(x, bias=b).var,
            lambda x, w, b: wf.batch_norm(x.mT, None, None, 0).mean,
            lambda x, w, b: wf.batch_norm_backward(x, x.flip(0), w, b).x,
            lambda x, w, b: wf.batch_norm_backward(x, x.flip(0), w, b, mean=b, var=w.abs()).x,
            lambda x, w, b: wf.batch_norm_backward(x, x.flip(0), w, b).bias,
            lambda x, w, b: wf.torch.topk(x, 5, 2)[0],
            lambda x, w, b: wf.torch.topk(x, 18)[1],
            lambda x, w, b: wf.top_k(x.reshape(-1), 1300)[1],
            lambda x, w, b: wf.torch.topk(x, 3, 1, largest=False)[1],
        ):
            found = call(*(a.cuda() for a in (x, weight, bias)))
            assert found.is_cuda and found.is_contiguous()
            expected = call(x, weight, bias)
            assert found.dtype == expected.dtype
            equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients(dtype):
    torch = torch_with_gpu()
    of, F = torch.Generator().manual_seed(1), wf.torch
    x = torch.randn(3, 4, 11, 12, generator=of).to(getattr(torch, dtype))
    weight, bias = (torch.randn(4, generator=of).to(x.dtype) for _ in range(2))
    for call in (
        lambda x, w, b: F.max_pool2d(x, 3, 2, 1),
        lambda x, w, b: F.max_pool2d(x, (2, 3), 1, 1, 2),
        lambda x, w, b: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
        lambda x, w, b: F.avg_pool2d(x, (11, 12)),
        lambda x, w, b: F.group_norm(x, 2, w, b),
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: F.batch_norm(x, b.detach(), w.detach().abs(), w, b),
        lambda x, w, b: F.topk(x, 3, 1)[0],
    ):
        results = []
        for where in ("cpu", "cuda"):
            given = [a.detach().to(where).requires_grad_() for a in (x, weight, bias)]
            found = call(*given)
            upstream = torch.randn(found.shape, generator=torch.Generator().manual_seed(2)).to(found)
            pulled = torch.autograd.grad(found, given, upstream, allow_unused=True)
            results.append([found, *(g for g in pulled if g is not None)])
        for found, expected in zip(*reversed(results), strict=True):
            assert found.is_cuda
            equal(found, expected)


def test_what_other_libraries_have():
    torch = torch_with_gpu()
    cupy = pytest.importorskip("cupy")
    x = np.random.default_rng(3).normal(size=(5, 12, 13)).astype("f4")
    found = wf.max_pool(cupy.asarray(x), (3, 2), return_indices=True)
    expected = wf.max_pool(x, (3, 2), return_indices=True)
    assert all(isinstance(of, cupy.ndarray) for of in found)
    assert all((of.get() == want).all() for of, want in zip(found, expected))
    found, expected = (wf.batch_norm(of, axis=2) for of in (cupy.asarray(x), x))
    assert all(isinstance(of, cupy.ndarray) for of in found)
    assert all((of.get() == want).all() for of, want in zip(found, expected))
    with pytest.raises(ValueError, match="groups"):
        wf.group_norm(cupy.asarray(x), 5)
    with pytest.raises(ValueError, match="shape"):
        wf.batch_norm(cupy.asarray(x), cupy.ones(3, "f4"))
    with pytest.raises(TypeError, match="floats"):
        wf.batch_norm(cupy.ones((3, 4), "i4"))
    with pytest.raises(ValueError, match="padding"):
        wf.max_pool(cupy.asarray(x), 2, padding=2)
    with pytest.raises(TypeError, match="float"):
        wf.max_pool(torch.ones(3, 4, dtype=torch.int32, device="cuda"), 2)
    assert wf.avg_pool(torch.ones(0, 4, device="cuda"), 2).shape == (0, 2)


@pytest.mark.parametrize(
    "dtype", ["float32", "bfloat16", "float16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"]
)
def test_top_k_has_the_results_of_the_cpu(dtype):
    torch = torch_with_gpu()
    of = torch.Generator().manual_seed(5)
    for shape, k, axis in [
        ((3000, 64), 8, 1),
        ((2000, 200), 64, 1),
        ((7, 5, 1500), 100, -1),
        ((40, 1001, 3), 5, 1),
        ((5, 20000), 1500, 1),
        ((300_001,), 50, 0),
        ((3, 9000), 9000, 1),
    ]:
        x = torch.randn(shape, generator=of) * 40
        x.view(-1)[::97] = torch.nan
        x.view(-1)[::101] = -0.0
        x = (x.nan_to_num() > 0) if dtype == "bool" else x.nan_to_num().to(getattr(torch, dtype)) if "int" in dtype else x
        x = x.to(getattr(torch, dtype))
        for largest in (True, False):
            found, expected = (wf.torch.topk(of, k, axis, largest) for of in (x.cuda(), x))
            assert found.values.is_cuda and found.values.dtype == x.dtype
            equal(found.values, expected.values)
            equal(found.indices, expected.indices)
    with pytest.raises(ValueError, match="top_k with k 4"):
        wf.torch.topk(torch.ones(3, device="cuda"), 4)
