#!/usr/bin/env python3
"""Times how long the host is busy with calls of `wf.torch`, beside PyTorch's own, and counts the GPU's launches.

    pip install warpfold torch
    bench/torch_host_bench.py [--device cuda|cpu] [--shape 4x64] [--dtype float32] [--samples 40] [--json FILE]

Tensors are so small that nearly all of a call is the host's. A sample is the mean of 200 calls back to back, sides
take turns, and the first round is not counted; the GPU is waited for before and after a sample, not between calls.
`frozen`: weights require no gradient. `cold`: single calls after something else, while the GPU sleeps, as
`rows_bench.py` measures them (the thread of PyTorch that computes gradients has to wake up), or on a CPU after its
caches have been filled with something else. Launches are counted by PyTorch's profiler.
"""

import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import warpfold as wf

CALLS = 200
# More than the host's caches.
EVICTING = torch.zeros(16 << 20)


def make(options, *shape, seed=0, grad=False):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator).to(options.device, getattr(torch, options.dtype))
    return x.requires_grad_(grad)


def of_norm(options, name, weights, wanted):
    """`wanted`: which of the elements and the weights have gradients; none: forward."""
    rows, n = options.shape
    x = make(options, rows, n, grad="x" in wanted)
    given = [make(options, n, seed=1 + i, grad="w" in wanted) for i in range(weights)]
    gradient = make(options, rows, n, seed=5)

    def side(f):
        if not wanted:
            return lambda: f(x, (n,), *given, eps=1e-5)
        y, inputs = f(x, (n,), *given, eps=1e-5), [a for a in (x, *given) if a.requires_grad]
        return lambda: torch.autograd.grad(y, inputs, gradient, retain_graph=True)

    return {"warpfold": side(getattr(wf.torch, name)), "torch": side(getattr(F, name))}


def of_softmax(options, name, backward):
    x, gradient = make(options, *options.shape, grad=backward), make(options, *options.shape, seed=5)

    def side(f):
        if not backward:
            return lambda: f(x, -1)
        y = f(x, -1)
        return lambda: torch.autograd.grad(y, x, gradient, retain_graph=True)

    return {"warpfold": side(getattr(wf.torch, name)), "torch": side(getattr(F, name))}


def of_classes(options, backward, reduction="mean"):
    rows, n = options.shape
    x, target = make(options, rows, n, grad=backward), torch.arange(rows, device=options.device) % n

    def side(f):
        if not backward:
            return lambda: f(x, target, reduction=reduction)
        return lambda: torch.autograd.grad(f(x, target, reduction=reduction), x)

    return {"warpfold": side(wf.torch.cross_entropy), "torch": side(F.cross_entropy)}


def cases(options):
    yield "softmax", of_softmax(options, "softmax", False)
    yield "log_softmax", of_softmax(options, "log_softmax", False)
    yield "softmax backward", of_softmax(options, "softmax", True)
    for name, weights in (("rms_norm", 1), ("layer_norm", 2)):
        yield f"{name}", of_norm(options, name, weights, "")
        yield f"{name} backward", of_norm(options, name, weights, "xw")
        yield f"{name} backward frozen", of_norm(options, name, weights, "x")
        yield f"{name} backward of weights", of_norm(options, name, weights, "w")
    yield "cross_entropy", of_classes(options, False)
    yield "cross_entropy with its gradient", of_classes(options, True)
    yield "cross_entropy with its gradient, sum", of_classes(options, True, "sum")


def synchronize(options):
    if options.device == "cuda":
        torch.cuda.synchronize()


def sample(options, call):
    synchronize(options)
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    spent = time.perf_counter() - begin
    synchronize(options)
    return spent / CALLS * 1e6


def cold(options, call):
    if options.device == "cuda":
        torch.cuda._sleep(4_000_000)
    else:
        EVICTING.add_(1)
    begin = time.perf_counter()
    call()
    spent = time.perf_counter() - begin
    synchronize(options)
    return spent * 1e6


def launches(options, call):
    """The kernels, copies and fills of a call, by name."""
    if options.device != "cuda":
        return []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    return [event.name for event in profile.events() if "Synchronize" not in event.name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--shape", default="4x64", type=lambda text: tuple(map(int, text.split("x"))))
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--filter", default="")
    parser.add_argument("--json", help="where all samples are written")
    options = parser.parse_args()
    torch.set_num_threads(1)
    record = {"torch": torch.__version__, **vars(options), "cases": []}
    print(f"{options.device} {options.dtype} {options.shape}: us of a call, the least and the median; cold: the median")
    for name, sides in cases(options):
        if not all(word in name for word in options.filter.split()):
            continue
        found, slept = ({side: [] for side in sides} for _ in "fs")
        for round in range(options.samples + 1):
            for side, call in sides.items():
                us = sample(options, call)
                once = cold(options, call)
                if round:
                    found[side].append(us)
                    slept[side].append(once)
        queued = {side: launches(options, call) for side, call in sides.items()}
        parts = [f"{side} {min(us):6.1f} {statistics.median(us):6.1f}" for side, us in found.items()]
        parts += [f"cold {side} {statistics.median(us):6.1f}" for side, us in slept.items()]
        if options.device == "cuda":
            parts += [f"launches {side} {len(names)}" for side, names in queued.items()]
        print(f"{name:38}", "  ".join(parts), flush=True)
        record["cases"].append({"case": name, "us": found, "cold": slept, "launches": queued})
    if options.json:
        with open(options.json, "w") as to:
            json.dump(record, to, indent=1)


if __name__ == "__main__":
    sys.exit(main())
