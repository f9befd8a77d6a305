"""What `KMeans` is derived from without scikit-learn: parameters by name, and checks of points."""

import inspect

import numpy as np


class ConvergenceWarning(UserWarning):
    """Fewer clusters were found than asked for."""


class NotFittedError(ValueError, AttributeError):
    """The estimator has not been fitted."""


class Estimator:
    """Parameters are the arguments of the class, as in scikit-learn."""

    def get_params(self, deep=True):
        """The parameters by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params):
        """Sets parameters by name."""
        names = self.get_params()
        for name, value in params.items():
            if name not in names:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {[*names]!r}.")
            setattr(self, name, value)
        return self

    def get_feature_names_out(self, input_features=None):
        """The names of the columns of `transform`."""
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)

    def __repr__(self):
        defaults = inspect.signature(type(self)).parameters
        changed = {n: v for n, v in self.get_params().items() if v is not defaults[n].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


BASES = (Estimator,)


def check_is_fitted(estimator):
    """Refuses an estimator that has not been fitted."""
    if not hasattr(estimator, "cluster_centers_"):
        raise NotFittedError(f"This {type(estimator).__name__} instance is not fitted yet: call fit first.")


def validate_data(estimator, X, *, dtype, reset=True, ensure_min_samples=1):
    """The points as an array of floats with two axes."""
    X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        X = X.astype(dtype[0])
    if X.dtype not in dtype:
        X = X.astype(dtype[0])
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
    if len(X) < ensure_min_samples:
        raise ValueError(f"Found array with {len(X)} sample(s) while a minimum of {ensure_min_samples} is required.")
    if not np.isfinite(X).all():
        raise ValueError("Input X contains NaN or infinity.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
    elif X.shape[1] != estimator.n_features_in_:
        name, n = type(estimator).__name__, estimator.n_features_in_
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {n} features as input.")
    return X
