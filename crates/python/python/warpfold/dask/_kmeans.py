"""k-means of points in chunks, with the bits of `warpfold.KMeans` of the points in one piece.

Chunks give labels, sums of whole numbers, and the squares of the points' distances. All that is merged is exact: sums
of integers, greatest magnitudes, and the trees of variances and of the inertia, as states. The steps, and the words in
which they are defined, are those of docs/numerics.md.
"""

import math
from fractions import Fraction

import dask
import dask.array as da
import numpy as np

from warpfold import _native

from . import _functions
from ._reduce import whole

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(x):
    """The finaliser of splitmix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class _Draws:
    """The random numbers of a run."""

    def __init__(self, seed, run):
        self.key, self.drawn = (_mix(seed) + _mix((run + _GOLDEN) & _MASK)) & _MASK, 0

    def below(self, n):
        self.drawn += 1
        return (_mix((self.key + self.drawn * _GOLDEN) & _MASK) * n) >> 64


def _unit(greatest, wide):
    """The exponent of the unit for magnitudes up to `greatest`."""
    exponent = math.frexp(greatest)[1] - 1 if greatest >= 2.0**-1022 else -1023
    return max(exponent - 61, -1022) if wide else max(exponent - 30, -126)


def _rounded(numerator, denominator, wide):
    """A quotient of whole numbers, rounded to nearest even once."""
    if wide:
        return numerator / denominator
    # To odd, with more than twice the digits of float32, so that only the last step rounds.
    value = Fraction(abs(numerator), denominator)
    if value == 0:
        return 0.0
    shift = 60 - (value.numerator.bit_length() - value.denominator.bit_length())
    digits, rest = divmod(value.numerator << max(shift, 0), value.denominator << max(-shift, 0))
    drop = digits.bit_length() - 53
    odd = digits >> drop | (rest != 0 or digits & ((1 << drop) - 1) != 0)
    near = np.float32(math.ldexp(odd, drop - shift))
    return -near if numerator < 0 else near


def _quantized(x, units, wide):
    """Coordinates as whole numbers of units: one array, or a high and a low word of 31 bits."""
    q = np.rint(np.ldexp(x.astype(np.float64), -np.asarray(units, np.int32)))
    q = q.astype(np.int64)
    return (q >> 31, q & (2**31 - 1)) if wide else (q,)


class _Points:
    """What tasks take with them of a chunk's points."""

    def __init__(self, dtype):
        self.dtype, self.wide = np.dtype(dtype), np.dtype(dtype) == np.float64

    def __dask_tokenize__(self):
        return ("_Points", str(self.dtype))

    def read(self, x):
        x = np.asarray(x)
        return x if x.dtype == np.float16 else x.astype(self.dtype, copy=False)

    def greatest(self, x):
        """The greatest magnitude of each coordinate; NaN or an infinity if there is one."""
        return np.abs(self.read(x).astype(self.dtype)).max(axis=0, initial=0)

    def sums(self, x, labels, clusters, units):
        """The sum of whole numbers of each cluster, and the number of points, as integers of Python."""
        words = _quantized(self.read(x), units, self.wide)
        found = [np.asarray(_native.group_by(word, labels, "sum", clusters)).astype(object) for word in words]
        totals = found[0] * 2**31 + found[1] if self.wide else found[0]
        return totals, np.bincount(labels, minlength=clusters).astype(object)

    def labels(self, x, centroids, centre):
        return _labels(self.read(x), centroids, centre)

    def squares(self, x, centroids, labels=None):
        """The square of the distance of each point to its centroid: the tree over the coordinates."""
        near = centroids if labels is None else centroids[labels]
        off = self.read(x).astype(self.dtype, copy=False) - near
        return np.asarray(_native.sum(off * off, axis=1))

    def weights(self, nearest, unit):
        q = np.rint(np.ldexp(nearest.astype(np.float64), -unit)).astype(np.int64)
        return q >> 31 if self.wide else q


def _labels(x, centroids, centre):
    return _native.kmeans_predict(x, *map(_aligned, (centroids, centre)))


def _distances(x, centroids, centre):
    return _native.kmeans_transform(x, *map(_aligned, (centroids, centre)))


def _aligned(x):
    """Centroids that have come in a message may begin at any address."""
    return np.require(x, requirements="CA")


class Chunks:
    """Points of a dask array, whose rows are whole in each chunk."""

    def __init__(self, x, dtype):
        x = whole(x)
        if x.ndim != 2:
            raise ValueError(f"Expected 2D array, got {x.ndim}D array instead.")
        self.x = x.rechunk({1: -1})
        self.of = _Points(dtype)
        self.n, self.d = x.shape
        self.lengths = [n for n in self.x.chunks[0] if n]
        self.parts = [part for part, n in zip(self.x.to_delayed()[:, 0], self.x.chunks[0]) if n]

    def each(self, function, *lists):
        """A task for each chunk, with what belongs to it."""
        return [dask.delayed(function, pure=True)(part, *own) for part, *own in zip(self.parts, *lists)]

    def row(self, at):
        return self.of.read(self.x[at].compute()).astype(self.of.dtype)

    def constant(self, *values):
        """The same arguments for each chunk."""
        return [[value] * len(self.parts) for value in values]


def fit(x, dtype, settings, init, runs, seed):
    """As `_native.kmeans_fit`: centroids, centre, labels (lazy), inertia, iterations, whether it has converged."""
    chunks = Chunks(x, dtype)
    of, wide = chunks.of, chunks.of.wide
    greatest = np.max(dask.compute(*chunks.each(of.greatest)), axis=0).astype(np.float64)
    if not np.isfinite(greatest).all():
        raise ValueError("Input X contains NaN or infinity.")
    reach = np.maximum(greatest, np.abs(init).max(axis=0)) if isinstance(init, np.ndarray) else greatest
    with np.errstate(over="ignore"):
        far = not sum((reach * reach).tolist()) <= float(np.finfo(dtype).max) / 8
    if far:
        raise ValueError("the points are too far apart: squares of distances may overflow")
    units = [_unit(float(g), wide) for g in greatest]
    nowhere = [np.zeros(n, np.int64) for n in chunks.lengths]
    centre = _means(chunks.each(of.sums, nowhere, *chunks.constant(1, units)), units, of)[0]
    centre = np.array(centre, dtype)
    variances = _functions.FUNCTIONS["var"](chunks.x, axis=0, dtype=dtype).compute()
    enough = settings.tol * (sum(variances.astype(np.float64).tolist()) / chunks.d)
    best = None
    for run in range(1 if isinstance(init, np.ndarray) else runs):
        first = init if isinstance(init, np.ndarray) else _first(chunks, settings.n_clusters, init, _Draws(seed, run))
        found = _lloyd(chunks, first.astype(dtype), centre, units, enough, settings)
        if best is None or found[1] < best[1]:
            best = found
    centroids, inertia, iterations, converged = best
    labels = chunks.x.map_blocks(of.labels, centroids, centre, drop_axis=1, dtype=np.int32, meta=np.empty(0, np.int32))
    return centroids, centre, labels, inertia, iterations, converged


def _means(tasks, units, of):
    """The mean of each cluster; None of those without points."""
    parts = dask.compute(*tasks)
    totals, counts = sum(part[0] for part in parts), sum(part[1] for part in parts)
    return [_mean(total, count, units, of) if count else None for total, count in zip(totals, counts)]


def _mean(total, count, units, of):
    pairs = ((int(t), u) for t, u in zip(total, units))
    count = int(count)
    return [_rounded(t << u if u > 0 else t, count if u > 0 else count << -u, of.wide) for t, u in pairs]


def _lloyd(chunks, centroids, centre, units, enough, settings):
    of, k = chunks.of, settings.n_clusters
    labels, iterations, converged, settled = None, 0, False, False
    while iterations < settings.max_iter and not converged:
        iterations += 1
        now, squares, inertia = _assign(chunks, centroids, centre)
        if settings.verbose:
            print(f"iteration {iterations}: inertia {inertia}")
        settled = labels is not None and all(map(np.array_equal, now, labels))
        labels = now
        if settled:
            converged = True
            break
        means = _means(chunks.each(of.sums, labels, *chunks.constant(k, units)), units, of)
        distances = np.concatenate(squares)
        for cluster, mean in enumerate(means):
            if mean is None:
                far = int(distances.argmax())
                distances[far] = -1
                means[cluster] = chunks.row(far)
        moved = np.array(means, centroids.dtype)
        shift = _native.sum((moved.astype(np.float64) - centroids.astype(np.float64)) ** 2)
        centroids, converged = moved, bool(shift <= enough)
    if not settled:
        _, _, inertia = _assign(chunks, centroids, centre)
    return centroids, inertia, iterations, converged


def _assign(chunks, centroids, centre):
    """Labels and squares of each chunk, and the inertia: the tree over all squares."""
    of = chunks.of
    labels = chunks.each(of.labels, *chunks.constant(centroids, centre))
    squares = chunks.each(of.squares, chunks.constant(centroids)[0], labels)
    labels, squares = dask.compute(labels, squares)
    inertia = float(_native.sum(np.concatenate(squares), dtype="float64"))
    if not math.isfinite(inertia):
        raise ValueError("the points are too far apart: the inertia overflows")
    return labels, squares, inertia


def _first(chunks, clusters, init, draws):
    if init == "random":
        moved, chosen = {}, []
        for at in range(clusters):
            from_ = at + draws.below(chunks.n - at)
            here = moved.get(at, at)
            chosen.append(moved.get(from_, from_))
            moved[from_] = here
        return np.array([chunks.row(at) for at in chosen])
    of = chunks.of
    centroids, nearest = [chunks.row(draws.below(chunks.n))], None
    for _ in range(1, clusters):
        squares = np.concatenate(dask.compute(*chunks.each(of.squares, *chunks.constant(centroids[-1]))))
        nearest = squares if nearest is None else np.where(squares < nearest, squares, nearest)
        if not np.isfinite(nearest.max()):
            raise ValueError("the points are too far apart: squares of distances overflow")
        weights = np.cumsum(of.weights(nearest, _unit(float(nearest.max()), of.wide)).astype(np.uint64))
        total = int(weights[-1])
        at = draws.below(chunks.n) if total == 0 else int(np.searchsorted(weights, draws.below(total), "right"))
        centroids.append(chunks.row(at))
    return np.array(centroids)


def points(estimator, x):
    """The points of a call after the fit: in the estimator's dtype, with as many features."""
    x = whole(x)
    if x.ndim != 2 or x.shape[1] != estimator.n_features_in_:
        name, features = type(estimator).__name__, estimator.n_features_in_
        raise ValueError(f"X has shape {x.shape}, but {name} is expecting {features} features as input.")
    return x.rechunk({1: -1}).astype(estimator._centre.dtype)


def predict(estimator, x):
    """Labels, lazily."""
    centroids, centre = estimator._centroids(), estimator._centre
    return points(estimator, x).map_blocks(
        _labels, centroids, centre, drop_axis=1, dtype=np.int32, meta=np.empty(0, np.int32)
    )


def transform(estimator, x):
    """Distances, lazily."""
    x, centre = points(estimator, x), estimator._centre
    return x.map_blocks(
        _distances,
        estimator._centroids(),
        centre,
        chunks=(x.chunks[0], (estimator.n_clusters,)),
        dtype=centre.dtype,
        meta=np.empty((0, 0), centre.dtype),
    )


