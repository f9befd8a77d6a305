#!/usr/bin/env python3
"""Times Warpfold, NumPy and PyTorch on the CPU, in turn on the same bytes, and checks each other's results.

    cargo build --release -p warpfold --example bench_cpu
    python3 bench/cpu/compare.py --out bench/record/cpu/DATE.json [--filter S] [--samples N]

One process of each holds one mapped file of random data. For every case the three take turns (A B C A B C ...), so that a
machine whose speed drifts slows all of them; each result is compared with the others'. Times are integer nanoseconds of
one call; inputs of the main table are 1 GiB, far larger than the caches. NumPy reduces on one thread, as it does; where a
case says one thread, so do the others.
"""
import argparse, datetime, json, os, platform, statistics, subprocess, sys, tempfile, time

import numpy as np

try:
    import torch
except ImportError:
    torch = None

GIB = 1 << 30
NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "i32": np.int32, "i64": np.int64}
SHAPES = [(16384, 16384), (1024, 262144), (4194304, 64), (67108864, 4), (512, 512, 1024)]


def cases():
    for dtype in ["f32", "bf16", "f16", "f64", "i8", "i32"]:
        size = {"f64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i8": 1}[dtype]
        for op in ["sum", "max", "argmax", "var"]:
            yield dict(suite="contiguous", op=op, dtype=dtype, shape=[GIB // size], axes=[0])
    for op in ["sum", "max", "argmax", "var"]:
        for shape in SHAPES:
            for axis in range(len(shape)):
                yield dict(suite="axes", op=op, dtype="f32", shape=list(shape), axes=[axis])
    yield dict(suite="axes", op="sum", dtype="f32", shape=[512, 512, 1024], axes=[0, 2])
    yield dict(suite="axes", op="sum", dtype="f32", shape=[16384, 16384], axes=[0, 1], order="F")
    for n in [1 << 14, 1 << 16, 1 << 18]:
        for op in ["sum", "max", "var", "argmax"]:
            yield dict(suite="cache, one thread", op=op, dtype="f32", shape=[n], axes=[0], threads=1, repeat=200)
    for op in ["sum", "max"]:
        for threads in [1, 2]:
            yield dict(suite="threads", op=op, dtype="f32", shape=[GIB // 4], axes=[0], threads=threads)
    for threads in [1, 2]:
        yield dict(suite="read", op="read", dtype="f32", shape=[GIB // 4], axes=[0], threads=threads)


class Warpfold:
    def __init__(self, binary, data):
        self.process = subprocess.Popen([binary, data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, case):
        print(json.dumps(case), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        return answer["ns"], answer.get("values")


class NumPy:
    def __init__(self, bytes_):
        self.bytes = bytes_

    def run(self, case):
        if case["dtype"] not in NUMPY or (case["dtype"] == "f16" and case["op"] == "var"):
            return None  # no bfloat16; a variance of f16 overflows its f16 sum
        x = self.bytes[case["offset"] : case["offset"] + case["bytes"]].view(NUMPY[case["dtype"]])
        x = x.reshape(case["shape"], order=case.get("order", "C"))
        axes = tuple(case["axes"])
        if case["op"] == "argmax":
            f = lambda: x.argmax(axis=axes[0])
        else:
            f = lambda: getattr(x, case["op"])(axis=axes)
        return timed(f, case)


class Torch:
    def __init__(self, bytes_):
        self.bytes = bytes_

    def run(self, case):
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64,
                 "i8": torch.int8, "i32": torch.int32, "i64": torch.int64}[case["dtype"]]
        if case["op"] == "var" and not dtype.is_floating_point:
            return None
        x = torch.from_numpy(self.bytes[case["offset"] : case["offset"] + case["bytes"]]).view(dtype)
        if case.get("order") == "F":
            x = x.reshape(case["shape"][::-1]).permute(*range(len(case["shape"]) - 1, -1, -1))
        else:
            x = x.reshape(case["shape"])
        axes = tuple(case["axes"])
        torch.set_num_threads(case["threads"])
        f = {
            "sum": lambda: x.sum(dim=axes),
            "max": lambda: x.amax(dim=axes),
            "argmax": lambda: x.argmax(dim=axes[0]),
            "var": lambda: x.var(dim=axes, correction=0),
        }[case["op"]]
        ns, values = timed(f, case, lambda r: r.double().numpy())
        return ns, values


def timed(f, case, convert=np.asarray):
    start = time.perf_counter_ns()
    for _ in range(case.get("repeat", 1)):
        result = f()
    ns = (time.perf_counter_ns() - start) // case.get("repeat", 1)
    return ns, [float(v) for v in np.ravel(convert(result))[:1000]]


def agree(case, ours, theirs, peer):
    """Exact for selections; for sums and variances within what the peer's own rounding explains."""
    a, b = (np.array([np.nan if v is None else float(v) for v in x]) for x in (ours, theirs))
    if not np.isfinite(b).all() and case["dtype"] == "f16":
        return True  # the peer's f16 result overflowed
    if a.shape != b.shape:
        return False
    if case["op"] in ("max", "argmax") or (case["op"] == "sum" and case["dtype"].startswith("i")):
        return bool(np.array_equal(a, b, equal_nan=True))
    n = 1
    for axis in case["axes"]:
        n *= case["shape"][axis]
    eps = {"f32": 6e-8, "bf16": 4e-3, "f16": 5e-4, "f64": 1.2e-16, "i8": 1.2e-16, "i32": 1.2e-16}[case["dtype"]]
    # Data lie in [-0.5, 0.5) around 0.125: sums of n are about n / 8, and sums of magnitudes about n / 3.5. NumPy adds down
    # columns one by one (error n eps), PyTorch in blocks; a variance's error is relative to itself.
    scale = n * 0.3 if case["op"] == "sum" else np.abs(b).max()
    slack = eps * (max(32.0, n**0.5) if case["op"] == "sum" else max(64.0, n))
    return bool(np.all(np.abs(a - b) <= np.maximum(slack * scale, eps * np.abs(b) * 4)))


def fill(path, size):
    """Bytes that are reasonable numbers in every dtype: a block per dtype."""
    rng = np.random.default_rng(20260101)
    offsets, at = {}, 0
    with open(path, "wb") as f:
        for dtype in ["f32", "bf16", "f16", "f64", "i8", "i32"]:
            offsets[dtype] = at
            block = 1 << 24
            for _ in range(size // block):
                if dtype.startswith("i"):
                    item = int(dtype[1:]) // 8
                    x = rng.integers(-100, 100, block // item, dtype=np.int64).astype(NUMPY[dtype])
                else:
                    item = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8}[dtype]
                    x = rng.random(block // item, dtype=np.float64 if dtype == "f64" else np.float32) - np.float32(0.375)
                    if dtype == "bf16":
                        x = (x.view(np.uint32) >> 16).astype(np.uint16)
                    else:
                        x = x.astype(NUMPY[dtype])
                f.write(x.tobytes())
                at += block
    return offsets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/examples/bench_cpu")
    parser.add_argument("--out")
    parser.add_argument("--filter", default="")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--dir", default="/dev/shm" if os.path.isdir("/dev/shm") else None, help="where the data go")
    args = parser.parse_args()
    threads = os.cpu_count()
    with tempfile.NamedTemporaryFile(dir=args.dir) as data:
        offsets = fill(data.name, GIB)
        bytes_ = np.memmap(data.name, dtype=np.uint8, mode="c")
        peers = {"warpfold": Warpfold(args.binary, data.name), "numpy": NumPy(bytes_)}
        if torch:
            peers["torch"] = Torch(bytes_)
        record = dict(
            date=datetime.date.today().isoformat(), command="python3 bench/cpu/compare.py", machine=cpu(), threads=threads,
            versions=dict(numpy=np.__version__, torch=torch.__version__ if torch else "absent"),
            revision=subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip(),
            cases=[])
        for case in cases():
            name = f"{case['suite']}: {case['op']} {case['dtype']} {tuple(case['shape'])} {case['axes']} {case.get('order', '')}"
            if args.filter not in name:
                continue
            size = {"f64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i8": 1}[case["dtype"]]
            n = 1
            for d in case["shape"]:
                n *= d
            case = dict(threads=threads) | case | dict(offset=offsets[case["dtype"]], bytes=n * size)
            samples, values = {}, {}
            for i in range(args.samples + 1):
                for peer, runner in peers.items():
                    if case["op"].startswith("read") and peer != "warpfold":
                        continue
                    if i > 2 and samples.get(peer) and samples[peer][-1] > 5e9:
                        continue
                    answer = runner.run(case)
                    if answer:
                        if i:
                            samples.setdefault(peer, []).append(answer[0])
                        values[peer] = answer[1]
            checks = {p: agree(case, values["warpfold"], v, p) for p, v in values.items() if p != "warpfold" and v}
            record["cases"].append(case | dict(name=name.strip(), samples_ns=samples, agree=checks))
            medians = {p: statistics.median(s) for p, s in samples.items()}
            ours = medians["warpfold"]
            line = "  ".join(f"{p} {m / 1e6:9.3f} ms ({m / ours:5.2f}x){'' if checks.get(p, True) else ' DIFFERS'}" for p, m in medians.items())
            print(f"{name:62s} {case['bytes'] / ours:6.1f} GB/s  {line}", flush=True)
            if args.out:
                os.makedirs(os.path.dirname(args.out), exist_ok=True)
                with open(args.out, "w") as f:
                    json.dump(record, f, indent=1)
    return 0 if all(all(c["agree"].values()) for c in record["cases"]) else 1


def cpu():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


if __name__ == "__main__":
    sys.exit(main())
