"""What the native module asks libraries with arrays on a GPU: their current stream, memory for results.

PyTorch and CuPy are known by name. Of other libraries (JAX, Numba) results are in memory of Warpfold's own.
"""

import sys

from . import _adapt

# The driver's handle of the legacy default stream, as DLPack numbers it.
LEGACY = 1


def _library(x):
    return type(x).__module__.partition(".")[0]


def streams(x, device):
    """The handle of the stream that work on `x` is to be queued on, and the stream that `__dlpack__` is told."""
    library = _library(x)
    if _is_torch(x):
        # -1: the array's library has nothing to do, since this is its own current stream.
        return sys.modules["torch"].cuda.current_stream(device).cuda_stream, -1
    if library == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr, -1
    # The lender lets this stream wait for what computes the array.
    return LEGACY, LEGACY


def _is_torch(x):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def empty(like, shape, dtype):
    """New memory of the library of `like`, in C order: an array and its address. None if that library cannot."""
    name = _adapt.LONG_NAMES[dtype]
    if _is_torch(like):
        torch = sys.modules["torch"]
        array = torch.empty(shape, dtype=getattr(torch, name), device=like.device)
        return array, array.data_ptr()
    if _library(like) == "cupy" and dtype != "bf16":
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(like.device.id):
            array = cupy.empty(shape, dtype=name)
        return array, array.data.ptr
    return None


def section(room, start, end, dtype, shape):
    """Some of the bytes of `room` as an array of their own, in the same memory."""
    name = _adapt.LONG_NAMES[dtype]
    part = room[start:end]
    part = part.view(getattr(sys.modules["torch"], name) if _is_torch(room) else name)
    return part.reshape(shape)


def record(x, device):
    """Lets the library keep the memory of `x` until its current stream has read it. Whether it does."""
    if _is_torch(x):
        x.record_stream(sys.modules["torch"].cuda.current_stream(device))
        return True
    return False


def dense(x):
    """A copy of `x` whose elements lie side by side in C order, in memory of its library."""
    if _is_torch(x):
        return x.contiguous()
    if _library(x) == "cupy":
        return sys.modules["cupy"].ascontiguousarray(x)
    raise TypeError(f"the elements of {type(x).__name__} do not lie side by side in C order: copy the array first")


def halves(result):
    """The two halves of a minmax."""
    return result[..., 0], result[..., 1]


def store(out, result):
    """Writes a result to the array `out`, which is of its shape, and returns that."""
    if _library(out) == "cupy":
        if out.shape != result.shape:
            raise ValueError(f"out has shape {out.shape}, the result has {result.shape}")
        out[...] = result
        return out
    return _adapt.store(out, result)
