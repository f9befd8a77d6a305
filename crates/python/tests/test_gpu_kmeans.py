"""k-means and plans of arrays on a GPU. Without one: what is refused, in which words. With PyTorch or CuPy and a GPU: the
bits of the CPU, in memory of the library."""

import sys
import types

import numpy as np
import pytest
from conftest import bits
from test_gpu import HAS_GPU, Interface
from test_gpu_keys import library, same  # noqa: F401 (a fixture)

import warpfold as wf


def test_plans_of_arrays_on_a_gpu():
    x = Interface(shape=(1000, 30))
    for axis in (0, 1, None):
        said = wf.explain("sum", x, axis)
        assert "kernel" in said and "block(s)" in said
        if not HAS_GPU:
            # The plan does not depend on where the array is.
            assert said == wf.explain("sum", np.zeros((1000, 30), "f4"), axis, device="cuda")
    assert "kernel" in wf.explain("nanmean", Interface(shape=(5, 6), strides=(4, 20)), 0, keepdims=True, device="cuda")
    with pytest.raises(ValueError, match="cuda:0"):
        wf.explain("sum", x, device="cpu")
    with pytest.raises(ValueError):
        wf.explain("sum", x, 2)


def test_what_is_refused():
    x = Interface(shape=(4, 2))
    for call, error, words in (
        (lambda: wf.KMeans(2).fit(x, sample_weight=np.ones(4)), ValueError, "sample_weight"),
        (lambda: wf.KMeans(2).fit(Interface(shape=(4,))), ValueError, "2D"),
        (lambda: wf.KMeans(2).fit(Interface(shape=(4, 2), typestr="<i4")), TypeError, "cast"),
        (lambda: wf.KMeans(5).fit(x), ValueError, "n_samples=4"),
        (lambda: wf.KMeans(2, device="cpu").fit(x), ValueError, "cuda:0"),
        (lambda: wf.KMeans(2, init=np.zeros((2, 3))).fit(x), ValueError, "shape"),
        (lambda: wf.KMeans(2).predict(x), (ValueError, AttributeError), "fitted"),
    ):
        with pytest.raises(error, match=words):
            call()
    fitted = wf.KMeans(2, random_state=0).fit(np.random.default_rng(1).random((9, 2), "f4"))
    for call, error, words in (
        (lambda: fitted.predict(Interface(shape=(4, 3))), ValueError, "features"),
        (lambda: fitted.transform(Interface(shape=(4, 2), typestr="<f8")), TypeError, "cast"),
    ):
        with pytest.raises(error, match=words):
            call()


class There:
    """An array of the host, for a native module that takes it for one on a GPU."""

    def __init__(self, x):
        self.x = np.asarray(x)

    def __len__(self):
        return len(self.x)


def test_the_estimator_without_a_gpu(monkeypatch, rng):
    native, kmeans = wf._native, sys.modules[wf.KMeans.__module__]

    def host(x):
        return x.x if isinstance(x, There) else x

    def there(function):
        """The function of the host, with results of the kind of its first argument."""

        def call(x, *arguments):
            found = function(host(x), *arguments)
            if isinstance(found, tuple):
                return (There(found[0]), found[1], There(found[2]), *found[3:])
            return There(found)

        return call

    names = {np.dtype("f4"): "f32", np.dtype("f8"): "f64"}
    fake = types.SimpleNamespace(
        on_gpu=lambda x: (x.x.shape, names[x.x.dtype]) if isinstance(x, There) else None,
        on_host=host,
        sum=native.sum,
        **{name: there(getattr(native, name)) for name in ("kmeans_fit", "kmeans_predict", "kmeans_transform")},
    )
    x = rng.standard_normal((300, 4)).astype("f4")
    draw = lambda points, k, random_state: There(x[:k])  # noqa: E731
    expected = [wf.KMeans(5, init=init, random_state=1).fit(x) for init in ("random", x[:5])]
    monkeypatch.setattr(kmeans, "_native", fake)
    monkeypatch.setattr(kmeans, "unique_values", lambda labels: np.unique(host(labels)))
    for init, want in (("random", expected[0]), (There(x[:5]), expected[1]), (draw, expected[1])):
        found = wf.KMeans(5, init=init, n_init=10 if init == "random" else 1, random_state=1).fit(There(x))
        assert bits(found.labels_.x) == bits(want.labels_) and found.n_features_in_ == 4
        assert bits(found.cluster_centers_.x) == bits(want.cluster_centers_)
        assert bits(found.predict(There(x)).x) == bits(want.labels_)
        assert found.transform(There(x)).x.shape == (300, 5)
        assert found.score(There(x)) == pytest.approx(-want.inertia_)
    with pytest.warns(match="distinct"):
        wf.KMeans(3).fit(There(np.ones((4, 2))))


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU, and the address is not of its memory")
def test_without_a_driver():
    x = Interface(shape=(4, 2))
    fitted = wf.KMeans(2, random_state=0).fit(np.random.default_rng(1).random((9, 2), "f4"))
    for call in (
        lambda: wf.KMeans(2).fit(x),
        lambda: fitted.predict(x),
        lambda: fitted.transform(x),
        lambda: fitted.score(x),
    ):
        with pytest.raises(wf.Error, match="driver|GPU"):
            call()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_fits(dtype, library, rng):  # noqa: F811
    there, back = library
    for n, width, clusters in [(50, 1, 3), (3000, 3, 7), (5000, 17, 40)]:
        x, other = (rng.standard_normal((m, width)).astype(dtype) for m in (n, n + 5))
        given = x[:clusters].astype("f8" if dtype == "f8" else "f4")
        for init in ("k-means++", "random", given):
            fit = lambda points, init: wf.KMeans(clusters, init=init, n_init=1, max_iter=9, random_state=7).fit(points)  # noqa: E731
            on_host = fit(x, init)
            on_gpu = fit(there(x), there(init) if init is given else init)
            same(back, on_gpu.labels_, on_host.labels_)
            same(back, on_gpu.cluster_centers_, on_host.cluster_centers_)
            assert (on_gpu.inertia_, on_gpu.n_iter_) == (on_host.inertia_, on_host.n_iter_)
            same(back, on_gpu.predict(there(other)), on_host.predict(other))
            same(back, on_gpu.transform(there(other)), on_host.transform(other))
            assert on_gpu.score(there(other)) == on_host.score(other)
            # Points of the host by clusters of the GPU, and the other way round.
            assert bits(on_gpu.predict(other)) == bits(on_host.predict(other))
            same(back, on_host.predict(there(other)), on_host.predict(other))
    x[3] = np.nan
    for points in (x, there(x)):
        with pytest.raises(ValueError):
            wf.KMeans(2).fit(points)


def test_layouts_and_steps(library, rng, capsys):  # noqa: F811
    there, back = library
    x = rng.standard_normal((6, 900)).astype("f4")
    on_host, on_gpu = (wf.KMeans(5, random_state=3, verbose=1).fit(points) for points in (x.T[::2], there(x).T[::2]))
    same(back, on_gpu.labels_, on_host.labels_)
    said = capsys.readouterr().out.splitlines()
    # The same inertias, iteration by iteration.
    assert said and said[: len(said) // 2] == said[len(said) // 2 :]
