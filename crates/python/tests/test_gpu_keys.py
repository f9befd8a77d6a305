"""By key, `describe` and the update step of k-means of arrays on a GPU (k-means: `test_gpu_kmeans.py`). Without one: what is refused, in which words.
With PyTorch or CuPy and a GPU: the bits of the CPU, in memory of the library, on any stream."""

import gc

import numpy as np
import pytest
from conftest import bits, cases
from test_gpu import HAS_GPU, Interface, torch_with_gpu

import warpfold as wf

OPS = ["sum", "prod", "mean", "var", "std", "min", "max", "minmax", "argmin", "argmax", "any", "all", "count_nonzero",
       "logsumexp", "norm", "nansum"]
# What has no kernel by key of integers.
FLOATS_ONLY = {"prod", "var", "std", "norm", "logsumexp"}
DTYPES = ["f2", "f4", "f8", "i1", "i4", "i8", "u1", "?"]


@pytest.fixture(params=["torch", "cupy"])
def library(request):
    """Functions to the GPU and back, of a library."""
    if request.param == "torch":
        torch = torch_with_gpu()
        return (lambda x: torch.from_numpy(np.array(x, order="C")).cuda()), (lambda x: x.cpu().numpy())
    cupy = pytest.importorskip("cupy")
    if not HAS_GPU:
        pytest.skip("no GPU")
    return cupy.asarray, (lambda x: x.get())


def numbers(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        return np.asarray(rng.integers(0, 100, shape)).astype(dtype)
    x = rng.standard_normal(shape) * 10
    hard = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0], shape)
    return np.where(rng.random(shape) < 0.01, hard, x).astype(dtype)


def same(back, found, expected):
    """Whether results, or dicts or tuples of them, have the bits of the host's."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = tuple(found.values()), tuple(expected.values())
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        # Results are of the library, and stay there.
        assert not isinstance(one, np.ndarray | np.generic)
        assert bits(back(one)) == bits(other)


def alike(back, call, on_gpu, on_host):
    """The same bits, or an exception of the same class. What has no kernel is `wf.Error`: that is returned."""
    try:
        expected = call(*on_host)
    except (TypeError, ValueError) as error:
        with pytest.raises((type(error), wf.Error)):
            call(*on_gpu)
        return None
    try:
        found = call(*on_gpu)
    except wf.Error as error:
        return error
    same(back, found, expected)
    return None


def test_what_is_refused():
    x, labels = Interface(shape=(3,)), Interface(shape=(3,), typestr="<i4")
    host = np.zeros(3, np.int32)
    for call in (
        lambda: wf.segmented(x, host),
        lambda: wf.group_by(x, host),
        lambda: wf.group_by(np.zeros(3), labels, ["sum", "max"]),
        lambda: wf.reduce_by_key(host, x),
        lambda: wf.bincount(labels, np.zeros(3)),
        lambda: wf.histogram(x, 3, weights=np.zeros(3)),
        lambda: wf.centroid_update(Interface(), host, 2),
    ):
        with pytest.raises(TypeError, match="move all to one"):
            call()
    mask = Interface(shape=(3,), typestr="|b1")
    for call in (
        lambda: wf.group_by(x, labels, where=mask),
        lambda: wf.segmented(x, labels, where=mask),
        lambda: wf.reduce_by_key(labels, x, where=mask),
        lambda: wf.describe(x, where=mask),
    ):
        with pytest.raises(TypeError, match="where="):
            call()
    for call in (
        lambda: wf.group_by(x, labels, device="cpu"),
        lambda: wf.unique_values(x, device="cuda:1"),
        lambda: wf.describe(x, device="cpu"),
        lambda: wf.bincount(labels, device="cpu"),
    ):
        with pytest.raises(ValueError, match="cuda:0"):
            call()
    strided = Interface(shape=(3,), strides=(8,))
    with pytest.raises(TypeError, match="side by side"):
        wf.unique_values(strided)


def test_what_only_the_host_has():
    x = Interface()
    with pytest.raises(TypeError, match="host first"):
        wf.Stream("sum", np.float32).push(x)
    with pytest.raises(TypeError, match="host first"):
        wf.sum(np.ones((2, 3), np.float32), where=Interface(typestr="|b1"))


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU, and the address is not of its memory")
def test_without_a_driver():
    x, labels = Interface(shape=(3,)), Interface(shape=(3,), typestr="<i4")
    for call in (
        lambda: wf.segmented(x, labels),
        lambda: wf.group_by(x, labels, ["sum", "first"]),
        lambda: wf.reduce_by_key(labels, x),
        lambda: wf.unique_all(x),
        lambda: wf.bincount(labels),
        lambda: wf.histogram(x),
        lambda: wf.describe(x),
        lambda: wf.centroid_update(Interface(), labels, 2),
    ):
        with pytest.raises(wf.Error, match="driver|GPU"):
            call()


def test_fillings_that_do_not_fit():
    x, labels = Interface(typestr="|b1"), Interface(typestr="<i4", shape=(2,))
    for call in (lambda: wf.segmented(x, labels, "min", fill=7), lambda: wf.group_by(x, labels, ["size", "min"], fill=7)):
        with pytest.raises(ValueError, match="fill=7 does not fit bool"):
            call()


@pytest.mark.parametrize("op", OPS)
def test_groups_and_segments(op, library, rng):
    there, back = library
    for _ in range(cases(30)):
        dtype = DTYPES[int(rng.integers(len(DTYPES)))]
        n, groups = int(rng.integers(0, 3000)), int(rng.integers(1, 60))
        shape = (n, *(int(k) for k in rng.integers(1, 5, rng.integers(0, 3))))
        x = numbers(rng, dtype, shape)
        labels = rng.integers(-1, groups, n).astype(str(rng.choice(["i4", "i8", "i2"])))
        fill = {"fill": 7} if rng.random() < 0.7 and not op.startswith("nan") else {}
        some = {} if rng.random() < 0.3 and n else {"num_groups": groups}
        error = alike(back, lambda a, b: wf.group_by(a, b, op, **some, **fill), (there(x), there(labels)), (x, labels))
        cuts = np.sort(rng.integers(0, n + 1, groups + 1)).astype(str(rng.choice(["i4", "i8"])))
        other = alike(back, lambda a, b: wf.segmented(a, b, op, **fill), (there(x), there(cuts)), (x, cuts))
        # No kernel multiplies 16-bit floats by key, as README says.
        if (op not in FLOATS_ONLY or x.dtype.kind == "f") and not (op == "prod" and x.dtype.itemsize == 2):
            assert error is None and other is None, (error, other)


def test_several_reductions_of_one_sort(library, rng):
    there, back = library
    names = ["sum", "first", "mean", "size", "last", "max", "argmax"]
    for shape in [(5000,), (700, 3), (90, 2, 4)]:
        x, labels = numbers(rng, "f4", shape), rng.integers(-1, 9, shape[0])
        same(back, wf.group_by(there(x), there(labels), names, 11, fill=0), wf.group_by(x, labels, names, 11, fill=0))
        for name in ("first", "last", "size"):
            expected = wf.group_by(x, labels, name, fill=0)
            same(back, wf.group_by(there(x), there(labels), name, fill=0), expected)


def test_runs(library, rng):
    there, back = library
    for op in ("sum", "mean", "max", "argmin", "count_nonzero"):
        for n in (0, 1, 1000, 40_000):
            keys, x = np.sort(rng.integers(0, 50, n)), numbers(rng, "f4", (n,))
            for by in (keys, keys.astype("f4"), rng.permutation(keys)):
                same(back, wf.reduce_by_key(there(by), there(x), op), wf.reduce_by_key(by, x, op))


@pytest.mark.parametrize("dtype", DTYPES)
def test_distinct_values(dtype, library, rng):
    there, back = library
    for shape in [(0,), (1,), (), (3000,), (40, 50), (2, 3, 4)]:
        x = numbers(rng, dtype, shape) if shape else np.asarray(7).astype(dtype)
        for function in (wf.unique_all, wf.unique_counts, wf.unique_inverse, wf.unique_values):
            same(back, function(there(x)), function(x))


def test_bins(library, rng):
    there, back = library
    for n in (1, 500, 20_000):
        labels, x = rng.integers(0, 40, n), numbers(rng, "f4", (n,))
        x[~np.isfinite(x)] = 0
        weights = rng.random(n).astype("f4")
        same(back, wf.bincount(there(labels), minlength=50), wf.bincount(labels, minlength=50))
        same(back, wf.bincount(there(labels), there(weights)), wf.bincount(labels, weights))
        for bins in (7, [-5.0, 0.0, 1.0, 9.0]):
            same(back, wf.histogram(there(x), bins), wf.histogram(x, bins))
            same(back, wf.histogram(there(x), bins, weights=there(weights)), wf.histogram(x, bins, weights=weights))


@pytest.mark.parametrize("dtype", DTYPES)
def test_describe(dtype, library, rng):
    there, back = library
    for shape, axis in [((1000,), None), ((60, 70), 0), ((60, 70), 1), ((3, 4, 5), (0, 2)), ((0, 3), 0)]:
        x = numbers(rng, dtype, shape)
        found, expected = wf.describe(there(x), axis), wf.describe(x, axis)
        assert found.count == expected.count and found.shape == expected.shape and found.dtype == expected.dtype
        for name in (name for name in expected if name != "count"):
            one, other = found[name], expected[name]
            assert (one is None) == (other is None)
            if one is not None:
                assert bits(back(one)) == bits(other), (name, shape, axis)
        assert "mean" in repr(found) and "mean" in found._repr_html_()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_centroid_update(dtype, library, rng):
    there, back = library
    for n, width, clusters in [(1, 1, 1), (1000, 3, 7), (5000, 17, 40)]:
        x = rng.standard_normal((n, width)).astype(dtype)
        for kind in ("i4", "i8", "i1"):
            labels = rng.integers(-1, clusters, n).astype(kind)
            same(back, wf.centroid_update(there(x), there(labels), clusters), wf.centroid_update(x, labels, clusters))
    for wrong in (labels + 100, labels[:-1], labels.astype("f4"), labels[:, None]):
        with pytest.raises((TypeError, ValueError)) as on_host:
            wf.centroid_update(x, wrong, clusters)
        with pytest.raises(on_host.type):
            wf.centroid_update(there(x), there(wrong), clusters)


def test_errors_are_those_of_the_host(library):
    there, _ = library
    x = there(np.ones(4, "f4"))
    for labels, error in (
        (np.array([0, 1, 5, 0]), ValueError),
        (np.array([0, -2, 1, 0]), ValueError),
        (np.array([0, 1, 0]), ValueError),
        (np.array([0.0, 1, 0, 1]), TypeError),
    ):
        with pytest.raises(error):
            wf.group_by(x, there(labels), "sum", 3)
    with pytest.raises(ValueError):
        wf.group_by(x, there(np.array([0, 2, 2, 2])), "max")
    for offsets in ([0, 3, 2], [0, 9], [-1, 2]):
        with pytest.raises(ValueError):
            wf.segmented(x, there(np.array(offsets)), "sum")
    with pytest.raises(ValueError):
        wf.bincount(there(np.array([0, -2])))


def test_layouts_that_are_copied(library, rng):
    there, back = library
    x, labels = numbers(rng, "f4", (60, 40)), rng.integers(0, 5, 40)
    same(back, wf.group_by(there(x).T, there(labels)), wf.group_by(x.T, labels))
    same(back, wf.unique_all(there(x)[1:, ::3]), wf.unique_all(x[1:, ::3]))
    same(back, wf.segmented(there(x)[:, 5], there(np.array([0, 20, 60]))), wf.segmented(x[:, 5], np.array([0, 20, 60])))


def test_streams_of_torch_and_memory(rng):
    torch = torch_with_gpu()
    n = 1 << 18
    labels = torch.arange(n, device="cuda") % 10
    torch.cuda.synchronize()
    expected = torch.full((10,), 0.0, device="cuda")
    for stream in [torch.cuda.Stream() for _ in range(4)] * 5:
        with torch.cuda.stream(stream):
            # The groups are behind what computes the array, and the memory of the array is used again at once.
            x = torch.full((n,), 1.0, device="cuda")
            sums = wf.group_by(x + 1, labels, "sum", 10)
            del x
            torch.full((n,), float("nan"), device="cuda")
            # The result is read by what the library queues next, and let go of.
            expected = sums * 2 + 1
            del sums
        stream.synchronize()
        counts = np.bincount(np.arange(n) % 10)
        assert np.array_equal(expected.cpu().numpy(), counts * 4.0 + 1)


def test_nothing_leaks():
    torch = torch_with_gpu()
    x = torch.rand(1 << 20, device="cuda")
    labels = torch.randint(0, 1 << 19, (1 << 20,), device="cuda")

    def calls(n):
        for _ in range(n):
            wf.group_by(x, labels, ["sum", "size"], 1 << 19)
            wf.unique_counts(labels)
            wf.histogram(x, 100)
        gc.collect()
        torch.cuda.synchronize()
        return torch.cuda.mem_get_info()[0]

    before = calls(5)
    assert calls(30) > before - (16 << 20)
