#!/usr/bin/env python3
"""How many blocks of each kernel a multiprocessor should hold, as a GPU finds.

    blocks.py WARPFOLD BLOCKS.TXT [FOLDER [KERNELS]]      needs a GPU, python3 with cupy; $PTXAS or the toolkit's ptxas saves minutes

More blocks to a multiprocessor keep the memory busy while some wait, but leave each thread fewer registers, up to spilling
some. What is best cannot be told from the registers alone, so each kernel of the list below is compiled for 2, 3 and 4 blocks, and
as BLOCKS.TXT has it now, and timed on arrays of 256 MiB. The one with the least geometric mean of times wins; the present one
stays if that is less than 1 % slower. Kernels of few rows have few reads in flight and need few registers: up to 8 are tried.
Only kernels whose whole names match the regular expression KERNELS are timed, if it is given.
A kernel's bits do not depend on it, which is checked. FOLDER (default: .) gets `blocks.txt`, to be committed in crates/kernels/ptx,
and `blocks.json`, every time taken.
"""

import ctypes
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ["CUDA_CACHE_DISABLE"] = "1"

BYTES = 1 << 28
BOUNDS = (2, 3, 4)
SHALLOW_BOUNDS = (3, 4, 5, 6, 8)
GAIN = 0.99
SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i16": 2, "i8": 1}
FLOATS = ["f32", "f64", "bf16", "f16"]
WORDS = ["i8", "i16", "i32", "i64"]
ORDERED = [("sum",), ("norm",), ("prod",), ("var",), ("logsumexp",)]
DOUBLES = [(op, "--precision", "compensated") for op in ("sum", "norm", "logsumexp")]
SKIPPING = [("mean", "--skip-nan"), ("var", "--skip-nan"), ("max", "--skip-nan")]
FREE = [("sum",), ("count_nonzero",), ("max",), ("minmax",), ("argmax",), ("var",)]
# Lengths that begin anywhere, as most do, and a few that fill lines and warps.
ROWS = (7, 50, 195, 744, 2666, 11933, 1 << 20)
COLUMNS = (2, 3, 4, 5, 16, 20, 33, 65, 116, 150, 209, 512, 1001, 8557)
SHORT = (1, 2, 3, 4, 5, 7, 8, 13, 19, 41)


def cases():
    """(words for `explain`, dtype, bytes of the output at most)"""
    for ops, dtypes in [(ORDERED + DOUBLES + SKIPPING, FLOATS), (FREE, WORDS), ([("max",), ("argmax",), ("minmax",)], FLOATS)]:
        for dtype in dtypes:
            n = BYTES // SIZES[dtype]
            rows = [(n // length, length) for length in ROWS]
            columns = [(n // width, width) for width in COLUMNS] + [(length, n // length) for length in SHORT]
            for op in ops:
                for axis, shapes in ((1, rows), (0, columns)):
                    for shape in shapes:
                        yield op, dtype, shape, axis


def explain(warpfold, case):
    op, dtype, shape, axis = case
    words = [warpfold, "explain", *op, "--shape", ",".join(map(str, shape)), "--dtype", dtype, "--axis", str(axis)]
    plan = subprocess.run([*words, "--device", "cuda", "--json"], capture_output=True, text=True)
    if plan.returncode:
        return None
    plan = json.loads(plan.stdout)
    if len(plan["launches"]) != 1:
        return None
    ptx = subprocess.run([*words, "--device", "cuda", "--ptx"], capture_output=True, text=True, check=True).stdout
    name = " ".join([*op, dtype, str(shape).replace(" ", ""), "axis", str(axis)])
    read = shape[0] * shape[1] * SIZES[dtype]
    return {"case": name, "read": read, "dtype": dtype, "plan": plan, "kernel": plan["launches"][0]["kernel"], "ptx": ptx}


class Driver:
    """The little of the driver that cupy does not offer: modules with any parameters."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            raise RuntimeError(f"{name} returned {code}")

    def load(self, image, entry):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadDataEx", ctypes.byref(module), image + b"\0", 0, None, None)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        return function


def bounded(ptx, blocks):
    return re.sub(r"\.minnctapersm \d+", f".minnctapersm {blocks}", ptx)


def compiled(kernels, capability):
    """{(kernel, blocks): what the driver loads}; machine code if there is a ptxas, or else the text."""
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    jobs = {(k, b): bounded(ptx, b) for k, (ptx, each) in kernels.items() for b in each}
    if not os.path.exists(ptxas):
        return {key: text.encode() for key, text in jobs.items()}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:

        def one(item):
            (kernel, blocks), text = item
            base = Path(folder, f"{kernel}-{blocks}")
            base.with_suffix(".ptx").write_text(text)
            words = [ptxas, f"-arch=sm_{capability}", base.with_suffix(".ptx"), "-o", base.with_suffix(".cubin")]
            subprocess.run(words, check=True, capture_output=True)
            return (kernel, blocks), base.with_suffix(".cubin").read_bytes()

        return dict(pool.map(one, jobs.items()))


def data(cp, dtype):
    """256 MiB of numbers in [0, 1), or any integers."""
    n, rng = BYTES // SIZES[dtype], cp.random.default_rng(1)
    if dtype in ("f32", "f64"):
        return rng.random(n, dtype=cp.float32 if dtype == "f32" else cp.float64)
    bits = rng.integers(0, 1 << 32, BYTES // 4, dtype=cp.uint32)
    # 16-bit floats from 2^-2 to 2, of either kind.
    return (bits & cp.uint32(0x00FF00FF)) | cp.uint32(0x3F003F00) if dtype in ("bf16", "f16") else bits


def seconds(cp, driver, function, launch, addresses):
    words = (ctypes.c_uint64 * len(launch["params"]))(*[w & (2**64 - 1) for w in launch["params"]])
    words[0], words[2], words[3] = addresses
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(words))
    size = [launch["grid"], 1, 1, launch["block"], 1, 1, 0]

    def run(calls):
        before, after = cp.cuda.Event(), cp.cuda.Event()
        before.record()
        for _ in range(calls):
            driver.call("cuLaunchKernel", function, *size, ctypes.c_void_p(0), parameters, None)
        after.record()
        after.synchronize()
        return cp.cuda.get_elapsed_time(before, after) * 1e-3 / calls

    run(1)
    calls = max(2, min(50, int(1e-3 / run(2)) + 1))
    return [run(calls) for _ in range(5)]


def main(warpfold, path, folder=".", names=""):
    import cupy as cp

    now, measured = {}, set()
    for line in Path(path).read_text().splitlines():
        name, blocks, *mark = line.split()
        now[name] = int(blocks)
        measured.update([name] if mark else [])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [case for case in pool.map(lambda c: explain(warpfold, c), list(cases())) if case]
    found = [case for case in found if not names or re.fullmatch(names, case["kernel"])]
    bounds = {name: SHALLOW_BOUNDS if name.startswith("shallow_") else BOUNDS for name in {c["kernel"] for c in found}}
    kernels = {c["kernel"]: (c["ptx"], sorted({*bounds[c["kernel"]], now.get(c["kernel"], 1)})) for c in found}
    cp.zeros(1)
    driver, capability = Driver(), cp.cuda.Device().compute_capability
    images = compiled(kernels, capability)
    functions = {key: driver.load(image, key[0]) for key, image in images.items()}
    print(f"{len(found)} cases, {len(kernels)} kernels, {len(functions)} versions", flush=True)
    times, record, held = {}, [], None
    for case in sorted(found, key=lambda c: c["dtype"]):
        if held is None or held[0] != case["dtype"]:
            held = None
            cp.get_default_memory_pool().free_all_blocks()
            held = (case["dtype"], data(cp, case["dtype"]))
        plan, kernel = case["plan"], case["kernel"]
        out = cp.zeros(plan["bytes"] - case["read"] + 256, cp.uint8)
        work = cp.zeros(plan["workspace_bytes"] + 256, cp.uint8)
        addresses, first, each = (held[1].data.ptr, out.data.ptr, work.data.ptr), None, {}
        for blocks in kernels[kernel][1]:
            out.fill(0)
            samples = seconds(cp, driver, functions[kernel, blocks], plan["launches"][0], addresses)
            if first is None:
                first = out.copy()
            if not bool((first == out).all()):
                sys.exit(f"{case['case']}: {kernel} with {blocks} blocks computes something else")
            each[blocks] = statistics.median(samples)
            ns = [round(s * 1e9) for s in samples]
            record.append({"case": case["case"], "kernel": kernel, "blocks": blocks, "bytes": plan["bytes"], "ns": ns})
        for blocks, time in each.items():
            times.setdefault(kernel, {}).setdefault(blocks, []).append(time)
        shown = "  ".join(f"{b}: {plan['bytes'] / t / 1e12:.2f}" for b, t in each.items())
        print(f"{case['case']:48} {kernel:24} {shown} TB/s", flush=True)
    chosen = dict(now)
    for kernel, by in times.items():
        mean = {b: math.exp(sum(map(math.log, ts)) / len(ts)) for b, ts in by.items()}
        best, present = min(mean, key=mean.get), now.get(kernel, 1)
        if mean[best] < GAIN * mean[present]:
            chosen[kernel] = best
            print(f"{kernel}: {present} -> {best}, {mean[present] / mean[best]:.2f} times as fast")
    measured |= times.keys()
    lines = [f"{k} {b}{' measured' if k in measured else ''}\n" for k, b in sorted(chosen.items())]
    Path(folder, "blocks.txt").write_text("".join(lines))
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    Path(folder, "blocks.json").write_text(json.dumps({"device": device, "times": record}, indent=0) + "\n")


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
