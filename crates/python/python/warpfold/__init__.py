"""Reductions over arrays with one result: the same bits on every CPU, GPU, thread count and layout.

>>> import numpy as np
>>> import warpfold as wf
>>> wf.mean(np.full((100_000, 2), 0.1, np.float32), axis=0)
array([0.1, 0.1], dtype=float32)

Arrays of NumPy, PyTorch, CuPy, JAX, pandas, polars and pyarrow are read where they are; the result is of the same kind.
What a result is, bit for bit, is written in docs/numerics.md.
"""

import numpy as _np  # noqa: F401 (the native module reads NumPy's structs)

from ._describe import Description, describe, devices, explain
from ._histogram import histogram
from ._native import (
    Error,
    Spans,
    Stream,
    __version__,
    all,
    any,
    argmax,
    argmin,
    bce_with_logits,
    bce_with_logits_backward,
    bincount,
    centroid_update,
    cosine_similarity,
    cosine_similarity_backward,
    count_nonzero,
    cross_entropy,
    dot,
    dot_backward,
    get_num_threads,
    group_by,
    huber,
    huber_backward,
    kl_div,
    kl_div_backward,
    l1,
    l1_backward,
    layer_norm,
    log_softmax,
    log_softmax_backward,
    logsumexp,
    max,
    mean,
    min,
    minmax,
    mse,
    mse_backward,
    nanargmax,
    nanargmin,
    nanlogsumexp,
    nanmax,
    nanmean,
    nanmin,
    nannorm,
    nanprod,
    nanstd,
    nansum,
    nanvar,
    norm,
    prod,
    reduce_by_key,
    rms_norm,
    segmented,
    set_num_threads,
    softmax,
    softmax_backward,
    std,
    sum,
    var,
)
from ._pool import MaxPool, TopK, avg_pool, avg_pool_backward, max_pool, max_pool_backward, top_k
from ._reference import tree_reference
from ._rows import (
    CrossEntropyLoss,
    NormGradients,
    cross_entropy_gradient,
    layer_norm_backward,
    rms_norm_backward,
)
from ._unique import unique_all, unique_counts, unique_inverse, unique_values

__all__ = [
    "CrossEntropyLoss",
    "Description",
    "Error",
    "KMeans",
    "MaxPool",
    "NormGradients",
    "Spans",
    "Stream",
    "TopK",
    "all",
    "any",
    "argmax",
    "argmin",
    "avg_pool",
    "avg_pool_backward",
    "bce_with_logits",
    "bce_with_logits_backward",
    "bincount",
    "centroid_update",
    "cosine_similarity",
    "cosine_similarity_backward",
    "count_nonzero",
    "cross_entropy",
    "cross_entropy_gradient",
    "describe",
    "devices",
    "dot",
    "dot_backward",
    "explain",
    "get_num_threads",
    "group_by",
    "histogram",
    "huber",
    "huber_backward",
    "kl_div",
    "kl_div_backward",
    "l1",
    "l1_backward",
    "layer_norm",
    "layer_norm_backward",
    "log_softmax",
    "log_softmax_backward",
    "logsumexp",
    "max",
    "max_pool",
    "max_pool_backward",
    "mean",
    "min",
    "minmax",
    "mse",
    "mse_backward",
    "nanargmax",
    "nanargmin",
    "nanlogsumexp",
    "nanmax",
    "nanmean",
    "nanmin",
    "nannorm",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "norm",
    "prod",
    "reduce_by_key",
    "rms_norm",
    "rms_norm_backward",
    "segmented",
    "set_num_threads",
    "softmax",
    "softmax_backward",
    "std",
    "sum",
    "top_k",
    "tree_reference",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "var",
]


def __getattr__(name):
    """Modules and classes that import other libraries, when they are asked for."""
    import importlib

    if name in ("array_api", "dask", "flox", "torch"):
        return importlib.import_module(f".{name}", __name__)
    if name == "KMeans":
        return importlib.import_module("._kmeans", __name__).KMeans
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
