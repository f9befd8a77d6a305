"""`wf.dask.group_by`: any chunks of values and labels have the bits of `wf.group_by` of the whole."""

import numpy as np
import pytest
from conftest import bits, cases

import warpfold as wf

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

import warpfold.dask as wd  # noqa: E402
from test_dask import random_chunks  # noqa: E402

OPS = ["sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero",
       "logsumexp", "norm", "nansum", "nanmean", "nanvar", "nanmax", "first", "last", "size"]


@pytest.mark.parametrize("shape", [(500,), (120, 7), (60, 5, 4)])
def test_any_chunks_have_the_bits_of_the_whole(shape, rng):
    with dask.config.set(scheduler="sync"):
        for _ in range(cases(6)):
            x = (rng.standard_normal(shape) * 20 + 100).astype(rng.choice(["f4", "f8", "i2"]))
            groups = int(rng.integers(1, 12))
            labels = rng.integers(-1, groups, shape[0])
            labels[:groups] = np.arange(groups)
            if rng.random() < 0.3:
                labels.sort()
            d = da.from_array(x, chunks=random_chunks(rng, shape))
            in_chunks = da.from_array(labels, chunks=int(rng.integers(20, 60)))
            for op in rng.choice(OPS, 6, replace=False):
                want = wf.group_by(x, labels, op, groups)
                lazy = wd.group_by(d, labels, op, split_every=3)
                assert lazy.shape == want.shape and lazy.dtype == want.dtype
                assert bits(lazy.compute()) == bits(want), (op, x.dtype, d.chunks)
                assert bits(wd.group_by(d, in_chunks, op, groups).compute()) == bits(want), op


def test_options(rng):
    x = rng.standard_normal((200, 3)).astype("f4")
    labels, mask = rng.integers(0, 4, 200), rng.random((200, 3)) < 0.8
    d = da.from_array(x, chunks=(37, 2))
    for op, options in [("var", {"ddof": 1}), ("sum", {"dtype": "f8"}), ("mean", {"precision": "compensated"})]:
        want = wf.group_by(x, labels, op, 6, where=mask, **options)
        assert bits(wd.group_by(d, labels, op, 6, where=da.from_array(mask), **options).compute()) == bits(want)
    want = wf.group_by(x, labels, ["sum", "max"], 6, fill=-1)
    found = wd.group_by(d, labels, ["sum", "max"], 6, fill=-1)
    assert {name: bits(one.compute()) for name, one in found.items()} == {n: bits(w) for n, w in want.items()}
    for op in ("first", "argmax"):
        want = wf.group_by(x, labels, op, 6, fill=-1)
        assert bits(wd.group_by(d, labels, op, 6, fill=-1).compute()) == bits(want)
    assert bits(wd.group_by(x, labels, "sum")) == bits(wf.group_by(x, labels, "sum"))


def test_wrong_arguments():
    d = da.ones((6, 2), chunks=2)
    labels = np.array([0, 1, 0, 1, 0, 3])
    for call in [
        lambda: wd.group_by(d, labels[:4]),
        lambda: wd.group_by(d, da.from_array(labels)),
        lambda: wd.group_by(d, labels, "nonsense"),
        lambda: wd.group_by(d, labels, "sum", split_every=1),
        lambda: wd.group_by(d, labels, "max").compute(),
        lambda: wd.group_by(d, labels, "first").compute(),
        lambda: wd.group_by(d, labels, "sum", 2).compute(),
    ]:
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        wd.group_by(d, labels * 1.0, "sum", 2)
