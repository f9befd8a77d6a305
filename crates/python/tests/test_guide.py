"""The code of docs/python-xarray.md runs, and its patch adds the engine to the installed flox."""

import difflib
import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import bits

import warpfold as wf

pytest.importorskip("dask")
xr = pytest.importorskip("xarray")
flox = pytest.importorskip("flox")

PAGES = [up / "docs" / "python-xarray.md" for up in Path(__file__).parents]
GUIDE = next((page for page in PAGES if page.exists()), None)
guide = pytest.mark.skipif(GUIDE is None, reason="docs/python-xarray.md is not beside the tests")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.S | re.M)


@guide
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_the_guide():
    names = {}
    for block in blocks("python"):
        exec(compile(block, str(GUIDE), "exec"), names)


@guide
def test_the_patch_of_flox(tmp_path):
    folder = tmp_path / "flox"
    shutil.copytree(Path(flox.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (patch,) = blocks("diff")
    apply(patch, tmp_path)
    code = """
import numpy as np, flox, warpfold as wf
x = np.random.default_rng(0).standard_normal((4, 90)).astype("f4")
by = np.random.default_rng(1).integers(0, 5, 90)
assert flox.core.generic_aggregate.__module__ == "flox.aggregations"
found, _ = flox.groupby_reduce(x, by, func="mean", engine="warpfold")
assert found.tobytes() == np.ascontiguousarray(wf.group_by(x.T, by, "mean").T).tobytes()
assert flox.groupby_reduce(x, by, func="median", engine="warpfold")[0].shape == (4, 5)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def apply(patch, root):
    """Applies a patch: every hunk's old lines must be found, once."""
    for name, hunks in re.findall(r"^\+\+\+ b/(\S+)\n((?:[@ +-].*\n|\n)*?)(?=^--- |\Z)", patch, re.M):
        text = (root / name).read_text()
        for hunk in re.split(r"^@@.*@@\n", hunks, flags=re.M)[1:]:
            lines = hunk.splitlines()
            old = "".join(line[1:] + "\n" for line in lines if not line.startswith("+"))
            new = "".join(line[1:] + "\n" for line in lines if not line.startswith("-"))
            assert text.count(old) == 1, f"{name}: this is not there\n{old}" + near(text, old)
            text = text.replace(old, new)
        (root / name).write_text(text)


def near(text, old):
    return "\n".join(difflib.get_close_matches(old.splitlines()[0], text.splitlines(), 3))


FUNCS = ["sum", "nansum", "mean", "nanmean", "prod", "nanprod", "min", "max", "nanmin", "nanmax", "any", "all", "count",
         "first", "last", "nanfirst", "nanlast", "var", "nanvar", "std", "nanstd", "argmax", "argmin", "nanargmax",
         "nanargmin", "median", "nanmedian"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("func", FUNCS)
def test_the_engine_agrees_with_floxs(func, rng):
    wf.flox.register()
    wf.flox.register()
    for dtype in ("f8", "f4", "i4"):
        x = (rng.standard_normal((3, 200)) * 5).astype(dtype)
        if dtype != "i4" and func not in ("first", "last", "argmax", "argmin", "nanargmax", "nanargmin"):
            x[:, rng.random(200) < 0.2] = np.nan
        by = rng.integers(0, 7, 200)
        by[by == 3] = 4
        for expected in (None, np.arange(9)):
            options = {"func": func, "expected_groups": expected}
            found, _ = flox.groupby_reduce(x, by, engine="warpfold", **options)
            want, _ = flox.groupby_reduce(x, by, engine="numpy", **options)
            assert found.dtype == want.dtype and found.shape == want.shape
            assert np.allclose(found, want, rtol=1e-3 if dtype == "f4" else 1e-9, equal_nan=True), (dtype, expected)


@pytest.mark.filterwarnings("ignore")
def test_the_example_of_the_engine():
    assert doctest.testmod(wf.flox).failed == 0


@pytest.mark.filterwarnings("ignore")
def test_groups_of_dask_arrays_through_flox(rng):
    import dask.array as da

    wf.flox.register()
    x, by = rng.standard_normal((5, 120)), np.repeat(np.arange(6), 20)
    d = da.from_array(x, chunks=(2, 40))
    found, _ = flox.groupby_reduce(d, by, func="nanmean", engine="warpfold", method="blockwise")
    assert bits(found.compute(scheduler="sync")) == bits(np.ascontiguousarray(wf.group_by(x.T, by, "nanmean").T))


@pytest.mark.parametrize("chunks", [None, {"y": 7}, {"x": 5, "y": 3}])
def test_reduce_of_xarray(chunks, rng):
    data = (rng.standard_normal((20, 30, 4)) * 10).astype("f4")
    x = xr.DataArray(data, dims=("x", "y", "z"), coords={"x": np.arange(20)}, attrs={"units": "K"})
    module = wf if chunks is None else wf.dask
    lazy = x if chunks is None else x.chunk(chunks)
    for dim in ("y", ("x", "z"), ("z", "x"), None, ...):
        axis = None if dim is None or dim is ... else tuple(x.get_axis_num(np.atleast_1d(dim).tolist()))
        for op in ("mean", "nansum", "var", "max", "argmin", "count_nonzero"):
            found = lazy.reduce(getattr(module, op), dim=dim, keep_attrs=True)
            assert bits(found.values) == bits(getattr(wf, op)(data, axis)), (op, dim)
            assert found.attrs == x.attrs
    dataset = xr.Dataset({"a": lazy, "b": lazy + 1})
    assert set(dataset.reduce(module.mean, dim="y").data_vars) == {"a", "b"}
