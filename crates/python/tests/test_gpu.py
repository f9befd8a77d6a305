"""Arrays on a GPU. Without one: that they are recognised, and what is said. With PyTorch or CuPy and a GPU: the bits of
the CPU, on the current stream, in memory of the library."""

import numpy as np
import pytest
from conftest import bits

import warpfold as wf

HAS_GPU = len(wf.devices()) > 1
OPS = ["sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero", "logsumexp",
       "norm", "nansum", "nanmax"]


class Interface:
    """An array that says that it is on a GPU."""

    def __init__(self, **changes):
        found = {"shape": (2, 3), "typestr": "<f4", "data": (1 << 40, True), "version": 3, "strides": None, **changes}
        self.__dict__["found"] = found

    @property
    def __cuda_array_interface__(self):
        return self.found


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU, and the address is not of its memory")
def test_without_a_driver():
    for call in (lambda: wf.sum(Interface()), lambda: wf.max(Interface(), axis=0, where=Interface(typestr="|b1"))):
        with pytest.raises(wf.Error, match="driver|GPU"):
            call()


def test_what_is_refused_of_arrays_on_a_gpu():
    for wrong in (
        Interface(typestr="<c8"),
        Interface(typestr=">f4"),
        Interface(typestr=""),
        Interface(shape=None),
        Interface(data=None),
        Interface(mask=Interface()),
    ):
        with pytest.raises(TypeError):
            wf.sum(wrong)
    with pytest.raises(TypeError, match="mask"):
        wf.sum(Interface(), where=np.ones((2, 3), bool))
    with pytest.raises(ValueError, match="cuda:0"):
        wf.sum(Interface(), device="cpu")


def torch_with_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    return torch


@pytest.mark.parametrize("op", OPS)
def test_torch_has_the_bits_of_the_cpu(op, rng):
    torch = torch_with_gpu()
    for shape, axis in [((300, 70), 0), ((300, 70), 1), ((1000,), None), ((7, 8, 9), (0, 2)), ((), None)]:
        x = (rng.standard_normal(shape) * 3).astype("f4")
        on_gpu = torch.as_tensor(x).cuda()
        found = getattr(wf, op)(on_gpu, axis)
        assert isinstance(found, torch.Tensor) and found.device == on_gpu.device
        assert bits(found.cpu().numpy()) == bits(getattr(wf, op)(x, axis)), shape
        if len(shape) == 2:
            found = getattr(wf, op)(on_gpu.T[:, ::2], axis)
            assert bits(found.cpu().numpy()) == bits(getattr(wf, op)(x.T[:, ::2], axis))


def test_torch_options(rng):
    torch = torch_with_gpu()
    x = torch.rand(50, 60, device="cuda")
    host = x.cpu().numpy()
    assert bits(wf.sum(x, 0, where=x > 0.5).cpu().numpy()) == bits(wf.sum(host, 0, where=host > 0.5))
    assert wf.sum(x.bfloat16(), keepdims=True).shape == (1, 1)
    least, greatest = wf.minmax(x, 0)
    assert torch.equal(least, x.amin(0)) and torch.equal(greatest, x.amax(0))
    out = torch.zeros(60, device="cuda")
    assert wf.max(x, 0, out=out) is out and torch.equal(out, x.amax(0))
    with pytest.raises(ValueError):
        wf.nanargmax(torch.full((3,), float("nan"), device="cuda"))
    with pytest.raises(ValueError):
        wf.sum(x, device="cpu")
    with pytest.raises(TypeError, match="detach"):
        wf.sum(x.requires_grad_())


def test_torch_streams_and_memory():
    torch = torch_with_gpu()
    side = torch.cuda.Stream()
    for _ in range(50):
        with torch.cuda.stream(side):
            # The sum is queued behind what computes the array, and the memory of the array is used again at once.
            x = torch.full((1 << 20,), 1.0, device="cuda")
            total = wf.sum(x + 1)
            del x
            torch.full((1 << 20,), float("nan"), device="cuda")
        side.synchronize()
        assert total.item() == 1 << 21


def test_cupy(rng):
    cupy = pytest.importorskip("cupy")
    if not HAS_GPU:
        pytest.skip("no GPU")
    x = rng.standard_normal((300, 70)).astype("f4")
    for op in OPS:
        found = getattr(wf, op)(cupy.asarray(x), 0)
        assert isinstance(found, cupy.ndarray) and bits(found.get()) == bits(getattr(wf, op)(x, 0))


def test_torch_graphs():
    torch = torch_with_gpu()
    for shape, axis in [((1000,), None), ((1 << 22,), None), ((300, 7000), 0)]:
        x = torch.zeros(shape, device="cuda")
        wf.sum(x, axis)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            total = wf.sum(x, axis)
        for value in (1.0, 3.0):
            x.fill_(value)
            graph.replay()
            assert torch.equal(total, x.sum() if axis is None else x.sum(axis))
