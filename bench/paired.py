"""Sides that take turns, and the record of what they took: for the benches of the Python package."""

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time

# A sample is as many calls as last so many nanoseconds.
SAMPLE = 2_000_000


def sample(call, calls):
    """Nanoseconds of one of so many calls."""
    start = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - start) // calls


def measure(sides, most, budget):
    """The samples of each side, in nanoseconds. Every other round goes backwards; the first is not counted.

    A side has at most `most` samples, and at least three; beyond these no more than `budget` seconds are spent on it.
    """
    calls, samples = {}, {name: [] for name in sides}
    for name, call in sides.items():
        call()
        calls[name] = max(1, math.ceil(SAMPLE / max(1, sample(call, 1))))
    for turn in range(most):
        for name in list(sides)[:: 1 if turn % 2 == 0 else -1]:
            if turn < 3 or sum(samples[name]) * calls[name] < budget * 1e9:
                samples[name].append(sample(sides[name], calls[name]))
    return samples


def medians(samples):
    return {side: int(statistics.median(ns)) for side, ns in samples.items()}


def line(name, median, ours, marks):
    """A line of the medians, and how many times as long as ours each takes; `marks` follow their sides."""
    words = [f"{name}: {ours} {median[ours] / 1e6:.3g} ms"]
    for side, ns in median.items():
        if side != ours:
            words.append(f"{side} {ns / 1e6:.3g} ms ({ns / median[ours]:.2f}){marks.get(side, '')}")
    return "  ".join(words)


class Record:
    """What is committed: the machine, the versions, and all samples."""

    def __init__(self, path, threads, libraries):
        self.path = path
        self.all = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "command": " ".join(["bench/" + os.path.basename(sys.argv[0]), *sys.argv[1:]]),
            "revision": _revision(),
            "cpu": _cpu(),
            "threads": threads,
            "python": platform.python_version(),
            "versions": {library.__name__: library.__version__ for library in libraries},
            "cases": [],
        }
        print(", ".join(f"{name} {version}" for name, version in self.all["versions"].items()))
        print(f"{self.all['cpu']}, {threads} threads, revision {self.all['revision']}, {self.all['date']}")

    def add(self, case):
        self.all["cases"].append(case)
        if self.path:
            with open(self.path, "w") as file:
                json.dump(self.all, file)
                file.write("\n")


def _revision():
    words = ["git", "-C", os.path.dirname(os.path.abspath(__file__)), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _cpu():
    try:
        with open("/proc/cpuinfo") as info:
            return next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
