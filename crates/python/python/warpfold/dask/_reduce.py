"""The reductions: a chunk is mapped to a state, states are merged by Dask's tree, the last one is finished.

A state knows its place in the whole, so neither the chunks nor the order in which they are merged change the result.
"""

import itertools
import math
import threading
from functools import partial

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph
from dask.sizeof import sizeof

import warpfold as wf
from warpfold import Spans

# States that one task merges, if the caller does not say.
MERGED = 32
# How the options of a reduction are called by a state.
_OF_STATES = {"dtype": "result_dtype"}


@sizeof.register(Spans)
def _size(state):
    """About how many bytes a state has: Dask moves and spills by this."""
    return state.nbytes


def threads():
    """One thread for a task of Dask's threads, whose number is Dask's business; all of Warpfold's for its caller."""
    return None if threading.current_thread() is threading.main_thread() else 1


def joined(states, new):
    """One state of several, which are left as they are; `new` makes an empty one for outputs of a shape."""
    if len(states) == 1:
        return states[0]
    merged = new(states[0].shape)
    merged.merge(*states)
    return merged


class _Reduction:
    """A reduction of an array whose chunks are known: what tasks take with them."""

    def __init__(self, op, dtype, axis, chunks, masked, options):
        self.op, self.dtype, self.axis = op, dtype, axis
        self.masked, self.options = masked, options
        self.total = [sum(chunks[a]) for a in axis]
        self.starts = [starts_of(chunks[a]) for a in axis]

    def __dask_tokenize__(self):
        return (self.op, str(self.dtype), self.axis, self.total, self.masked, sorted(map(repr, self.options.items())))

    def _state(self, kept):
        return Spans(self.op, self.dtype, tuple(kept), masked=self.masked, **self.options)

    def chunk(self, x, mask=None, *, block_id):
        """The state of one chunk."""
        state = self._state(n for a, n in enumerate(x.shape) if a not in self.axis)
        place = [starts[block_id[a]] for a, starts in zip(self.axis, self.starts)]
        state.add(x, self.axis, place, self.total, where=mask, threads=threads())
        return state

    def merge(self, states):
        """One state of many. Those that Dask holds are left as they are: it may give them to another task, too."""
        return joined(states, self._state)

    def finish(self, states, keepdims):
        """The result of all states."""
        return self._result(self.merge(states), keepdims)

    def half(self, state, which, keepdims):
        """The least or the greatest elements of a minmax."""
        return self._result(state, keepdims, (..., which))

    def _result(self, state, keepdims, which=()):
        found = np.array(np.asarray(state.finish(math.prod(self.total)))[which], order="C")
        # Without axes a scalar, as Dask's own reductions give it.
        return np.expand_dims(found, self.axis) if keepdims else found[()]


def whole(x):
    """The array, whose chunks must be known, and not masked."""
    if any(math.isnan(n) for chunks in x.chunks for n in chunks):
        raise ValueError(
            "the lengths of some chunks are unknown, and the tree of a reduction needs the place of each: "
            "call x.compute_chunk_sizes() first"
        )
    if isinstance(x._meta, np.ma.MaskedArray):
        raise TypeError("masked chunks are not taken: give da.ma.getdata(x), and where=~da.ma.getmaskarray(x)")
    return x


def spread(mask, x):
    """A mask in the shape and the chunks of `x`."""
    if mask.dtype != bool:
        raise TypeError(f"where must be of bool, not {mask.dtype}")
    ends = x.shape[x.ndim - mask.ndim :] if mask.ndim <= x.ndim else ()
    if len(ends) != mask.ndim or any(n not in (1, end) for n, end in zip(mask.shape, ends)):
        raise ValueError(f"where of shape {mask.shape} does not broadcast to {x.shape}")
    parts = zip(mask.shape, x.chunks[x.ndim - mask.ndim :])
    chunks = tuple((n,) if n == 1 else chunks for n, chunks in parts)
    return da.broadcast_to(mask.rechunk(chunks), x.shape, chunks=x.chunks)


def starts_of(chunks):
    """The index at which each chunk of an axis begins."""
    return (0, *np.cumsum(chunks, dtype=np.int64)[:-1].tolist())


def reduce(op, x, axis=None, *, keepdims=False, where=None, split_every=None, **options):
    """Reduces `x` by `op`, the name of a function of `warpfold`."""
    options = {name: value for name, value in options.items() if value is not None}
    function = getattr(wf, op)
    if not isinstance(x, da.Array):
        if isinstance(where, da.Array):
            x = da.asarray(x)
        else:
            masked = {} if where is None else {"where": where}
            return function(x, axis=axis, keepdims=keepdims, **masked, **options)
    x = whole(x)
    # An array of ones, or of nothing, finds wrong arguments and the dtype of the result.
    little = np.ones([min(n, 1) for n in x.shape], x.dtype)
    like = function(little, axis=axis, keepdims=True, **options)
    dtype = (like[0] if op == "minmax" else like).dtype
    if axis is None:
        axis = range(x.ndim)
    axis = tuple(sorted(a % x.ndim for a in np.atleast_1d(np.asarray(axis, np.intp)).tolist()))

    masked = where is not None and where is not True
    named = {_OF_STATES.get(name, name): value for name, value in options.items()}
    reduction = _Reduction(op, x.dtype, axis, x.chunks, masked, named)
    arrays = [x]
    if masked:
        arrays.append(spread(da.asarray(where), x))
    states = da.map_blocks(
        reduction.chunk,
        *arrays,
        chunks=tuple((1,) * len(c) if a in axis else c for a, c in enumerate(x.chunks)),
        dtype=object,
        meta=np.empty((0,) * x.ndim, object),
        name=f"warpfold-{op}-{tokenize(reduction, *(array.name for array in arrays))}",
    )
    kept = x.ndim if keepdims else x.ndim - len(axis)
    last = reduction.merge if op == "minmax" else partial(reduction.finish, keepdims=keepdims)
    meta = np.empty((0,) * kept, object if op == "minmax" else dtype)
    # Dask's planner of arrays takes no graphs.
    planned = getattr(da, "array_expr_enabled", bool)()
    result = (_planned if planned else _tree)(states, reduction, last, keepdims, meta, _merged(axis, split_every))
    if op != "minmax":
        return result
    return tuple(
        result.map_blocks(reduction.half, which, keepdims, dtype=dtype, meta=np.empty((0,) * kept, dtype))
        for which in (0, 1)
    )


def _merged(axis, split_every):
    """How many states one task merges along each axis."""
    if split_every is None or split_every is False:
        return dict.fromkeys(axis, MERGED)
    if isinstance(split_every, dict):
        return {a: max(int(split_every.get(a, 2)), 2) for a in axis}
    if isinstance(split_every, int):
        return dict.fromkeys(axis, max(split_every, 2))
    raise ValueError(f"split_every must be an integer or a dict of them by axis, not {split_every!r}")


def _planned(states, reduction, last, keepdims, meta, every):
    """As `_tree`, by Dask's own reduction."""

    def flat(states):
        return [one for some in states for one in flat(some)] if isinstance(states, list) else [states]

    def step(function, states, axis=None, keepdims=None, computing_meta=False):
        return meta if computing_meta else function(flat(states))

    def same(state, axis=None, keepdims=None, computing_meta=False):
        return state

    options = {"dtype": meta.dtype, "concatenate": False, "meta": meta, "split_every": every}
    merge, last = partial(step, reduction.merge), partial(step, last)
    return da.reduction(states, same, last, combine=merge, axis=reduction.axis, keepdims=keepdims, **options)


def _tree(states, reduction, last, keepdims, meta, every):
    """The array whose blocks `last` makes of all states along the axes.

    Neighbours merge axis by axis, the innermost first, as its chunks are the ones that join. (`dask.array.reduction`
    would put a task that does nothing before each chunk's, and a graph in a graph takes Dask longer than a small sum.)
    """
    axis, blocks, graph = reduction.axis, list(states.numblocks), {}
    name = f"warpfold-{reduction.op}-{tokenize(states.name, reduction, keepdims, sorted(every.items()))}"

    def merge(source, along, most, function, key):
        """Adds the tasks that merge up to `most` neighbours along an axis; without one, each block is by itself."""
        counts = [math.ceil(n / most) if a == along else n for a, n in enumerate(blocks)]
        for index in itertools.product(*map(range, counts)):
            ranges = [[i] for i in index]
            if along is not None:
                first = index[along] * most
                ranges[along] = range(first, min(first + most, blocks[along]))
            graph[key(index)] = (function, [(source, *at) for at in itertools.product(*ranges)])
        blocks[:] = counts

    source = states.name
    for a in reversed(axis):
        # The last of all tasks merges along the outermost axis.
        while blocks[a] > (every[a] if a == axis[0] else 1):
            level = f"{name}-{len(graph)}"
            merge(source, a, every[a], reduction.merge, lambda index, level=level: (level, *index))
            source = level
    kept = [a for a in range(states.ndim) if keepdims or a not in axis]
    most = every[axis[0]] if axis else 1
    merge(source, axis[0] if axis else None, most, last, lambda index: (name, *(index[a] for a in kept)))
    graph = HighLevelGraph.from_collections(name, graph, dependencies=[states])
    return da.Array(graph, name, tuple(states.chunks[a] if a not in axis else (1,) for a in kept), meta=meta)
