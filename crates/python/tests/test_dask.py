"""`wf.dask`: any chunks, any scheduler, any order of merging have the bits of the array in one piece."""

import doctest
import inspect
import subprocess
import sys

import numpy as np
import pytest
from conftest import bits, cases, random_axis

import warpfold as wf

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

import warpfold.dask as wd  # noqa: E402

OPS = sorted(set(wd.__all__) - {"group_by", "minmax"})
FEW = ["sum", "nanvar", "argmax", "logsumexp", "count_nonzero", "min"]


def random_chunks(rng, shape):
    """Cuts anywhere: even, ragged, of length 1, and now and then of length 0."""
    chunks, most = [], 6 if len(shape) < 3 else 3
    for n in shape:
        ends = np.sort(rng.integers(0, n + 1, rng.integers(0, most)))
        if rng.random() < 0.7:
            ends = np.unique(ends[(ends > 0) & (ends < n)])
        chunks.append(tuple(np.diff([0, *ends.tolist(), n]).tolist()))
    return tuple(chunks)


def arrays(rng):
    flat = (rng.standard_normal(5003) * 100).astype("f4")
    table = rng.standard_normal((67, 130))
    table[rng.random(table.shape) < 0.1] = np.nan
    cube = (rng.standard_normal((9, 33, 17)) * 10 + 1000).astype("f2")
    whole = rng.integers(-50, 50, (5, 40, 6, 3)).astype("i2")
    return [flat, table, cube, whole]


@pytest.mark.parametrize("which", range(4))
def test_twenty_chunkings_have_the_bits_of_the_whole(which, rng):
    x = arrays(rng)[which]
    with dask.config.set(scheduler="sync"):
        for _ in range(cases(20)):
            axis = random_axis(rng, x.ndim)
            d = da.from_array(x, chunks=random_chunks(rng, x.shape))
            every = [None, 2, 3, 16][rng.integers(4)]
            ops = rng.choice(OPS, 7, replace=False)
            lazy = [getattr(wd, op)(d, axis=axis, split_every=every) for op in ops]
            for op, one, found in zip(ops, lazy, dask.compute(*lazy)):
                want = getattr(wf, op)(x, axis=axis)
                assert one.shape == want.shape and one.dtype == want.dtype, op
                assert bits(found) == bits(want), (op, axis, d.chunks, every)


def test_options(rng):
    x = (rng.standard_normal((40, 50, 3)) * 5).astype("f4")
    mask = rng.random((50, 1)) < 0.6
    with dask.config.set(scheduler="sync"):
        for _ in range(cases(4)):
            d = da.from_array(x, chunks=random_chunks(rng, x.shape))
            m = da.from_array(mask, chunks=random_chunks(rng, mask.shape))
            axis = random_axis(rng, 3)
            for op, options in [
                ("sum", {"initial": 5, "keepdims": True}),
                ("sum", {"dtype": "f8"}),
                ("mean", {"precision": "compensated", "dtype": np.float64}),
                ("var", {"ddof": 1}),
                ("std", {"correction": 2.0}),
                ("norm", {"ord": np.inf}),
                ("max", {"initial": 100.0}),
                ("argmin", {"keepdims": True}),
            ]:
                want = getattr(wf, op)(x, axis=axis, **options)
                assert bits(getattr(wd, op)(d, axis=axis, **options).compute()) == bits(want), (op, options)
                if op != "argmin" and "dtype" not in options:
                    want = getattr(wf, op)(x, axis=axis, where=mask, **options)
                    for where in (mask, m):
                        found = getattr(wd, op)(d, axis=axis, where=where, **options)
                        assert bits(found.compute()) == bits(want), (op, options)


def test_minmax_and_axes_that_are_none(rng):
    x = rng.standard_normal((30, 40))
    d = da.from_array(x, chunks=(7, 11))
    for axis in (None, 0, -1, (0, 1), ()):
        for found, want in zip(dask.compute(*wd.minmax(d, axis=axis)), wf.minmax(x, axis=axis)):
            assert bits(found) == bits(want)
        assert bits(wd.sum(d, axis=axis).compute()) == bits(wf.sum(x, axis=axis))
    least, _ = wd.minmax(d, axis=0, keepdims=True)
    assert least.shape == least.compute().shape == (1, 40)
    assert wd.sum(da.from_array(np.array(2.5))).compute() == 2.5
    empty = da.zeros((0, 3), chunks=2)
    assert wd.sum(empty, axis=0).compute().tolist() == [0, 0, 0]
    assert wd.sum(empty, axis=1).compute().shape == (0,)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_schedulers(scheduler, rng):
    x = (rng.standard_normal((700, 90)) * 30).astype("f4")
    x[::9, ::7] = np.nan
    d = da.from_array(x, chunks=((300, 101, 299), (64, 26)))
    lazy = [getattr(wd, op)(d, axis=axis) for op in FEW for axis in (None, 0)]
    want = [getattr(wf, op)(x, axis=axis) for op in FEW for axis in (None, 0)]
    for found, whole in zip(dask.compute(*lazy, scheduler=scheduler, num_workers=2), want):
        assert bits(found) == bits(whole)


def test_results_are_lazy_and_named_alike():
    def never(block):
        raise AssertionError("nothing is to be computed yet")

    d = da.ones((10, 10), chunks=3).map_blocks(never, dtype="f8", meta=np.empty((0, 0)))
    result = wd.var(d, axis=0, ddof=1)
    assert isinstance(result, da.Array) and result.shape == (10,) and result.dtype == "f8"
    assert result.name == wd.var(d, axis=0, ddof=1).name != wd.var(d, axis=0).name
    both = (wd.sum(da.ones((10, 10), chunks=3)) + 1) * 2
    assert both.compute() == 202


def test_other_arrays_are_reduced_at_once():
    x = np.arange(6.0).reshape(2, 3)
    assert bits(wd.sum(x, axis=0)) == bits(wf.sum(x, axis=0))
    assert wd.minmax([3, 1]) == (1, 3)
    assert wd.sum(x, where=da.from_array(x > 2)).compute() == 12


def test_wrong_arguments_are_errors_at_once():
    d = da.ones((4, 6), chunks=2)
    with pytest.raises(np.exceptions.AxisError):
        wd.sum(d, axis=2)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        wd.sum(d[d > 0])
    with pytest.raises(ValueError):
        wd.max(da.ones((0, 3), chunks=2), axis=0)
    with pytest.raises(ValueError):
        wd.var(d, ddof=1, correction=1)
    for wrong in (lambda: wd.sum(d.astype(complex)), lambda: wd.sum(d, nonsense=1), lambda: wd.min(d, ddof=1)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError, match="bool"):
        wd.sum(d, where=np.ones((4, 6)))
    with pytest.raises(TypeError, match="getmaskarray"):
        wd.sum(da.ma.masked_greater(d, 3))


@pytest.mark.parametrize("name", wd.__all__)
def test_examples(name):
    test = doctest.DocTestParser().get_doctest(getattr(wd, name).__doc__, {}, name, None, 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0


def test_the_example_of_the_module():
    names = {}
    test = doctest.DocTestParser().get_doctest(wd.__doc__, names, "warpfold.dask", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_importing_warpfold_imports_no_dask():
    code = "import warpfold, sys; assert not {'dask', 'sklearn', 'xarray', 'flox'} & set(sys.modules); warpfold.dask.sum"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_split_every_is_as_dask_takes_it():
    """The result does not depend on the number of states that a task merges."""
    x = da.from_array(np.arange(60, dtype="f4").reshape(12, 5) / 7, chunks=(1, 2))
    for axis in (None, 0, ()):
        want = np.asarray(wf.sum(x.compute(), axis=axis)).tobytes()
        for every in (None, 1, 3, {0: 5, 1: 2}):
            for keepdims in (False, True):
                found = wf.dask.sum(x, axis=axis, keepdims=keepdims, split_every=every)
                assert np.asarray(found.compute()).tobytes() == want
                assert found.compute().shape == found.shape
    with pytest.raises(ValueError, match="split_every"):
        wf.dask.sum(x, split_every="2")


def test_odd_operands():
    x = np.arange(12.0).reshape(3, 4)
    d = da.from_array(x, chunks=2)
    assert np.isnan(wf.dask.max(d, initial=np.nan).compute())
    assert np.isnan(wf.dask.sum(d, axis=0, initial=np.nan).compute()).all()
    for shape in [(2, 4), (4, 3), (2, 3, 4), (0,)]:
        with pytest.raises(ValueError, match="does not broadcast"):
            wf.dask.sum(d, where=np.ones(shape, bool))
    assert wf.dask.sum(d, where=np.array([[True], [False], [True]])).compute() == x[::2].sum()


def test_the_planner_of_arrays_is_served():
    """Dask's planner is chosen before `dask.array` is imported, so a process of its own has it."""
    code = """
        import dask
        dask.config.set({"array.query-planning": True})
        import dask.array as da, numpy as np, warpfold as wf
        x = np.random.default_rng(0).random((40, 30), dtype="f4")
        d = da.from_array(x, chunks=(7, 11))
        for axis in (None, 0, 1):
            for keepdims in (False, True):
                lazy = wf.dask.sum(d, axis=axis, keepdims=keepdims)
                found, want = np.asarray(lazy.compute()), np.asarray(wf.sum(x, axis=axis, keepdims=keepdims))
                assert lazy.shape == want.shape and found.tobytes() == want.tobytes(), (axis, keepdims)
        assert dask.compute(*wf.dask.minmax(d)) == (x.min(), x.max())
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", inspect.cleandoc(code)], check=True)
