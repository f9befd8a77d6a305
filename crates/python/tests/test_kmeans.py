"""`wf.KMeans` is scikit-learn's estimator, and its results are functions of points, parameters and seed alone."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import bits, random_array

import warpfold as wf

# Checks of scikit-learn that do not hold, and why.
UNMET = {
    "check_sample_weight_equivalence_on_dense_data": "repeated points draw other first centroids, as with scikit-learn's",
}


class Lent:
    """An array of a library whose dtypes are not NumPy's."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, "its own"

    def __len__(self):
        return len(self.array)

    def __dlpack__(self, **words):
        return self.array.__dlpack__(**words)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array__(self, dtype=None, copy=None):
        return self.array.astype(dtype or self.array.dtype)


@pytest.fixture
def blobs(rng):
    centres = rng.standard_normal((5, 3)) * 10
    return centres[rng.integers(0, 5, 400)] + rng.standard_normal((400, 3))


def test_fits_are_scikit_learns():
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.cluster import KMeans

    for load, k in [(datasets.load_iris, 3), (datasets.load_wine, 3), (datasets.load_digits, 10)]:
        x = np.ascontiguousarray(load().data)
        weights = np.random.default_rng(1).random(len(x)) + 0.1
        for seed in range(2):
            first = x[np.random.default_rng(seed).choice(len(x), k, replace=False)]
            for w in (None, weights):
                ours = wf.KMeans(k, init=first, tol=0).fit(x, sample_weight=w)
                theirs = KMeans(k, init=first, n_init=1, tol=0).fit(x, sample_weight=w)
                assert np.array_equal(ours.labels_, theirs.labels_)
                assert abs(ours.inertia_ / theirs.inertia_ - 1) < 1e-9
                assert np.allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9, atol=1e-9)
                assert np.array_equal(ours.predict(x), theirs.predict(x))
                assert np.allclose(ours.transform(x), theirs.transform(x), rtol=1e-6, atol=1e-6)
                assert np.isclose(ours.score(x, sample_weight=w), theirs.score(x, sample_weight=w))


@pytest.mark.filterwarnings("ignore")
def test_check_estimator():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    said = checks.check_estimator(wf.KMeans(n_clusters=2, max_iter=20), expected_failed_checks=UNMET, on_fail=None)
    failed = [(one["check_name"], one["exception"]) for one in said if one["status"] == "failed"]
    assert not failed
    assert len([one for one in said if one["status"] == "passed"]) > 40
    assert {one["check_name"] for one in said if one["status"] == "xfail"} <= set(UNMET)


def test_in_scikit_learn(blobs):
    base = pytest.importorskip("sklearn.base")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kmeans = wf.KMeans(4, random_state=3, n_init=2)
    assert base.clone(kmeans).get_params() == kmeans.get_params()
    pipeline = make_pipeline(StandardScaler(), kmeans)
    labels = pipeline.fit_predict(blobs)
    assert np.array_equal(pipeline.predict(blobs), labels) and pipeline.transform(blobs).shape == (400, 4)
    assert list(kmeans.get_feature_names_out()) == ["kmeans0", "kmeans1", "kmeans2", "kmeans3"]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(blobs, columns=["a", "b", "c"])
    named = wf.KMeans(2, random_state=0).set_output(transform="pandas").fit(frame)
    assert named.transform(frame).columns.tolist() == ["kmeans0", "kmeans1"]
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    again = pickle.loads(pickle.dumps(named))
    assert bits(again.predict(frame)) == bits(named.labels_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_results_depend_on_nothing_else(init, weighted, blobs, rng):
    weights = rng.random(len(blobs)) if weighted else None

    def results(x):
        fit = wf.KMeans(6, init=init, random_state=7, n_init=3).fit(x, sample_weight=weights)
        return [bits(part) for part in (fit.labels_, fit.cluster_centers_, fit.inertia_, fit.n_iter_, fit.transform(x))]

    before = wf.get_num_threads()
    try:
        for dtype in ("f8", "f4", "f2"):
            x = blobs.astype(dtype)
            found = []
            for threads in (1, 2, 5):
                wf.set_num_threads(threads)
                found.append(results(x))
            wide = np.zeros((800, 7), dtype)[::2, 1:7:2]
            wide[...] = x
            for layout in (np.asfortranarray(x), wide, x[::-1][::-1], x.astype(x.dtype.newbyteorder()), Lent(x)):
                found.append(results(layout))
            assert all(one == found[0] for one in found)
            assert wf.KMeans(2, random_state=0).fit(x).cluster_centers_.dtype == ("f8" if dtype == "f8" else "f4")
    finally:
        wf.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_whole_weight_is_a_point_so_often(dtype, blobs, rng):
    x, first = blobs.astype(dtype), blobs[:4].astype(dtype)
    times = rng.integers(1, 6, len(x))
    fit = wf.KMeans(4, init=first, tol=0).fit(x, sample_weight=times)
    repeated = wf.KMeans(4, init=first, tol=0).fit(np.repeat(x, times, axis=0))
    assert bits(fit.cluster_centers_) == bits(repeated.cluster_centers_)
    assert bits(np.repeat(fit.labels_, times)) == bits(repeated.labels_)
    assert np.isclose(fit.inertia_, repeated.inertia_, rtol=1e-6)
    for same in (1, 0.5, np.ones(len(x)), np.full(len(x), 8.0)):
        for init in ("k-means++", "random") if np.ndim(same) == 0 else ("k-means++",):
            a = wf.KMeans(4, init=init, random_state=1).fit(x, sample_weight=same)
            b = wf.KMeans(4, init=init, random_state=1).fit(x)
            assert bits(a.cluster_centers_) == bits(b.cluster_centers_)
    # Points without weight have labels, and no influence.
    kept = rng.random(len(x)) < 0.5
    kept[np.abs(x).argmax(axis=0)] = True
    part = wf.KMeans(4, init=first, max_iter=1).fit(x, sample_weight=kept.astype(float))
    alone = wf.KMeans(4, init=first, max_iter=1).fit(x[kept])
    assert np.allclose(part.cluster_centers_, alone.cluster_centers_, rtol=1e-6) and len(part.labels_) == len(x)


def test_parameters(blobs, capsys):
    seeds = [7, np.int32(7), np.random.RandomState(7), np.random.default_rng(7), None, np.random]
    assert all(wf.KMeans(3, random_state=seed).fit(blobs).n_iter_ >= 1 for seed in seeds)
    state = np.random.RandomState(0)
    calls = []

    def init(X, n_clusters, random_state):
        calls.append(random_state)
        return X[random_state.choice(len(X), n_clusters, replace=False)]

    drawn = wf.KMeans(3, init=init, n_init=4, random_state=state).fit(blobs)
    assert len(calls) == 4 and drawn.inertia_ > 0
    wf.KMeans(2, verbose=1, random_state=0).fit(blobs)
    assert "inertia" in capsys.readouterr().out
    ints = wf.KMeans(2, random_state=0).fit((blobs * 100).astype("i4"))
    assert ints.cluster_centers_.dtype == "f8"
    single = wf.KMeans(2, random_state=0).fit(blobs.astype("f4"))
    assert single.predict(blobs).dtype == "i4" and single.transform(blobs).dtype == "f4"
    with pytest.warns(RuntimeWarning, match="only one init"):
        wf.KMeans(2, init=blobs[:2], n_init=3).fit(blobs)
    with pytest.warns(UserWarning, match="distinct clusters"):
        wf.KMeans(3, random_state=0).fit(np.ones((5, 2)))


def test_what_is_refused(blobs):
    for wrong in [
        {"n_clusters": 0}, {"n_clusters": 2.5}, {"n_clusters": 401}, {"init": "nonsense"}, {"init": np.ones((2, 2))},
        {"max_iter": 0}, {"tol": -1}, {"n_init": 0}, {"algorithm": "magic"}, {"random_state": "x"},
    ]:
        with pytest.raises(ValueError):
            wf.KMeans(**wrong).fit(blobs)
    for weights in (np.ones(3), np.ones((400, 1)), np.zeros(400), np.full(400, -1.0), np.full(400, np.nan)):
        with pytest.raises(ValueError):
            wf.KMeans(2).fit(blobs, sample_weight=weights)
    for x in (blobs * np.nan, blobs[0], blobs[:0], blobs * 1e300):
        with pytest.raises(ValueError):
            wf.KMeans(2).fit(x)
    with pytest.raises((ValueError, AttributeError)):
        wf.KMeans(2).predict(blobs)
    with pytest.raises(ValueError):
        wf.KMeans(2).fit(blobs).predict(blobs[:, :2])


def test_without_scikit_learn(blobs, tmp_path):
    np.save(tmp_path / "x.npy", blobs)
    code = f"""
import sys
sys.modules["sklearn"] = None
import numpy as np, warpfold as wf
x = np.load({str(tmp_path / "x.npy")!r})
fit = wf.KMeans(3, random_state=1)
assert repr(fit) == "KMeans(n_clusters=3, random_state=1)", repr(fit)
fit.fit(x, sample_weight=np.arange(400.0))
print(fit.labels_.tobytes().hex())
assert fit.set_params(n_clusters=2).get_params()["n_clusters"] == 2
assert fit.fit_transform(x).shape == (400, 2) and fit.get_feature_names_out().tolist() == ["kmeans0", "kmeans1"]
for wrong in (lambda: fit.set_params(nonsense=1), lambda: fit.fit(x * np.nan), lambda: wf.KMeans().predict(x)):
    try:
        wrong()
    except ValueError:
        continue
    raise AssertionError
assert not any(name.startswith("sklearn.") for name in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    with_it = wf.KMeans(3, random_state=1).fit(blobs, sample_weight=np.arange(400.0))
    assert said.strip() == with_it.labels_.tobytes().hex()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
# PyTorch, JAX and Python itself warn of threads that a fork leaves behind.
@pytest.mark.filterwarnings("ignore:.*fork")
def test_after_a_fork(blobs):
    want = bits(wf.KMeans(3, random_state=1).fit(blobs).labels_)
    child = os.fork()
    if child == 0:
        try:
            same = bits(wf.KMeans(3, random_state=1).fit(blobs).predict(blobs)) == want
        finally:
            os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_centroid_update(rng):
    for dtype in ("f2", "f4", "f8"):
        x = random_array(rng, dtype, (50, 3))
        labels = rng.integers(-1, 4, 50)
        labels[labels == 2] = 1
        means, counts = wf.centroid_update(x, labels, 4)
        assert means.dtype == ("f8" if dtype == "f8" else "f4") and counts.dtype == "i8"
        assert counts.tolist() == [int((labels == k).sum()) for k in range(4)]
        assert np.isnan(means[2]).all()
        for k in (0, 1, 3):
            exact = x[labels == k].astype("f8").mean(0)
            assert np.allclose(means[k], exact, rtol=1e-6, atol=1e-6 * np.abs(x.astype("f8")).max())
        order = rng.permutation(50)
        assert bits(wf.centroid_update(x[order], labels[order], 4)[0]) == bits(means)
    with pytest.raises(ValueError):
        wf.centroid_update(x, labels[:3], 4)
    with pytest.raises(ValueError):
        wf.centroid_update(x, labels, 2)
    with pytest.raises(TypeError):
        wf.centroid_update(x, labels * 1.0, 4)
