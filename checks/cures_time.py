#!/usr/bin/env python3
"""Times the calls of `cures.py` that other libraries are slow at, beside the best that these libraries have.

    checks/cures_time.py RECORD.json [--rounds 9]

Two threads each, libraries in turn within each round, every output checked against float64 before it is timed. RECORD
gets the samples in nanoseconds, the machine, the versions and this repository's revision.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import time
from datetime import date
from importlib.metadata import version

THREADS = 2
for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(THREADS)

import bottleneck
import flox
import numbagg
import numpy as np
import torch

import warpfold as wf


def nan_mean(rng):
    """A nan-mean along the middle axis."""
    x = rng.standard_normal((721, 1440, 50), dtype="f4") + 5
    x[rng.random(x.shape, dtype="f4") < 0.1] = np.nan
    yield "nan-mean of float32 (721, 1440, 50) along axis 1, a tenth NaN", "wf.nanmean(x, axis=1)"
    yield np.nanmean(x.astype("f8"), axis=1)
    yield {
        "warpfold": lambda: wf.nanmean(x, axis=1),
        "numpy": lambda: np.nanmean(x, axis=1),
        "bottleneck": lambda: bottleneck.nanmean(x, axis=1),
        "numbagg": lambda: numbagg.nanmean(x, axis=1),
    }


def month_means(rng, nans=0.1, words="a tenth NaN"):
    """Nan-means of the days of each month, of a year of maps."""
    x = rng.standard_normal((365, 721, 144), dtype="f4") + 5
    x[rng.random(x.shape, dtype="f4") < nans] = np.nan
    month = np.minimum(np.arange(365) // 31, 11)
    last = np.ascontiguousarray(np.moveaxis(x, 0, -1))
    yield f"nan-mean of float32 (365, 721, 144) by 12 labels, {words}", 'wf.group_by(x, labels, "nanmean")'
    yield np.stack([np.nanmean(x[month == k].astype("f8"), axis=0) for k in range(12)])

    def of(engine):
        # At its best: the labelled axis is the last one in memory, and the groups are known.
        groups = np.arange(12)
        reduce = flox.groupby_reduce
        return lambda: np.moveaxis(reduce(last, month, func="nanmean", engine=engine, expected_groups=groups)[0], -1, 0)

    yield {
        "warpfold": lambda: wf.group_by(x, month, "nanmean"),
        "flox": of("flox"),
        "flox, numbagg": of("numbagg"),
        "flox, numpy": of("numpy"),
    }


def month_means_of_numbers(rng):
    """The same where nothing is to be skipped."""
    yield from month_means(rng, 0, "no NaN")


def places(rng):
    """Where the greatest element of each column is."""
    x = rng.standard_normal((1000, 50_000), dtype="f4")
    t = torch.from_numpy(x)
    yield "argmax of float32 (1000, 50000) along axis 0", "wf.argmax(x, axis=0)"
    yield np.argmax(x.astype("f8"), axis=0)
    yield {
        "warpfold": lambda: wf.argmax(x, axis=0),
        "numpy": lambda: np.argmax(x, axis=0),
        "torch": lambda: torch.argmax(t, 0).numpy(),
    }


CASES = [nan_mean, month_means, month_means_of_numbers, places]


def timed(case, rounds):
    (title, line), exact, sides = case(np.random.default_rng(0))
    for name, call in sides.items():
        found = np.asarray(call())
        assert found.shape == exact.shape, (title, name)
        worst = np.max(np.abs(found - exact) / (np.abs(exact) + 1))
        # NaN fails, too.
        assert worst <= (0 if exact.dtype.kind == "i" else 1e-2), (title, name, worst)
    samples = {name: [] for name in sides}
    for _ in range(rounds):
        for name, call in sides.items():
            start = time.perf_counter_ns()
            call()
            samples[name].append(time.perf_counter_ns() - start)
    return {"title": title, "line": line, "samples_ns": samples}


def processor():
    """The name of the processor."""
    said = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in said.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("record", type=pathlib.Path)
    words.add_argument("--rounds", type=int, default=9)
    words = words.parse_args()
    torch.set_num_threads(THREADS)
    wf.set_num_threads(THREADS)
    libraries = ["numpy", "bottleneck", "numbagg", "flox", "torch"]
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    record = {
        "date": date.today().isoformat(),
        "command": f"checks/cures_time.py {words.record.name} --rounds {words.rounds}",
        "revision": revision,
        "machine": {"device": processor(), "threads": THREADS, "load of one minute": os.getloadavg()[0]},
        "peers": {name: version(name) for name in libraries},
        "cases": [],
    }
    for case in CASES:
        found = timed(case, words.rounds)
        record["cases"].append(found)
        medians = {name: f"{sorted(times)[len(times) // 2] / 1e6:.1f}" for name, times in found["samples_ns"].items()}
        print(found["title"], "ms:", medians)
    words.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
