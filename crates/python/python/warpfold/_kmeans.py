"""`warpfold.KMeans`: k-means with the interface of scikit-learn's estimator, and one result on every machine.

With scikit-learn the class is derived from its base classes, and has all that estimators have there: routing of
metadata, `set_output`, names of features, HTML. Without it the class has the same methods, from `_bare` below.
"""

import numbers
import warnings

import numpy as np

from . import _native
from ._unique import unique_values

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.validation import check_is_fitted, validate_data

    _BASES = (ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator)
except ImportError:
    from ._bare import BASES as _BASES
    from ._bare import ConvergenceWarning, check_is_fitted, validate_data

_FLOATS = (np.float64, np.float32, np.float16)


class KMeans(*_BASES):
    """k-means clustering by Lloyd's algorithm: scikit-learn's estimator, with bits that do not depend on the machine.

    Centroids, labels and inertia are functions of the points, the parameters and the seed alone. They depend neither on
    the number of threads nor on the layout of `X`, and a GPU finds the same.

    Parameters
    ----------
    n_clusters : int
        The number of clusters, and of centroids.
    init : {"k-means++", "random"}, array of shape (n_clusters, n_features), or callable
        The first centroids. A callable takes `X`, `n_clusters` and `random_state`. Random numbers are not
        scikit-learn's, so the same seed draws other points.
    n_init : "auto" or int
        The number of runs, of which the one of least inertia is kept. "auto": 10 for "random" and callables, else 1.
    max_iter : int
        The most iterations of a run.
    tol : float
        A run ends when the sum of the squares of the centroids' moves is at most this times the mean variance of the
        features, or when no label changes.
    verbose : int
        Whether the inertia of each iteration is printed.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None
        The seed; None takes one from NumPy's global state.
    copy_x : bool
        Without effect: `X` is never changed.
    algorithm : {"lloyd", "elkan"}
        Without effect: both find the same clusters, and Lloyd's algorithm is used.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``: where to fit. The result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        float64 for points of float64 or integers, float32 for points of float32 or float16.
    labels_ : array of shape (n_samples,)
        int32: the nearest centroid of each point; of several, the first.
    inertia_ : float
        The sum of squares of the distances to these centroids, each times the point's weight.
    n_iter_ : int
        The iterations of the run that was kept.
    n_features_in_, feature_names_in_
        As of every estimator.

    Notes
    -----
    Centroids are means in fixed point (see docs/numerics.md). A weight is a whole number of 2**-30 of the greatest
    weight's power of two, so weights that are whole numbers have the centroids of points that are repeated so often.
    Weights are computed on the CPU. Sparse matrices are not taken.

    Points on a GPU (a tensor of PyTorch, an array of CuPy or JAX) are fitted there, and `labels_`, `cluster_centers_` and
    what `predict` and `transform` return are arrays of the same library on that GPU. Random first centroids are drawn, and
    the distances of `transform` and `score` computed, on the host, to which the points are copied for it.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> x = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> kmeans = wf.KMeans(2, random_state=0).fit(x)
    >>> sorted(kmeans.cluster_centers_.tolist()), kmeans.inertia_
    ([[1.0, 2.0], [10.0, 2.0]], 16.0)
    >>> bool(kmeans.predict([[0, 0]])[0] == kmeans.labels_[0])
    True
    """

    def __init__(
        self,
        n_clusters=8,
        *,
        init="k-means++",
        n_init="auto",
        max_iter=300,
        tol=1e-4,
        verbose=0,
        random_state=None,
        copy_x=True,
        algorithm="lloyd",
        device=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.device = device

    def fit(self, X, y=None, sample_weight=None):
        """Finds clusters.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Finite numbers.
            Those of a dask array are read chunk by chunk in each iteration (so persist them if they fit); their labels
            are a dask array, and the results have the same bits.
        y : ignored
        sample_weight : array of shape (n_samples,), or number, optional
            Finite, not negative, and not all zero.

        Returns
        -------
        KMeans
            Itself.
        """
        self._check()
        if _in_chunks(X):
            return self._fit_chunks(X, sample_weight)
        there = _native.on_gpu(X)
        if there is None:
            X = validate_data(self, _ordered(X), dtype=_FLOATS, ensure_min_samples=1)
            shape, is_wide = X.shape, X.dtype == np.float64
        else:
            shape, is_wide = self._there(there, reset=True)
        if shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={shape[0]} should be >= n_clusters={self.n_clusters}.")
        weights = _weights(sample_weight, shape[0])
        best = None
        for init, runs, seed in self._starts(X, np.float64 if is_wide else np.float32, shape[1]):
            run = _native.kmeans_fit(
                X,
                self.n_clusters,
                init,
                self.max_iter,
                float(self.tol),
                seed,
                runs,
                False,
                weights,
                self.device,
                _tell if self.verbose else None,
            )
            # The inertia; of runs of one inertia, the first.
            if best is None or run[3] < best[3]:
                best = run
        self._keep(best)
        found = len(unique_values(self.labels_))
        if found < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _keep(self, run):
        self.cluster_centers_, self._centre, self.labels_, self.inertia_, self.n_iter_, _ = run
        self._n_features_out = self.n_clusters

    def _fit_chunks(self, X, sample_weight):
        from .dask import _kmeans

        if sample_weight is not None:
            raise ValueError("sample_weight is not taken with points in chunks: give an array in one piece")
        if callable(self.init) or self.device is not None:
            raise ValueError("points in chunks take neither a callable init nor a device")
        if len(X) < self.n_clusters:
            raise ValueError(f"n_samples={len(X)} should be >= n_clusters={self.n_clusters}.")
        dtype = np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
        ((init, runs, seed),) = self._starts(X, dtype, X.shape[-1])
        self._keep(_kmeans.fit(X, dtype, self, init, runs, seed))
        self.n_features_in_ = X.shape[1]
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """Finds clusters, and returns `labels_`."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X, y=None, sample_weight=None):
        """Finds clusters, and returns the distances of the points to all centroids."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict(self, X):
        """The nearest centroid of each point: int32, of shape (n_samples,)."""
        if _in_chunks(X):
            return self._chunks().predict(self, X)
        return _native.kmeans_predict(self._points(X), self._centroids(), self._centre)

    def transform(self, X):
        """The distance from each point to each centroid: of shape (n_samples, n_clusters)."""
        if _in_chunks(X):
            return self._chunks().transform(self, X)
        return _native.kmeans_transform(self._points(X), self._centroids(), self._centre)

    def _chunks(self):
        from .dask import _kmeans

        check_is_fitted(self)
        return _kmeans

    def score(self, X, y=None, sample_weight=None):
        """The negative of the inertia that the points have with these centroids."""
        distances = _native.kmeans_transform(self._points(X), self._centroids(), self._centre)
        least = np.min(_native.on_host(distances), axis=1)
        squares = least.astype(np.float64) ** 2
        weights = _weights(sample_weight, len(squares))
        return -float(_native.sum(squares if weights is None else squares * weights))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _centroids(self):
        return np.ascontiguousarray(_native.on_host(self.cluster_centers_), self._centre.dtype)

    def _there(self, there, reset):
        """The shape of points on a GPU, and whether they are float64. They are checked there, but for these."""
        shape, dtype = there
        if len(shape) != 2:
            raise ValueError(f"Expected 2D array, got {len(shape)}D array instead.")
        if dtype not in ("f64", "f32", "f16", "bf16"):
            raise TypeError(f"points on a GPU must be floats, these are {dtype}: cast them first")
        if reset:
            self.n_features_in_ = shape[1]
            return shape, dtype == "f64"
        if shape[1] != self.n_features_in_:
            name, n = type(self).__name__, self.n_features_in_
            raise ValueError(f"X has {shape[1]} features, but {name} is expecting {n} features as input.")
        if (dtype == "f64") != (self._centre.dtype == np.float64):
            raise TypeError(f"points on a GPU are {dtype}, the centers {self._centre.dtype}: cast the points first")
        return shape, dtype == "f64"

    def _points(self, X):
        check_is_fitted(self)
        there = _native.on_gpu(X)
        if there is not None:
            self._there(there, reset=False)
            return X
        X = validate_data(self, _ordered(X), dtype=_FLOATS, reset=False)
        wide = self._centre.dtype == np.float64
        return X.astype(self._centre.dtype) if wide != (X.dtype == np.float64) else X

    def _starts(self, X, dtype, features):
        """First centroids or how they are drawn, the number of runs, and the seed."""
        runs, init = self.n_init, self.init
        if isinstance(init, str):
            runs = (10 if init == "random" else 1) if runs == "auto" else runs
            return [(init, runs, _seed(self.random_state))]
        if callable(init):
            state = self.random_state
            if not isinstance(state, (np.random.RandomState, np.random.Generator)):
                state = np.random.RandomState(_seed(state) % 2**32)
            drawn = [init(X, self.n_clusters, random_state=state) for _ in range(10 if runs == "auto" else runs)]
            return [(self._given(one, features, dtype), 1, 0) for one in drawn]
        if runs not in ("auto", 1):
            warnings.warn(
                f"Explicit initial center position passed: performing only one init instead of n_init={runs}.",
                RuntimeWarning,
                stacklevel=3,
            )
        return [(self._given(init, features, dtype), 1, 0)]

    def _given(self, init, features, dtype):
        init = np.ascontiguousarray(_native.on_host(init), dtype)
        if init.shape != (self.n_clusters, features):
            raise ValueError(
                f"The shape of the initial centers {init.shape} does not match the number of clusters "
                f"{self.n_clusters} and the number of features of the data {features}."
            )
        return init

    def _check(self):
        for name, least in (("n_clusters", 1), ("max_iter", 1), ("n_init", 1)):
            value = getattr(self, name)
            if name == "n_init" and isinstance(value, str) and value == "auto":
                continue
            if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")
        if not isinstance(self.tol, numbers.Real) or not self.tol >= 0:
            raise ValueError(f"tol must be a number of at least 0, not {self.tol!r}")
        if isinstance(self.init, str) and self.init not in ("k-means++", "random"):
            raise ValueError(f"init must be 'k-means++', 'random', an array or a callable, not {self.init!r}")
        if self.algorithm not in ("lloyd", "elkan"):
            raise ValueError(f"algorithm must be 'lloyd' or 'elkan', not {self.algorithm!r}")


def _in_chunks(X):
    """Whether points are a dask array, which is imported only then."""
    return type(X).__module__.startswith("dask.array")


def _ordered(X):
    """Points of NumPy's in this machine's byte order: scikit-learn would make others float64."""
    if hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray):
        X = np.asarray(X)
    return X.astype(X.dtype.newbyteorder("=")) if isinstance(X, np.ndarray) and not X.dtype.isnative else X


def _weights(given, n):
    """Weights as float64; None if all are one."""
    if given is None or isinstance(given, numbers.Real):
        return None
    weights = np.ascontiguousarray(given, np.float64)
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, not of shape {weights.shape}")
    if len(weights) != n:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({n},)!")
    return weights


def _seed(state):
    """A seed of 64 bits from what scikit-learn calls a random state."""
    if state is None or state is np.random:
        state = np.random.mtrand._rand
    if isinstance(state, numbers.Integral):
        return int(state) % 2**64
    if isinstance(state, np.random.RandomState):
        return int(state.randint(0, 2**31 - 1))
    if isinstance(state, np.random.Generator):
        return int(state.integers(0, 2**63))
    raise ValueError(f"{state!r} cannot be used to seed random numbers: give an integer")


def _tell(run, iteration, inertia):
    print(f"run {run}, iteration {iteration}: inertia {inertia}")
