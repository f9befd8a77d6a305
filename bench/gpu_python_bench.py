#!/usr/bin/env python3
"""Times reductions of CUDA tensors through Python beside PyTorch's own, and checks every result that is timed.

    pip install warpfold torch
    bench/gpu_python_bench.py [--samples 7] [--json FILE]

Small tensors: the host's time of a call, back to back (the GPU is waited for before and after a sample, not between
calls), and of a call with its value (`.item()`). Large tensors: the time on the GPU by CUDA events. Sides take turns, one
sample each, every other round backwards; the first round is not counted. Results are compared with PyTorch's in float64.
The exit status is 1 if a result of Warpfold is wrong, or PyTorch's call of a small tensor is shorter in the median.
"""

import argparse
import functools
import sys
import time

import numpy as np
import torch
from paired import Record, line, medians

import warpfold as wf

# Calls of one sample of a small tensor; no more than the driver queues.
CALLS = 500
SMALL = [("sum", (10,), None), ("sum", (64, 64), 1), ("mean", (8, 4096), 1), ("max", (64, 64), 0), ("var", (64, 64), 1),
         ("argmax", (64, 64), 1)]
LARGE = [
    ("sum", (1 << 28,), None, "float32"),
    ("sum", (16384, 16384), 0, "float32"),
    ("mean", (16384, 16384), 1, "bfloat16"),
    ("max", (64, 1000, 4096), 1, "float32"),
    ("var", (32768, 8192), 1, "float32"),
    ("argmax", (2048, 152064), 1, "bfloat16"),
    ("sum", (10_000_000, 20), 1, "float32"),
]
# What the operations are called in PyTorch, where the names differ.
PEERS = {"max": torch.amax, "var": functools.partial(torch.var, correction=0)}


def sides(op, x, axis):
    peer = PEERS.get(op, getattr(torch, op))
    ours = getattr(wf, op)
    if axis is None:
        return {"warpfold": lambda: ours(x), "torch": lambda: peer(x)}
    return {"warpfold": lambda: ours(x, axis), "torch": lambda: peer(x, axis)}


def is_right(op, x, axis, found):
    x, found = x.double(), found.double()
    if op == "argmax":
        return torch.equal(x.gather(axis, found.long().unsqueeze(axis)).squeeze(axis), x.amax(axis))
    peer = PEERS.get(op, getattr(torch, op))
    exact = peer(x) if axis is None else peer(x, axis)
    return torch.allclose(found, exact, rtol=1e-2 if found.abs().max() > 0 else 0, atol=1e-2 * exact.abs().max().item())


def back_to_back(call):
    """Nanoseconds of the host, a call."""
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    spent = time.perf_counter_ns() - start
    torch.cuda.synchronize()
    return spent // CALLS


def to_item(call):
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call().item()
    return (time.perf_counter_ns() - start) // CALLS


def on_gpu(call):
    """Nanoseconds of the GPU, a call of ten."""
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    first.record()
    for _ in range(10):
        call()
    last.record()
    torch.cuda.synchronize()
    return int(first.elapsed_time(last) * 1e5)


def turns(calls, clock, most):
    samples = {name: [] for name in calls}
    for turn in range(most + 1):
        for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
            spent = clock(calls[name])
            if turn > 0:
                samples[name].append(spent)
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument("--json", help="where all samples are written")
    arguments = parser.parse_args()
    record = Record(arguments.json, 1, [np, torch])
    record.all["gpu"] = torch.cuda.get_device_name()
    print(record.all["gpu"])
    failed = False
    torch.manual_seed(1)

    def run(kind, op, shape, axis, dtype, clock):
        nonlocal failed
        x = torch.randn(shape, device="cuda").to(getattr(torch, dtype))
        calls = sides(op, x, axis)
        right = is_right(op, x, axis, calls["warpfold"]())
        samples = turns(calls, clock, arguments.samples)
        median = medians(samples)
        name = f"{kind} {op} {dtype} {shape} axis {axis}"
        behind = kind != "large" and median["warpfold"] > median["torch"]
        failed |= behind or not right
        print(line(name, median, "warpfold", {}) + ("" if right else "  WRONG") + ("  behind" if behind else ""))
        record.add({"name": name, "right": right, "samples": samples})

    for op, shape, axis in SMALL:
        run("call", op, shape, axis, "float32", back_to_back)
    run("item", "sum", (10,), None, "float32", to_item)
    run("item", "sum", (4096,), None, "float32", to_item)
    for op, shape, axis, dtype in LARGE:
        run("large", op, shape, axis, dtype, on_gpu)
    return failed


if __name__ == "__main__":
    sys.exit(main())
