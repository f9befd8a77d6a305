"""`wf.KMeans` of points in chunks has the bits of the points in one piece."""

import numpy as np
import pytest
from conftest import bits, cases

import warpfold as wf

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


@pytest.mark.filterwarnings("ignore:Number of distinct")
@pytest.mark.parametrize("init", ["k-means++", "random", "given"])
def test_any_chunks_have_the_bits_of_the_whole(init, rng):
    from test_dask import random_chunks

    with dask.config.set(scheduler="sync"):
        for _ in range(cases(4)):
            n, d, k = int(rng.integers(30, 400)), int(rng.integers(1, 12)), int(rng.integers(1, 7))
            x = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d) + 5
            x = x.astype(rng.choice(["f2", "f4", "f8"]))
            if rng.random() < 0.3:
                x = np.ones_like(x) * (np.arange(n) % 3)[:, None].astype(x.dtype)
            first = x[:k] if init == "given" else init
            options = {"init": first, "random_state": int(rng.integers(100)), "max_iter": int(rng.integers(1, 30))}
            options["n_init"] = 1 if init == "given" else 2
            want = wf.KMeans(k, **options).fit(x)
            d = da.from_array(x, chunks=random_chunks(rng, x.shape))
            found = wf.KMeans(k, **options).fit(d)
            for name in ("cluster_centers_", "inertia_", "n_iter_", "_centre"):
                assert bits(getattr(found, name)) == bits(getattr(want, name)), (name, x.dtype, x.shape, k)
            assert isinstance(found.labels_, da.Array)
            assert bits(found.labels_.compute()) == bits(want.labels_)
            assert bits(found.predict(d).compute()) == bits(want.labels_)
            assert bits(found.transform(d).compute()) == bits(want.transform(x))
            assert bits(found.predict(x)) == bits(want.labels_)


def test_integers_and_errors():
    x = np.arange(40).reshape(20, 2) % 7
    d = da.from_array(x, chunks=6)
    want, found = wf.KMeans(3, random_state=0).fit(x), wf.KMeans(3, random_state=0).fit(d)
    assert bits(found.cluster_centers_) == bits(want.cluster_centers_)
    bad = da.from_array(np.array([[1.0], [np.nan]]), chunks=1)
    for call in [
        lambda: wf.KMeans(21).fit(d),
        lambda: wf.KMeans(1).fit(bad),
        lambda: wf.KMeans(1).fit(d[0]),
        lambda: wf.KMeans(1).fit(d.astype("f8") * 1e300),
        lambda: wf.KMeans(1).fit(d, sample_weight=np.ones(20)),
        lambda: found.predict(d[:, :1]),
        lambda: wf.KMeans().predict(d),
    ]:
        with pytest.raises(ValueError):
            call()


def test_centroids_at_any_address():
    from warpfold.dask import _kmeans

    x = np.arange(12.0).reshape(6, 2)
    raw = np.zeros(33, np.uint8)[1:].view("f8").reshape(2, 2)
    raw[...] = x[:2]
    centre = np.zeros(2)
    assert not raw.flags.aligned
    assert bits(_kmeans._labels(x, raw, centre)) == bits(_kmeans._labels(x, x[:2].copy(), centre))
    assert _kmeans._distances(x, raw, centre).shape == (6, 2)
