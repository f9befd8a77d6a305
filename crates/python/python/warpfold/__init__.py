"""Reductions over arrays with one result: the same bits on every CPU, GPU, thread count and layout.

>>> import numpy as np
>>> import warpfold as wf
>>> wf.mean(np.full((100_000, 2), 0.1, np.float32), axis=0)
array([0.1, 0.1], dtype=float32)

Arrays of NumPy, PyTorch, CuPy, JAX, pandas, polars and pyarrow are read where they are; the result is of the same kind.
What a result is, bit for bit, is written in docs/numerics.md.
"""

import numpy as _np  # noqa: F401 (the native module reads NumPy's structs)

from ._native import (
    Error,
    __version__,
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    get_num_threads,
    logsumexp,
    max,
    mean,
    min,
    minmax,
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
    set_num_threads,
    std,
    sum,
    var,
)

__all__ = [
    "Error",
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "get_num_threads",
    "logsumexp",
    "max",
    "mean",
    "min",
    "minmax",
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
    "set_num_threads",
    "std",
    "sum",
    "var",
]
