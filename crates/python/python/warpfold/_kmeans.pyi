"""The types of `warpfold.KMeans`."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

class KMeans:
    n_clusters: int
    init: Any
    n_init: Any
    max_iter: int
    tol: float
    verbose: int
    random_state: Any
    copy_x: bool
    algorithm: str
    device: str | None
    cluster_centers_: Any
    labels_: Any
    inertia_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Literal["k-means++", "random"] | NDArray[Any] | Callable[..., Any] = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        copy_x: bool = True,
        algorithm: Literal["lloyd", "elkan"] = "lloyd",
        device: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans: ...
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any: ...
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any: ...
    def predict(self, X: Any) -> Any: ...
    def transform(self, X: Any) -> Any: ...
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> KMeans: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...
    def set_output(self, *, transform: Any = None) -> KMeans: ...
