#!/usr/bin/env python3
"""Reduces random arrays on a GPU through Python, as tensors of PyTorch and as arrays of CuPy and JAX, and as PyTorch's on
the host, and holds each result to the bits of the same call with NumPy's array.

    pip install warpfold torch cupy-cuda13x jax[cuda13]
    checks/gpu_python_check.py [--cases 2000] [--clusters 100] [--seconds 300] [--seed N]

Operations, dtypes, shapes (with axes of length 0 and 1), axes, keepdims, masks, initial values, ddof, dtype= and
precision= are random, and so are layouts: transposed, with steps, offset by an element, broadcast. Data have NaN,
infinities, zeros of either sign, and subnormal numbers. k-means is fitted to random points on both sides, and labels,
centers, inertia, iterations, predictions and distances are compared. The plan of each array is asked for. Libraries that are not installed are left out, and named. The
exit status is 1 after a difference, and 2 without a GPU.
"""

import argparse
import collections
import sys
import time

import numpy as np

import warpfold as wf

OPS = ["sum", "prod", "mean", "var", "std", "min", "max", "minmax", "argmin", "argmax", "any", "all", "count_nonzero",
       "logsumexp", "norm", "nansum", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "nanprod", "nanargmax"]
DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
          "uint64", "bool"]
SPREAD = ("var", "std", "nanvar", "nanstd")
# How many differences are shown.
SHOWN = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--clusters", type=int, default=100, help="cases of k-means")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    if len(wf.devices()) < 2:
        print("no GPU, or no driver")
        return 2
    libraries = installed()
    seed = arguments.seed if arguments.seed is not None else int(time.time())
    print(f"seed {seed}, {wf.devices()[1].description}, libraries {', '.join(libraries)}")
    counts, differences, refused = collections.Counter(), [], collections.Counter()
    start, case = time.monotonic(), 0
    while case < arguments.cases and time.monotonic() - start < arguments.seconds:
        rng = np.random.default_rng([seed, case])
        run(rng, libraries, f"case {case}", counts, differences, refused)
        case += 1
    for at in range(arguments.clusters):
        clusters(np.random.default_rng([seed, at, 1]), libraries, f"k-means {at}", counts, differences)
    print(f"{case} cases: " + ", ".join(f"{name} {count} results" for name, count in sorted(counts.items())))
    print("calls that the host and the GPU refuse alike: " + ", ".join(f"{n} of {w}" for w, n in refused.most_common(8)))
    for difference in differences[:SHOWN]:
        print("DIFFERENT " + difference)
    print(f"{len(differences)} differences")
    return 1 if differences else 0


def installed():
    """Functions that make an array of a library on the GPU from one of the host (a tensor of PyTorch), by name."""
    found = {}
    for name, make in (("torch on the host", on_host), ("torch", of_torch), ("cupy", of_cupy), ("jax", of_jax)):
        try:
            make(np.ones((2, 3), "f4"))
            found[name] = make
        except Exception as error:  # noqa: BLE001 (whatever a library says when it cannot)
            print(f"without {name}: {type(error).__name__} {error}".splitlines()[0])
    return found


def on_host(x):
    import torch

    return x if isinstance(x, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(x).reshape(x.shape))


def of_torch(x):
    return on_host(x).cuda()


def of_cupy(x):
    import cupy

    return cupy.asarray(x)


def of_jax(x):
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.device_put(x, jax.devices("cuda")[0])


def run(rng, libraries, case, counts, differences, refused):
    dtype, op = str(rng.choice(DTYPES)), str(rng.choice(OPS))
    x = data(rng, shape(rng), dtype)
    options, mask = arguments_of(rng, op, x, dtype)
    layout = str(rng.choice(["dense", "dense", "transposed", "steps", "offset", "broadcast"]))
    host, view = viewed(rng, x, layout, dtype)
    mask = mask_like(rng, host) if mask else None
    expected = called(op, host, options, mask)
    what = f"{case}: {op} {dtype} {tuple(host.shape)} {layout} {options} mask {mask is not None}"
    for name, make in libraries.items():
        if dtype == "bfloat16" and not name.startswith("torch"):
            continue
        try:
            on_gpu = view(make(x))
        except (TypeError, ValueError, NotImplementedError) as error:
            refused[f"{name}'s own {layout}: {type(error).__name__}"] += 1
            continue
        found = called(op, on_gpu, options, None if mask is None else make(mask))
        if isinstance(expected, Exception) or isinstance(found, Exception):
            if type(expected) is not type(found):
                differences.append(f"{name} {what}: host {expected!r}, GPU {found!r}")
            else:
                refused[type(found).__name__] += 1
            continue
        counts[name] += 1
        for ours, on_host in zip(found, expected):
            if ours != on_host:
                differences.append(f"{name} {what}: host {on_host[:2]}, GPU {ours[:2]}")
                break


def clusters(rng, libraries, case, counts, differences):
    """k-means of random points by each library, beside NumPy's."""
    n, width, k = int(rng.integers(40, 4000)), int(rng.integers(1, 40)), int(rng.integers(1, 40))
    dtype, transposed = str(rng.choice(["float32", "float64", "float16"])), bool(rng.random() < 0.3)
    x = rng.standard_normal((width, n) if transposed else (n, width)).astype(dtype)
    view = (lambda a: a.T) if transposed else (lambda a: a)
    init = str(rng.choice(["k-means++", "random"]))
    settings = {"init": init, "n_init": 1, "max_iter": int(rng.integers(1, 12)), "random_state": int(rng.integers(1000))}

    def found(points):
        fitted = wf.KMeans(k, **settings).fit(points)
        arrays = (fitted.labels_, fitted.cluster_centers_, fitted.predict(points), fitted.transform(points))
        return [plain(array) for array in arrays] + [fitted.inertia_, fitted.n_iter_, fitted.score(points)]

    expected = found(view(x))
    for name, make in libraries.items():
        points = view(make(x))
        if name == "jax":
            # JAX's arrays have no layout of their own: this is a copy.
            points = points + 0
        try:
            results = found(points)
            if name != "torch on the host" and "kernel" not in wf.explain("sum", points, 0):
                differences.append(f"{name} {case}: a plan without a kernel")
        except Exception as error:  # noqa: BLE001 (the host has a result)
            differences.append(f"{name} {case} {dtype} {(n, width, k)} {settings}: {error!r}")
            continue
        counts[f"{name}, k-means"] += len(results)
        for what, ours, on_host in zip("labels centers predict transform inertia n_iter score".split(), results, expected):
            if ours != on_host:
                differences.append(f"{name} {case} {dtype} {(n, width, k)} {settings}: {what}")


def shape(rng):
    rank = int(rng.integers(0, 5))
    most = [1 << 18, 1 << 18, 700, 70, 24][rank]
    return tuple(int(n) for n in np.where(rng.random(rank) < 0.15, rng.integers(0, 2, rank),
                                          np.exp(rng.uniform(0, np.log(most), rank)).astype(int)))


def data(rng, dims, dtype):
    """Numbers of a dtype, with what is hard among them; of bfloat16 a tensor of PyTorch."""
    if dtype == "bool":
        return np.asarray(rng.random(dims) < rng.choice([0.01, 0.5, 0.99]))
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        small = rng.random() < 0.5
        low, high = (0 if info.min == 0 else -3, 4) if small else (info.min, info.max)
        return np.asarray(rng.integers(low, high, dims, dtype=dtype))
    x = rng.standard_normal(dims) * rng.choice([1e-3, 1.0, 100.0])
    if rng.random() < 0.3:
        hard = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e-40, 6e4])
        x = np.where(rng.random(dims) < 0.05, hard, x)
    if dtype == "bfloat16":
        import torch

        return torch.from_numpy(np.asarray(x, "f4").reshape(dims)).bfloat16()
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(dtype).reshape(dims)


def arguments_of(rng, op, x, dtype):
    rank = len(x.shape)
    options = {}
    axis = rng.integers(0, 4)
    if axis == 1 and rank:
        options["axis"] = int(rng.integers(-rank, rank))
    elif axis > 1 and rank and "arg" not in op:
        count = int(rng.integers(0, rank + 1))
        options["axis"] = tuple(int(i) for i in rng.permutation(rank)[:count])
    if rng.random() < 0.3:
        options["keepdims"] = True
    if op in SPREAD and rng.random() < 0.5:
        options["ddof"] = int(rng.integers(0, 3))
    if op in ("sum", "nansum", "prod", "mean") and rng.random() < 0.2:
        options["dtype"] = str(rng.choice(["float64", "float32"]))
    if op in ("sum", "prod", "max", "min") and dtype.startswith("f") and rng.random() < 0.2:
        options["initial"] = 1.5
    if op in ("sum", "mean", "var") and dtype.startswith("f") and rng.random() < 0.15:
        options["precision"] = "compensated"
    return options, rng.random() < 0.2 and "arg" not in op


def viewed(rng, x, layout, dtype):
    """The array in a layout, and the function that gives another library's the same."""
    rank = len(x.shape)
    if layout == "transposed" and rank > 1:
        order = tuple(int(i) for i in rng.permutation(rank))
        view = lambda a: a.permute(order) if hasattr(a, "permute") else a.transpose(order)  # noqa: E731
    elif layout == "steps" and rank:
        cut = tuple(slice(None, None, int(rng.integers(1, 4))) for _ in range(rank))
        view = lambda a: a[cut]  # noqa: E731
    elif layout == "offset" and rank:
        view = lambda a: a[..., 1:]  # noqa: E731
    elif layout == "broadcast" and rank:
        dims = (3, *x.shape)
        view = lambda a: a.expand(dims) if hasattr(a, "expand") else library(a).broadcast_to(a, dims)  # noqa: E731
    else:
        view = lambda a: a  # noqa: E731
    return view(x), view


def library(array):
    """The namespace of an array of NumPy, CuPy or JAX."""
    name = type(array).__module__.partition(".")[0]
    return {"cupy": sys.modules.get("cupy"), "jaxlib": sys.modules.get("jax.numpy")}.get(name, np)


def mask_like(rng, host):
    dims = tuple(host.shape)
    if len(dims) and rng.random() < 0.3:
        # It is broadcast.
        dims = dims[-1:]
    return np.asarray(rng.random(dims) < rng.choice([0.1, 0.9]))


def called(op, x, options, mask):
    """The bytes, the shape and the dtype of each result; or the exception."""
    if mask is not None:
        import torch

        if isinstance(x, torch.Tensor) and not isinstance(mask, torch.Tensor):
            mask = torch.from_numpy(mask)
        options = {**options, "where": mask}
    try:
        found = getattr(wf, op)(x, **options)
    except Exception as error:  # noqa: BLE001 (compared with the other side's)
        return error
    return [plain(part) for part in (found if isinstance(found, tuple) else (found,))]


def plain(result):
    if hasattr(result, "detach"):
        import torch

        result = result.detach().cpu()
        dtype = str(result.dtype).removeprefix("torch.")
        if result.dtype == torch.bfloat16:
            result = result.view(torch.int16)
        return np.asarray(result.numpy()).tobytes(), tuple(result.shape), dtype
    result = np.asarray(result.get() if hasattr(result, "get") else result)
    return result.tobytes(), tuple(result.shape), str(result.dtype)


if __name__ == "__main__":
    sys.exit(main())
