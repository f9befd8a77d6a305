"""Reductions of dask arrays with the bits of the array in one piece, whatever its chunks.

>>> import dask.array as da
>>> import warpfold as wf
>>> x = da.ones((1000, 3), dtype="f4", chunks=(301, 2))
>>> wf.dask.mean(x, axis=0).compute()
array([1., 1., 1.], dtype=float32)

Each chunk becomes a `warpfold.Spans`: the nodes of the reduction's tree that the chunk covers. States join as they
become adjacent, in any order, on any scheduler, and the last one makes the result. Nothing is computed before Dask
asks.
What is no dask array is reduced at once, by the function of the same name in `warpfold`.
"""

from ._groups import group_by
from ._functions import FUNCTIONS

globals().update(FUNCTIONS)

__all__ = ["group_by", *sorted(FUNCTIONS)]
