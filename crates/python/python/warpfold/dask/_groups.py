"""Reductions by label of a dask array, with the bits of the array in one piece.

Group k is the sequence of the rows whose label is k. A chunk has a state for each label in it, which begins at the
rank of the chunk's first row of that label, as counts of labels in the chunks before say. States of one label merge.
"""

import math

import dask
import dask.array as da
import numpy as np

import warpfold as wf
from warpfold import Spans

from ._reduce import _OF_STATES, joined, spread, threads, whole


class _Groups:
    """A reduction by label: what tasks take with them."""

    def __init__(self, op, dtype, result, groups, fill, masked, options):
        self.op, self.dtype, self.result, self.groups, self.fill = op, dtype, result, groups, fill
        self.masked, self.options = masked, options

    def __dask_tokenize__(self):
        named = sorted(map(repr, self.options.items()))
        return (self.op, str(self.dtype), str(self.result), self.groups, self.fill, self.masked, named)

    def count(self, labels):
        """The number of rows of each label."""
        return np.asarray(wf.group_by(np.ones(len(labels), "?"), labels, "size", self.groups))

    def places(self, counts):
        """The rank of the first row of each label in each chunk, and the number of rows of each label."""
        ends = np.cumsum(np.stack(counts), axis=0)
        return ends - counts, ends[-1]

    def _state(self, kept):
        return Spans(self.op, self.dtype, tuple(kept), masked=self.masked, **self.options)

    def chunk(self, x, labels, places, at, mask=None):
        """For each label in a chunk its state; or the row that is its first or last."""
        starts, totals = places
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(self.groups + 1))
        found = {}
        for k in np.flatnonzero(np.diff(ends)).tolist():
            rows = order[ends[k] : ends[k + 1]]
            if self.op in ("first", "last"):
                found[k] = x[rows[0 if self.op == "first" else -1]]
                continue
            state = self._state(x.shape[1:])
            where = None if mask is None else mask[rows]
            state.add(x[rows], 0, int(starts[at, k]), int(totals[k]), where=where, threads=threads())
            found[k] = state
        return found

    def merge(self, parts):
        """The states of several chunks, which are in their order. What Dask holds is left as it is."""
        lists = {}
        for part in parts:
            for k, state in part.items():
                lists.setdefault(k, []).append(state)
        if self.op in ("first", "last"):
            return {k: states[0 if self.op == "first" else -1] for k, states in lists.items()}
        return {k: joined(states, self._state) for k, states in lists.items()}

    def finish(self, parts, places, kept, labels=None):
        """The results of all labels: an array of the shape (groups, *kept)."""
        merged, totals = self.merge(parts), places[1]
        results = np.empty((self.groups, *kept), self.result)
        for k in range(self.groups):
            results[k] = self._one(k, merged.get(k), int(totals[k]), kept)
        if labels is not None:
            # Ranks among the rows of a label, as indices of all rows.
            order = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
            first = np.cumsum(totals) - totals
            there = totals > 0
            places = first[there].reshape(-1, *(1,) * len(kept)) + results[there]
            results[there] = order[places]
        return results

    def _one(self, k, state, total, kept):
        if state is None and self.fill is not None and not _has_empty(self.op):
            return self.fill
        if self.op in ("first", "last"):
            if state is None:
                raise ValueError(f"group {k} is empty, and {self.op} of nothing has no result: give fill=")
            return state
        try:
            return (self._state(kept) if state is None else state).finish(total)
        except ValueError as error:
            raise ValueError(f"group {k}: {error}") from error


def _has_empty(op):
    """Whether the reduction of nothing has a result."""
    return not op.endswith(("min", "max", "first", "last"))


def group_by(
    values,
    labels,
    op=None,
    num_groups=None,
    *,
    fill=None,
    dtype=None,
    where=None,
    ddof=None,
    precision=None,
    split_every=None,
):
    """Reduces the elements of each label along the first axis: group k is ``values[labels == k]``.

    As ``warpfold.group_by``, of arrays in chunks, and with the same bits.

    Parameters
    ----------
    values : dask.array.Array
        With at least one axis, and chunks of known lengths.
    labels : array of int
        One for each index of the first axis; NumPy's or Dask's. An element of label -1 belongs to no group.
    op : str or list of str
        By default the sum. The name of a reduction, or ``"first"``, ``"last"``, ``"size"``; or several.
    num_groups : int
        May be left out if the labels are no dask array: one more than the greatest label.
    fill : number, optional
        The result of a group without elements, where it has none. Without it such a group is a ValueError.
    dtype, where, ddof, precision
        As those of the reduction.
    split_every : int, optional
        How many states are merged by one task; by default 8. The result does not depend on it.

    Returns
    -------
    dask.array.Array, or dict of them by the names
        Lazy, with an axis of groups in place of the first axis.

    Raises
    ------
    TypeError, ValueError
        As ``warpfold.group_by``; what depends on labels in chunks, when it is computed.

    Examples
    --------
    >>> import dask.array as da, warpfold as wf
    >>> x = da.from_array([1.0, 2.0, 3.0, 4.0], chunks=3)
    >>> wf.dask.group_by(x, [2, 0, 2, -1], "sum").compute()
    array([2., 0., 4.])
    """
    options = {"dtype": dtype, "ddof": ddof, "precision": precision}
    options = {name: value for name, value in options.items() if value is not None}
    if not isinstance(values, da.Array) and not isinstance(labels, da.Array) and not isinstance(where, da.Array):
        return wf.group_by(values, labels, op, num_groups, fill=fill, where=where, **options)
    if op is not None and not isinstance(op, str):
        shared = {"fill": fill, "where": where, "split_every": split_every, **options}
        return {name: group_by(values, labels, name, num_groups, **shared) for name in op}
    op = op or "sum"
    values = whole(da.asarray(values))
    if values.ndim == 0:
        raise ValueError("values must have at least one axis")
    if not isinstance(labels, da.Array):
        labels = np.asarray(labels)
        if num_groups is None:
            num_groups = max(int(labels.max(initial=-1)) + 1, 0) if labels.dtype.kind in "iu" else 0
        labels = da.from_array(labels, chunks=-1)
    if num_groups is None:
        raise ValueError("give num_groups: labels in chunks are not looked at before the result is computed")
    if labels.shape != values.shape[:1]:
        raise ValueError(f"labels of shape {labels.shape} are not one for each of {values.shape[0]} rows")
    little = np.ones((1,) * values.ndim, values.dtype)
    # Finds wrong arguments, and the dtype of the result.
    like = wf.group_by(little, np.zeros(1, labels.dtype), op, 1, fill=fill, **options)
    named = {_OF_STATES.get(name, name): value for name, value in options.items()}
    every = 8 if split_every is None else split_every
    if not isinstance(every, int) or every < 2:
        raise ValueError(f"split_every must be an integer of at least 2, not {split_every!r}")
    masked = where is not None and where is not True
    groups = _Groups(op, values.dtype, like.dtype, num_groups, fill, masked, named)
    mask = spread(da.asarray(where), values) if masked else None
    return _graph(groups, values, labels.rechunk((values.chunks[0],)), mask, every)


def _graph(groups, values, labels, mask, every):
    def task(function):
        return dask.delayed(function, pure=True)

    pieces = list(labels.to_delayed())
    places = task(groups.places)([task(groups.count)(piece) for piece in pieces])
    if groups.op == "size":
        return da.from_delayed(task(_second)(places), (groups.groups,), groups.result)
    whole_labels = task(np.concatenate)(pieces) if "arg" in groups.op else None
    parts = values.to_delayed()
    masks = None if mask is None else mask.to_delayed()
    results = np.empty((1, *parts.shape[1:]), object)
    for at in np.ndindex(*parts.shape[1:]):
        states = []
        for i, piece in enumerate(pieces):
            own = () if masks is None else (masks[(i, *at)],)
            states.append(task(groups.chunk)(parts[(i, *at)], piece, places, i, *own))
        while len(states) > every:
            states = [task(groups.merge)(states[i : i + every]) for i in range(0, len(states), every)]
        kept = tuple(chunks[i] for chunks, i in zip(values.chunks[1:], at))
        last = task(groups.finish)(states, places, kept, whole_labels)
        results[(0, *at)] = da.from_delayed(last, (groups.groups, *kept), groups.result)
    if math.prod(results.shape) == 0:
        return da.empty((groups.groups, *values.shape[1:]), dtype=groups.result)
    return da.block(results.tolist())


def _second(pair):
    return pair[1]
