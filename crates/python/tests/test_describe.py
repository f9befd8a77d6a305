"""Statistics, plans, devices, the reference tree, the command."""

import json
import subprocess
import sys

import numpy as np
import pytest
from conftest import bits, cases

import warpfold as wf


def test_statistics_have_the_bits_of_their_reductions(rng):
    x = rng.standard_normal((30, 40)).astype("f4")
    for axis in (None, 0, 1, (0, 1)):
        found = wf.describe(x, axis)
        for name in ("min", "argmin", "max", "argmax", "mean", "std", "sum", "norm"):
            assert bits(found[name]) == bits(getattr(wf, name)(x, axis)), name
        assert np.all(found.nan_count == 0)
    found = wf.describe(x)
    assert found.count == 1200 and found.dtype == "f32" and found.shape == (30, 40)
    assert dict(found)["mean"] == found.mean and list(found) == list(found.keys())
    assert "mean" in repr(found) and repr(found).count("\n") == 11
    assert found._repr_html_().startswith("<table>") and "argmax" in found._repr_html_()
    x[0, 0] = np.nan
    assert wf.describe(x, skip_nan=True).mean == wf.nanmean(x)
    assert wf.describe(x).nan_count == 1 and np.isnan(wf.describe(x).mean)
    assert wf.describe(np.zeros(0)).min is None
    assert wf.describe(x, where=x > 0).count == np.sum(x > 0)
    with pytest.raises(KeyError):
        found["median"]
    with pytest.raises(np.exceptions.AxisError):
        wf.describe(x, 2)


def test_plans_and_devices():
    plan = wf.explain("nanvar", np.zeros((1000, 50), "f4"), axis=0)
    assert repr(plan) == str(plan) and "50 outputs of 1000 elements" in plan and "route" in plan
    assert "kernel" in wf.explain("sum", np.zeros((1000, 50), "f4"), axis=0, device="cuda")
    first = wf.devices()[0]
    assert first.name == "cpu" and first.processors >= 1
    with pytest.raises(TypeError):
        wf.explain("max", [1.0], dtype="f4")


@pytest.mark.parametrize("op", ["sum", "mean", "prod", "var", "std"])
def test_the_reference_has_the_bits(op, rng):
    for _ in range(cases(8)):
        n = int(rng.integers(0, 700))
        x = (rng.standard_normal(n) * 2).astype(rng.choice(["f2", "f4", "f8"]))
        if rng.random() < 0.2 and n:
            x[rng.integers(n)] = rng.choice([np.nan, np.inf, -0.0])
        assert bits(wf.tree_reference(x, op)) == bits(getattr(wf, op)(x)), (x.dtype, n)
    with pytest.raises(TypeError):
        wf.tree_reference([1, 2])
    with pytest.raises(ValueError):
        wf.tree_reference([1.0], "max")


def command(*args, **options):
    words = [sys.executable, "-m", "warpfold", *args]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, **options)


def test_the_command(tmp_path, rng):
    x = rng.standard_normal((20, 30)).astype("f4")
    np.save(tmp_path / "x.npy", x)
    said = command("reduce", "sum", str(tmp_path / "x.npy"), "--bits")
    assert said.returncode == 0 and int(said.stdout, 16) == wf.sum(x).view("u4")
    out = tmp_path / "var.npy"
    assert command("reduce", "var", str(tmp_path / "x.npy"), "--axis", "0", "-o", str(out)).returncode == 0
    assert bits(np.load(out)) == bits(wf.var(x, 0))
    assert command("--version").stdout.startswith("warpfold ")
    said = command("reduce", "nonsense", "x.npy")
    assert said.returncode == 2 and "nonsense" in said.stderr and not said.stdout
    assert json.loads(command("devices", "--json").stdout)[0]["device"] == "cpu"
