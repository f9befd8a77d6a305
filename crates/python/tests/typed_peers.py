"""What type checkers accept of the parts for scikit-learn, Dask and flox: run by `test_types.py`, and runnable."""

import numpy as np

import warpfold as wf

points = np.arange(12.0).reshape(6, 2)
kmeans = wf.KMeans(2, init="k-means++", n_init="auto", random_state=0, tol=0).fit(points, sample_weight=np.ones(6))
labels = kmeans.predict(points)
inertia: float = kmeans.inertia_
clusters: int = kmeans.set_params(n_clusters=3).n_clusters
means, counts = wf.centroid_update(points, labels, 2)


def lazily(x: object) -> object:
    """Reductions of an array in chunks."""
    least, greatest = wf.dask.minmax(x, axis=0)
    total = wf.dask.sum(x, axis=(0, 1), dtype="f8", precision="compensated", split_every=4)
    spread = wf.dask.nanstd(x, 0, correction=1, keepdims=True)
    groups = wf.dask.group_by(x, labels, ["mean", "max"], 2, fill=0)
    return [least, greatest, total, spread, groups]


def engine() -> None:
    """Adds the engine to flox."""
    wf.flox.register()


def rows(x: object, labels: object) -> object:
    """Operations on rows of tensors."""
    norm = wf.torch.RMSNorm(8, eps=1e-6)
    y = wf.torch.softmax(norm(x), dim=-1)
    return wf.torch.cross_entropy(y, labels, reduction="sum", label_smoothing=0.1)
