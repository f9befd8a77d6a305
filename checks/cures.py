#!/usr/bin/env python3
"""README's table of wrong and slow results elsewhere: runs each beside the line of Warpfold that has none of it.

    checks/cures.py [--check]

Results are computed, by the libraries that are installed, and times are read from the newest record of `cures_time.py`
under bench/record. Without an argument the table between the markers in README.md is written, which needs all of the
libraries. With --check a row whose library is not installed is left out, and the exit status is 1 if a row has changed:
if another library's result is right by now, or ours is not.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version

import numpy as np

import warpfold as wf

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- checks/cures.py: begin -->", "<!-- checks/cures.py: end -->"


def number(x):
    """A result as text, if it is the same in all elements."""
    (value,) = {str(element) for element in np.ravel(x)}
    return value


def different(results):
    """How many different results there are, in words."""
    many = len({np.asarray(x).tobytes() for x in results})
    return "one result" if many == 1 else f"{many} results"


def long_mean():
    x = np.full((10_000_000, 2), 0.1, np.float32)
    yield "the mean of ten million 0.1, `x` of float32 (10000000, 2)"
    yield "numpy", "`np.mean(x, axis=0)`", number(np.mean(x, axis=0))
    yield "`wf.mean(x, axis=0)`", number(wf.mean(x, axis=0)), "0.1"


def nan_mean():
    import bottleneck

    x = np.full(25_000_000, 0.5, np.float32)
    yield "the mean of 25 million 0.5 in float32"
    yield "bottleneck", "`bn.nanmean(x)`", number(np.float32(bottleneck.nanmean(x)))
    yield "`wf.nanmean(x)`", number(wf.nanmean(x)), "0.5"


def deviation():
    x = np.array([300, -300] * 1000, np.float16)
    yield "the deviation of ±300 in float16"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield "numpy", "`np.std(x)`", number(np.std(x))
    yield "`wf.std(x)`", number(wf.std(x)), "300.0"


def layouts():
    x = np.random.default_rng(0).standard_normal((1000, 1000), dtype="f4")
    both = [x, np.asfortranarray(x)]
    yield "the sum of a matrix in both memory orders"
    yield "numpy", "`np.sum(x)`", different([np.sum(x) for x in both])
    yield "`wf.sum(x)`", different([wf.sum(x) for x in both]), "one result"


def threads():
    import torch

    x = torch.from_numpy(np.random.default_rng(0).standard_normal(1_000_000, dtype="f4"))
    before, theirs, ours = torch.get_num_threads(), [], []
    for n in (1, 2):
        torch.set_num_threads(n)
        wf.set_num_threads(n)
        theirs.append(torch.sum(x).item())
        ours.append(wf.sum(x).item())
    torch.set_num_threads(before)
    wf.set_num_threads(os.cpu_count() or 1)
    yield "a sum with one thread and with two"
    yield "torch", "`torch.sum(x)`", different(theirs)
    yield "`wf.sum(x)`", different(ours), "one result"


def chunks():
    import dask.array as da

    x = np.random.default_rng(0).standard_normal(1_000_000, dtype="f4")
    parts = [da.from_array(x, chunks=size) for size in (1000, 300_000)]
    yield "a sum in chunks of 1000, and of 300000"
    yield "dask", "`d.sum()`", different([d.sum().compute() for d in parts])
    yield "`wf.dask.sum(d)`", different([wf.dask.sum(d).compute() for d in parts]), "one result"


# In processes of their own, since Polars reads the number of its threads once.
GROUPS = """
import numpy as np, polars as pl
rng = np.random.default_rng(0)
frame = pl.DataFrame({"x": rng.standard_normal(4_000_000), "k": rng.integers(0, 5, 4_000_000)})
for _ in range(4):
    print(frame.group_by("k").agg(pl.col("x").sum()).sort("k")["x"].to_list())
"""


def groups():
    version("polars")
    said = []
    for n in (1, 2):
        environment = {**os.environ, "POLARS_MAX_THREADS": str(n)}
        found = subprocess.run([sys.executable, "-c", GROUPS], env=environment, capture_output=True, check=True)
        said += found.stdout.splitlines()
    rng = np.random.default_rng(0)
    x, labels = rng.standard_normal(4_000_000), rng.integers(0, 5, 4_000_000)
    ours = []
    for n in (1, 2):
        wf.set_num_threads(n)
        ours += [wf.group_by(x, labels) for _ in range(4)]
    wf.set_num_threads(os.cpu_count() or 1)
    yield "sums by label, four times with one thread and with two"
    # How many results there are is another number in each run.
    yield "polars", '`group_by("k")`', "one result" if len(set(said)) == 1 else "several results"
    yield "`wf.group_by(x, k)`", different(ours), "one result"


RESULTS = [long_mean, nan_mean, deviation, layouts, threads, chunks, groups]


def results(some):
    """The rows of results, and the names of what is not installed. `some`: that is no error."""
    rows, absent, wrong = [], [], 0
    for row in RESULTS:
        try:
            what, (library, call, theirs), (line, ours, right) = row()
        except (ImportError, PackageNotFoundError) as error:
            if not some:
                raise
            absent.append(f"{row.__name__}: {error}")
            continue
        if ours != right or theirs == right:
            wrong += 1
            print(f"{what}: {library} {theirs}, warpfold {ours}, right is {right}", file=sys.stderr)
        rows.append((what, f"{library}, {call}: {theirs}", f"{line}: {ours}"))
    return rows, absent, wrong


def times():
    """The rows of times, and the record that they are from."""
    path = max((ROOT / "bench" / "record" / "cpu").glob("*/python-cures.json"))
    record = json.loads(path.read_text(encoding="utf-8"))
    rows = []
    for case in record["cases"]:
        medians = {name: f"{statistics.median(ns) / 1e6:.0f} ms" for name, ns in case["samples_ns"].items()}
        ours = medians.pop("warpfold")
        theirs = "; ".join(f"{name} {median}" for name, median in medians.items())
        rows.append((case["title"], theirs, f"`{case['line']}`: {ours}"))
    return rows, record, path.relative_to(ROOT).as_posix()


def table():
    """The head of the table, its rows of times, and the note below."""
    rows, record, path = times()
    machine = record["machine"]
    note = [
        "",
        "Results are computed by `checks/cures.py`. Times are medians, with "
        f"{machine['threads']} threads of an {machine['device']},",
        "each library at its best (NumPy and bottleneck have one), outputs checked.",
        f"`checks/cures_time.py` has written [the record]({path}).",
    ]
    return ["| | elsewhere | here |", "|---|---|---|"], rows, note


def versions():
    """The versions of the libraries of the table."""
    names = ["numpy", "bottleneck", "numbagg", "flox", "torch", "dask", "polars"]
    return "Versions: " + ", ".join(f"{name} {version(name)}" for name in names) + "."


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--check", action="store_true", help="compare with README.md, and write nothing")
    words = words.parse_args()
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    found, _, after = rest.partition(END)
    computed, absent, wrong = results(words.check)
    head, timed, note = table()
    lines = [*head, *(f"| {' | '.join(row)} |" for row in computed + timed), *note]
    if words.check:
        for line in set(lines) - set(found.splitlines()):
            wrong += 1
            print(f"README.md lacks this: {line}", file=sys.stderr)
        for what in absent:
            print(f"left out: {what}")
    else:
        content = "\n".join(["", *lines, versions(), ""])
        readme.write_text(f"{before}{BEGIN}{content}{END}{after}", encoding="utf-8")
    print(f"cures: {len(computed)} results, {len(timed)} times, {len(absent)} left out, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
