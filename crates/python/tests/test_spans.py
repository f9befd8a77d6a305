"""Reductions in pieces have the bits of the whole, whatever the pieces."""

import pickle

import numpy as np
import pytest
from conftest import bits, cases

import warpfold as wf

OPS = ["sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero", "logsumexp",
       "norm", "nansum", "nanmean", "nanvar", "nanmax"]


@pytest.mark.parametrize("op", OPS)
def test_a_stream_has_the_bits_of_the_whole(op, rng):
    for _ in range(cases(10)):
        dtype = rng.choice(["f2", "f4", "f8", "i4", "u1", "?"])
        n = int(rng.integers(1, 3000))
        x = (rng.standard_normal(n) * 3 + 50).astype(dtype)
        ends = [0, *np.sort(rng.integers(0, n + 1, 4)).tolist(), n]
        streams = []
        for a, b in zip(ends, ends[1:]):
            stream = wf.Stream(op, dtype, start=a)
            stream.push(x[a : (a + b) // 2])
            stream.push(x[(a + b) // 2 : b])
            streams.append(pickle.loads(pickle.dumps(stream)))
        for right in range(len(streams) - 1, 0, -1):
            streams[right - 1].merge(streams[right])
        assert streams[0].count == n
        assert bits(streams[0].finish()) == bits(getattr(wf, op)(x)), (dtype, n)


def test_a_stream_can_go_on():
    x = np.arange(10, dtype="f8")
    stream = wf.Stream("sum", float)
    assert stream.finish() == 0
    stream.push(x[:3])
    assert stream.finish() == 3
    stream.push(x[3])
    stream.push(x[4:])
    assert stream.finish() == 45 and stream.op == "sum" and "10 elements" in repr(stream)
    masked = wf.Stream("var", "f4", masked=True, correction=1)
    masked.push(x.astype("f4"), where=x > 4)
    masked.push(x.astype("f4"))
    both = np.r_[x, x].astype("f4")
    assert masked.finish() == wf.var(both, where=np.r_[x > 4, x > -1], correction=1)


def test_what_a_stream_refuses():
    stream = wf.Stream("max", "f4")
    for call in [
        lambda: stream.finish(),
        lambda: stream.push(np.ones(3)),
        lambda: stream.push(np.ones((3, 3), "f4")),
        lambda: stream.push(np.ones(3, "f4"), where=[True, False, True]),
        lambda: stream.merge(wf.Stream("max", "f4", start=3)),
        lambda: stream.merge(wf.Stream("min", "f4")),
        lambda: stream.merge(stream),
        lambda: wf.Stream("nonsense", "f4"),
        lambda: wf.Stream.from_bytes(b"nonsense"),
        lambda: wf.Stream("max", "f4", start=5).finish(),
    ]:
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        wf.Stream("max", "f4", ddof=1)
    with pytest.raises(TypeError):
        wf.Stream("max")


@pytest.mark.parametrize("op", OPS)
def test_chunks_in_any_order_have_the_bits_of_the_whole(op, rng):
    for _ in range(cases(6)):
        shape = tuple(int(n) for n in rng.integers(1, 40, 3))
        x = (rng.standard_normal(shape) * 3 + 50).astype(rng.choice(["f4", "f8", "i2"]))
        axis = tuple(sorted(rng.permutation(3)[: rng.integers(1, 4)].tolist()))
        cuts = [[0, int(rng.integers(0, n + 1)), n] if a in axis else [0, n] for a, n in enumerate(shape)]
        cuts = [sorted(c) for c in cuts]
        chunks = [
            ((a, b), (c, d), (e, f))
            for a, b in zip(cuts[0], cuts[0][1:])
            for c, d in zip(cuts[1], cuts[1][1:])
            for e, f in zip(cuts[2], cuts[2][1:])
        ]
        kept = tuple(n for a, n in enumerate(shape) if a not in axis)
        total = [shape[a] for a in axis]
        states = []
        for i in rng.permutation(len(chunks)):
            chunk = chunks[i]
            state = wf.Spans(op, x.dtype, kept)
            part = x[tuple(slice(*c) for c in chunk)]
            state.add(part, axis, [chunk[a][0] for a in axis], total)
            states.append(pickle.loads(pickle.dumps(state)))
        while len(states) > 1:
            states[0].merge(states.pop())
        found = states[0].finish(int(np.prod(total)))
        assert bits(found) == bits(getattr(wf, op)(x, axis)), (x.dtype, shape, axis)


def test_what_spans_refuse():
    state = wf.Spans("sum", "f8", (2,))
    state.add(np.ones((2, 3)), axis=1, start=0, total=5)
    assert state.ranges == [(0, 3)] and state.shape == (2,) and state.op == "sum"
    for call in [
        lambda: state.finish(5),
        lambda: state.add(np.ones((2, 3)), axis=1, start=2, total=5),
        lambda: state.add(np.ones((2, 3)), axis=1, start=3, total=5),
        lambda: state.add(np.ones((3, 2)), axis=1, start=3, total=5),
        lambda: state.add(np.ones((2, 2), "f4"), axis=1, start=3, total=5),
        lambda: state.add(np.ones((2, 2)), axis=2, start=3, total=5),
        lambda: state.add(np.ones((2, 2)), axis=1, start=(3, 4), total=5),
        lambda: state.merge(wf.Spans("sum", "f8", (3,))),
        lambda: state.merge(state),
        lambda: wf.Spans.from_bytes(state.to_bytes()[:-1]),
        lambda: wf.Spans("sum", "f8", (1 << 62, 1 << 62)),
    ]:
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        state.add(np.ones((2, 2)), axis=1, start=-1, total=5)
    state.add(np.ones((2, 2)), axis=-1, start=[3], total=[5])
    assert state.finish(5).tolist() == [5, 5]
