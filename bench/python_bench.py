#!/usr/bin/env python3
"""Times the Python package beside NumPy, bottleneck, numbagg and flox, and checks every result that is timed.

    pip install warpfold numpy bottleneck numbagg flox
    bench/python_bench.py [--filter WORDS] [--samples 5] [--budget 1.5] [--threads 2] [--json FILE]

Reductions that skip NaN, and argmax, of two shapes along each axis and all; means by label along a middle axis and the last; float32
and float64, with and without NaN. Sides take turns, one sample each, every other round backwards; the first round, in
which numba compiles, is not counted. Results are compared with NumPy's in float64. The line of a case has the medians,
and of each peer how many times as long it takes. The exit status is 1 if a result of Warpfold is wrong, or a peer is
faster in the median.
"""

import argparse
import math
import os
import sys
import warnings

SHAPES = [(100, 100_000), (721, 1440, 50)]
GROUPED = (365, 721, 144)
OPS = ["nansum", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "nanargmax", "nanprod", "argmax"]
# The most elements of a result.
MOST = 721 * 1440 * 50


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="only cases whose names have all of these words")
    parser.add_argument("--samples", type=int, default=5, help="the most samples of a side")
    parser.add_argument("--budget", type=float, default=1.5, help="seconds of samples that are enough for a side")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="where all samples are written")
    return parser.parse_args()


# Before numba is imported, which reads it once.
ARGUMENTS = options()
os.environ["NUMBA_NUM_THREADS"] = os.environ["WARPFOLD_NUM_THREADS"] = str(ARGUMENTS.threads)

import bottleneck as bn  # noqa: E402
import flox  # noqa: E402
import numbagg  # noqa: E402
import numpy as np  # noqa: E402
from paired import Record, line, measure, medians  # noqa: E402

import warpfold as wf  # noqa: E402


def data(shape, dtype, holes, near_one, rng):
    """Numbers about 1, so that products stay finite, or about 3; a tenth of them NaN, if `holes`."""
    x = rng.standard_normal(shape, dtype=np.float32)
    x *= np.float32(1e-3 if near_one else 1.0)
    x += np.float32(1 if near_one else 3)
    if holes:
        x[rng.random(shape, dtype=np.float32) < 0.1] = np.nan
    return x.astype(dtype)


def reduction(op, x, axis):
    """The sides of a reduction, by name, and the exact results."""
    sides = {"warpfold": lambda: getattr(wf, op)(x, axis=axis), "numpy": lambda: getattr(np, op)(x, axis=axis)}
    if hasattr(bn, op):
        sides["bottleneck"] = lambda: getattr(bn, op)(x, axis=axis)
    if hasattr(numbagg, op):
        free = {"ddof": 0} if op in ("nanvar", "nanstd") else {}
        sides["numbagg"] = lambda: getattr(numbagg, op)(x, axis=axis, **free)
    return sides, lambda: getattr(np, op)(x.astype(np.float64), axis=axis)


def grouped(op, x, labels, groups, axis):
    """The sides of a mean by label along an axis, groups first."""
    first, last = np.moveaxis(x, axis, 0), np.moveaxis(x, axis, -1)
    wf.flox.register()

    all_groups = np.arange(groups)

    def by_flox(engine):
        options = {"func": op, "engine": engine, "expected_groups": all_groups}
        return lambda: np.moveaxis(flox.groupby_reduce(last, labels, **options)[0], -1, 0)

    sides = {
        "warpfold": lambda: wf.group_by(first, labels, op, groups),
        "warpfold through flox": by_flox("warpfold"),
        "flox": by_flox("flox"),
        "flox, numpy": by_flox("numpy"),
    }
    if op == "nanmean":
        sides["flox, numbagg"] = by_flox("numbagg")
        sides["numbagg"] = lambda: np.moveaxis(numbagg.group_nanmean(x, labels, axis=axis, num_labels=groups), -1, 0)
    exact = first.astype(np.float64)
    mean = np.nanmean if op == "nanmean" else np.mean
    return sides, lambda: np.stack([mean(exact[labels == k], axis=0) for k in range(groups)])


def cases(words):
    """The name of each case, and a function that makes its sides and its exact result."""

    def wanted(name):
        return all(word in name for word in words.split())

    for dtype in ("f4", "f8"):
        for holes in (False, True):
            kind = f"{np.dtype(dtype)}{' with NaN' if holes else ''}"
            for shape in SHAPES:
                for axis in (*range(len(shape)), None):
                    for op in OPS:
                        name = f"{op} {kind} {shape} axis {axis}"
                        if wanted(name):
                            key = (shape, dtype, holes, op == "nanprod")
                            yield name, lambda k=key, a=axis, o=op: reduction(o, cached(*k), a)
            # A result by 1000 labels along the last axis would have 2 GiB.
            for groups, axis in ((12, 1), (1000, 1), (12, 2)):
                for op in ("mean", "nanmean"):
                    name = f"{op} by {groups} labels {kind} {GROUPED} axis {axis}"
                    if wanted(name):
                        key = (GROUPED, dtype, holes, False)
                        by = label(GROUPED[axis], groups)
                        yield name, lambda k=key, b=by, g=groups, a=axis, o=op: grouped(o, cached(*k), b, g, a)


def label(n, groups):
    """Labels in no order: each occurs, or, of more groups than there are indices, as many as there are indices."""
    rng = np.random.default_rng(groups)
    return rng.permutation(np.arange(n) % groups)


LAST = {}


def cached(*key):
    """The data of a case; only those of the last shape are kept."""
    if key not in LAST:
        if len(LAST) > 1:
            LAST.clear()
        LAST[key] = data(*key, np.random.default_rng(7))
    return LAST[key]


def wrong(op, found, exact, n, dtype, tree):
    """Why a result is not the exact one within its rounding: that of a tree, or of additions in any order."""
    found = np.asarray(found)
    if found.shape != exact.shape:
        return f"shape {found.shape}, not {exact.shape}"
    if "arg" in op or op in ("nanmin", "nanmax"):
        return "" if np.array_equal(found.astype(np.float64), exact, equal_nan=True) else "another element"
    # A product is rounded once for each factor, in any order. Elements are about 3, so nothing cancels but in
    # deviations, which lose a digit.
    steps = math.log2(n) + 4 if tree and op != "nanprod" else n
    bound = steps * np.finfo(dtype).eps * (16 if op in ("nanvar", "nanstd") else 1)
    with np.errstate(invalid="ignore"):
        off = np.abs(found.astype(np.float64) - exact) / np.abs(exact)
    bad = ~((off <= bound) | (np.isnan(found) & np.isnan(exact)))
    return f"off by {np.nanmax(off):.1e}, bound {bound:.1e}" if bad.any() else ""


def run(name, sides, exact, dtype):
    """The record of a case, its line, whether Warpfold is wrong, and whether it is behind."""
    op = name.split()[0]
    samples, exact, faults = measure(sides, ARGUMENTS.samples, ARGUMENTS.budget), exact(), {}
    for side, call in sides.items():
        fault = wrong(op, call(), exact, MOST, dtype, side.startswith("warpfold"))
        if fault:
            faults[side] = fault
    median = medians(samples)
    behind = [side for side, ns in median.items() if "warpfold" not in side and ns < median["warpfold"]]
    behind = [side for side in behind if side not in faults]
    said = line(name, median, "warpfold", dict.fromkeys(faults, " WRONG"))
    said += f"  WRONG: {faults['warpfold']}" if "warpfold" in faults else ""
    bad = any(side.startswith("warpfold") for side in faults)
    case = {"case": name, "ns": samples, "faults": faults, "behind": behind}
    return case, "BEHIND " * bool(behind) + said, bad


def main():
    wf.set_num_threads(ARGUMENTS.threads)
    record = Record(ARGUMENTS.json, ARGUMENTS.threads, (wf, np, bn, numbagg, flox))
    wrongs = behinds = 0
    for name, make in cases(ARGUMENTS.filter):
        sides, exact = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case, said, bad = run(name, sides, exact, "f4" if "float32" in name else "f8")
        wrongs, behinds = wrongs + bad, behinds + bool(case["behind"])
        record.add(case)
        print(said, flush=True)
    print(f"{len(record.all['cases'])} cases, {wrongs} wrong, {behinds} behind")
    return bool(wrongs or behinds)


if __name__ == "__main__":
    sys.exit(main())
