"""Arrays that are neither NumPy's nor lent by DLPack, as arrays of NumPy: values without a copy, nulls as masks.

The native module calls these functions. Nothing here is imported before it is needed: a library whose array is given
has been imported already.
"""

import sys

import numpy as np

# Warpfold's names of dtypes whose usual names are others.
LONG_NAMES = {
    "bool": "bool",
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
    **{f"f{n}": f"float{n}" for n in (16, 32, 64)},
    "bf16": "bfloat16",
}


def adapt(x):
    """The values of `x` as an array of NumPy, where they are present (None: everywhere), and how results are wrapped.

    The last is a function of a result and the axes, or None if results are NumPy's.
    """
    kind = type(x)
    if kind in (list, tuple, int, float, bool):
        return _asarray(x), None, None
    module = kind.__module__.partition(".")[0]
    if module == "pandas":
        return _pandas(x)
    if module == "polars":
        return _polars(x)
    if module == "pyarrow":
        return _pyarrow(x)
    if isinstance(x, np.ma.MaskedArray):
        return _masked(x)
    if isinstance(x, np.ndarray):
        return np.asarray(x), None, None
    return _asarray(x), None, None


def _asarray(x):
    try:
        return np.asarray(x)
    except ValueError as error:
        raise TypeError(f"{type(x).__name__} is no array: {error}") from error


def _masked(x):
    data = x.view(np.ndarray) if type(x) is np.ma.MaskedArray else np.asarray(x.data)
    mask = np.ma.getmask(x)
    if mask is np.ma.nomask:
        return data, None, lambda result, axis: result if np.ndim(result) == 0 else np.ma.array(result)
    present = ~mask

    def wrap(result, axis):
        axes = axis if axis is None else tuple(np.atleast_1d(axis).tolist())
        found = np.any(present, axis=axes, keepdims=np.ndim(result) == x.ndim and x.ndim > 0)
        if np.ndim(result) == 0:
            return result if found else np.ma.masked
        return np.ma.array(result, mask=~found)

    return data, present, wrap


def _pandas(x):
    array = getattr(x, "array", x)
    # Nullable dtypes hold values and a mask side by side.
    values, mask = getattr(array, "_data", None), getattr(array, "_mask", None)
    if isinstance(values, np.ndarray) and isinstance(mask, np.ndarray):
        return values, (~mask if mask.any() else None), None
    if hasattr(array, "__arrow_array__") and type(array).__name__.startswith("Arrow"):
        return _pyarrow(array.__arrow_array__())
    return x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x), None, None


def _polars(x):
    if type(x).__name__ != "Series":
        return x.to_numpy(), None, None
    if x.null_count() == 0:
        return x.to_numpy(), None, None
    # Nulls need values in their places, which Arrow's buffers have.
    return x.fill_null(0).to_numpy(), x.is_not_null().to_numpy(), None


def _pyarrow(x):
    import pyarrow as pa
    import pyarrow.compute as compute

    if isinstance(x, pa.Scalar):
        x = pa.array([x.as_py()], x.type)
    if isinstance(x, pa.ChunkedArray):
        x = x.chunk(0) if x.num_chunks == 1 else x.combine_chunks()
        if isinstance(x, pa.ChunkedArray):
            x = pa.concat_arrays(x.chunks) if x.num_chunks else pa.array([], x.type)
    if not isinstance(x, pa.Array):
        raise TypeError(f"pyarrow's {type(x).__name__} is no array: give a column of it")
    kind = x.type
    if pa.types.is_boolean(kind):
        values = (x.fill_null(False) if x.null_count else x).to_numpy(zero_copy_only=False)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        data = x.buffers()[1]
        dtype = np.dtype(kind.to_pandas_dtype())
        values = np.frombuffer(data, dtype, len(x), x.offset * dtype.itemsize) if len(x) else np.empty(0, dtype)
    else:
        raise TypeError(f"warpfold has no dtype {kind}: cast the column to numbers first")
    present = compute.is_valid(x).to_numpy(zero_copy_only=False) if x.null_count else None
    return values, present, None


def both(own, given):
    """The mask where two masks of any libraries are true."""
    return np.logical_and(np.asarray(own), np.asarray(given))


def dtype_name(dtype):
    """The name of a dtype of any library, as Warpfold reads it."""
    if isinstance(dtype, str) and dtype in ("bfloat16", "bf16"):
        return "bfloat16"
    if type(dtype).__module__ == "torch":
        return str(dtype).removeprefix("torch.")
    # What arrays of JAX have is a class with a dtype.
    return np.dtype(getattr(dtype, "dtype", dtype) if not isinstance(dtype, (str, np.dtype, type)) else dtype).name


def store(out, result):
    """Writes a result to the array `out`, which is of its shape, and returns that."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if type(out).__module__.partition(".")[0] == "torch":
        if tuple(out.shape) != tuple(result.shape):
            raise ValueError(f"out has shape {tuple(out.shape)}, the result has {tuple(result.shape)}")
        return out.copy_(result)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be an array of the kind of the argument, not {type(out).__name__}")
    if out.shape != np.shape(result):
        raise ValueError(f"out has shape {out.shape}, the result has {np.shape(result)}")
    np.copyto(out, result, casting="same_kind")
    return out


def detached(x):
    """A tensor of PyTorch without its history, where gradients are not recorded; else a TypeError. Signs are resolved."""
    if x.requires_grad and sys.modules["torch"].is_grad_enabled():
        raise TypeError(
            "the tensor requires grad, and this function does not record gradients (those of warpfold.torch do): "
            "give x.detach(), or call under torch.no_grad()"
        )
    return x.detach().resolve_neg()


def from_dlpack(like, result):
    """A result that DLPack lends, as an array of the library of `like`."""
    module = type(like).__module__.partition(".")[0]
    if module in ("jax", "jaxlib"):
        import jax.numpy

        return jax.numpy.from_dlpack(result)
    library = sys.modules.get(module)
    if hasattr(library, "from_dlpack"):
        return library.from_dlpack(result)
    if hasattr(like, "__array_namespace__"):
        return like.__array_namespace__().from_dlpack(result)
    return np.from_dlpack(result)
