#!/usr/bin/env python3
"""Checks the `warpfold` command against NumPy, which builds the tree itself.

    checks/tree_check.py [path to warpfold] [--cases N] [--seed S]

Random arrays of every dtype that NumPy has, in either memory order and byte order, with NaNs, infinities, zeros of both signs,
odd lengths, no elements; random axes, masks and NaN skipping. Results of real arithmetic are compared bit for bit with the
tree below, order-free ones with NumPy's own functions. The last line counts; the exit status is 1 if anything failed.
"""

import argparse
import math
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np

FLOATS = ["float32", "float64", "float16"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
TREES = ["sum", "mean", "prod", "var", "std", "norm1", "norm2"]
FREE = ["min", "max", "argmin", "argmax", "any", "all", "count-nonzero"]


def tree(nodes, counts, combine):
    """The contract. `nodes` are arrays whose last axis is reduced; a node of count 0 is absent, and passes through."""
    while counts.shape[-1] > 1:
        pairs = counts.shape[-1] // 2
        left, right, odd = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2), slice(2 * pairs, None)
        a, b, m, n = [x[..., left] for x in nodes], [x[..., right] for x in nodes], counts[..., left], counts[..., right]
        both = [np.where(n == 0, x, np.where(m == 0, y, xy)) for x, y, xy in zip(a, b, combine(a, b, m, n))]
        nodes = [np.concatenate([xy, x[..., odd]], -1) for xy, x in zip(both, nodes)]
        counts = np.concatenate([m + n, counts[..., odd]], -1)
    return [x[..., 0] for x in nodes], counts[..., 0]


def add(a, b, *_):
    return [a[0] + b[0]]


def multiply(a, b, *_):
    return [a[0] * b[0]]


def merge(a, b, m, n):
    """Two (mean, M2) of m and n elements; of equal counts without a division."""
    d, f = b[0] - a[0], a[0].dtype.type
    m, n, half = m.astype(f), n.astype(f), f(0.5)
    with np.errstate(all="ignore"):
        share = n / (m + n)
    step, weight = np.where(m == n, d * half, d * share), np.where(m == n, m * half, m * share)
    return [a[0] + step, (a[1] + b[1]) + (d * d) * weight]


def arithmetic(op, x, present, ddof, leaves_out):
    """`op` of the last axis of `x`, where `present`."""
    wide = {"float16": np.float32, "float32": np.float32}.get(x.dtype.name, np.float64)
    result = x.dtype.type if x.dtype.kind == "f" else np.float64
    v, zero = x.astype(wide), wide(0)
    if v.shape[-1] == 0:
        v, present = np.zeros(v.shape[:-1] + (1,), wide), np.zeros(v.shape[:-1] + (1,), bool)
    counts = present.astype(np.int64)
    if op in ("var", "std"):
        (_, m2), n = tree([v, v - v], counts, merge)
        out = np.where(n == 0, wide("nan"), m2) / np.maximum(n - ddof, 0).astype(wide)
        out = np.sqrt(out) if op == "std" else out
    elif op == "prod":
        (p,), n = tree([v], counts, multiply)
        out = np.where(n == 0, wide(1), p)
    else:
        v = {"norm1": np.abs, "norm2": np.square}.get(op, lambda v: v)(v)
        (s,), n = tree([v], counts, add)
        s = np.where(n == 0, zero, s)
        if op == "sum" and leaves_out:
            s = zero + s  # such a sum starts from +0.0, as NumPy's
        out = {"mean": lambda: s / n.astype(wide), "norm2": lambda: np.sqrt(s)}.get(op, lambda: s)()
    return out.astype(result)


def exact_mean(x, present):
    """Of integers: the sum in Python's own integers, rounded once."""
    out = np.full(x.shape[:-1], np.nan)
    for at in np.ndindex(out.shape):
        row = [int(v) for v in x[at][present[at]]]
        out[at] = float(sum(row)) / len(row) if row else math.nan
    return out


def order_free(op, x, present, skip):
    """What NumPy's own functions say, but for the two zeros, which min and max put in order here."""
    if op in ("sum", "prod"):
        return getattr(np, op)(x, axis=-1, where=present)
    if op in ("any", "all"):
        return getattr(np, op)(x, axis=-1, where=present)
    if op == "count-nonzero":
        return np.count_nonzero((x != 0) & present, axis=-1)
    skips = skip and x.dtype.kind == "f"
    if op in ("argmin", "argmax"):
        return getattr(np, "nan" + op if skips else op)(x, axis=-1)
    out = getattr(np, "nan" + op if skips else op)(x, axis=-1)
    if x.dtype.kind == "f":
        minus, plus = (((x == 0) & (np.signbit(x) == s)).any(-1) for s in (True, False))
        zero = np.where(minus, -0.0, 0.0) if op == "min" else np.where(plus, 0.0, -0.0)
        out = np.where(out == 0, zero, out).astype(x.dtype)
    return out


def bits(x):
    """Bit patterns; the expected NaN is always the positive quiet one without payload."""
    return np.asarray(x, order="C").view(f"u{x.dtype.itemsize}")


def canonical(x):
    return np.where(np.isnan(x), x.dtype.type("nan"), x).astype(x.dtype) if x.dtype.kind == "f" else x


def same(got, expected):
    """No tolerance: dtype, shape and bits."""
    expected = canonical(np.asarray(expected))
    return got.dtype == expected.dtype and got.shape == expected.shape and bool(np.array_equal(bits(got), bits(expected)))


def random_array(rng, dtype, shape):
    if dtype in INTEGERS:
        info = np.iinfo(dtype) if dtype != "bool" else None
        small = rng.random() < 0.5 or info is None
        low, high = (0, 2) if info is None else (max(info.min, -9), 9) if small else (info.min, int(info.max) + 1)
        return rng.integers(low, high, shape, dtype=np.int64 if info is None else dtype).astype(dtype)
    with np.errstate(over="ignore"):
        x = (rng.standard_normal(shape) * np.exp(rng.uniform(-6, 6, shape) * rng.integers(0, 2))).astype(dtype)
    flat = x.reshape(-1)
    if rng.random() < 0.4 and flat.size:
        specials = [[0.0, -0.0], [-0.0], [np.inf, 0.0], [np.inf, -np.inf], [np.nan], [np.nan, -np.nan, np.inf, -0.0]]
        special = np.array(specials[rng.integers(len(specials))], dtype)
        share = rng.choice([0.02, 0.3, 1.0])
        flat[:] = np.where(rng.random(flat.size) < share, rng.choice(special, flat.size), flat)
    return x


def random_shape(rng):
    kind = rng.integers(10)
    if kind == 0:
        return (int(rng.integers(260_000, 700_000)),)  # several tasks
    if kind == 1:
        return (int(rng.integers(400, 3000)), int(rng.integers(1, 300)))
    if kind == 2:
        return tuple(int(n) for n in rng.choice([0, 1, 3, 5], rng.integers(1, 4)))
    if kind < 6:
        return (int(rng.integers(1, 9000)),)
    return tuple(int(n) for n in rng.integers(1, 40, rng.integers(2, 5)))


class Check:
    def __init__(self, binary, seed):
        self.binary, self.rng = binary, np.random.default_rng(seed)
        self.passed = self.failed = 0
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def count(self, good, what):
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        if not good:
            print(f"FAILED: {what}")

    def warpfold(self, *words):
        return subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True)

    def save(self, x):
        """In a random memory and byte order."""
        rng = self.rng
        x = np.asfortranarray(x) if rng.random() < 0.4 else np.ascontiguousarray(x)
        swapped = rng.random() < 0.25
        np.save(self.path / "x.npy", x.astype(x.dtype.newbyteorder(">"), order="K") if swapped else x)
        return f"{'F' if x.flags.fnc else 'C'} {'big' if swapped else 'little'}-endian"

    def case(self, op, dtype):
        rng = self.rng
        x = random_array(rng, dtype, random_shape(rng))
        rank = x.ndim
        axes = sorted(rng.permutation(rank)[: rng.integers(1, rank + 1)].tolist()) if rng.random() < 0.7 else list(range(rank))
        name, words = {"norm1": ("norm", ["--ord", "1"]), "norm2": ("norm", ["--ord", "2"])}.get(op, (op, []))
        words = ["reduce", name, self.path / "x.npy", *words]
        if len(axes) < rank or rng.random() < 0.5:
            words += ["--axis", ",".join(str(a - rank if rng.random() < 0.3 else a) for a in axes)]
        keep = rng.random() < 0.3
        words += ["--keepdims"] * keep
        skip = x.dtype.kind == "f" and rng.random() < 0.3
        words += ["--skip-nan"] * skip
        ddof = int(rng.integers(0, 2)) if op in ("var", "std") else 0
        words += ["--ddof", ddof] if ddof else []
        words += ["--threads", rng.integers(1, 5)] if rng.random() < 0.3 else []
        mask = np.ones((1,) * rank, bool)
        masked = op not in ("min", "max", "argmin", "argmax") and rng.random() < 0.25
        if masked:
            mask = rng.random(tuple(n if rng.random() < 0.7 else 1 for n in x.shape)) < rng.choice([0.1, 0.6, 1.0])
            np.save(self.path / "mask.npy", mask)
            words += ["--where", self.path / "mask.npy"]
        layout = self.save(x)
        what = f"{op} {dtype} {x.shape} {layout}: {' '.join(map(str, words))}"

        kept = [a for a in range(rank) if a not in axes]
        turn = lambda y: y.transpose(kept + axes).reshape([x.shape[a] for a in kept] + [math.prod(x.shape[a] for a in axes)])
        rows, present = turn(x), turn(np.broadcast_to(mask, x.shape))
        expected = self.expect(op, rows, present, skip, ddof, masked)
        if expected is not None and keep:
            expected = np.asarray(expected).reshape([1 if a in axes else n for a, n in enumerate(x.shape)])
        self.compare(words, expected, what)

    def expect(self, op, rows, present, skip, ddof, masked):
        """The result, or `None` if there must be none."""
        seen = present & ~np.isnan(rows) if skip else present
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if op in TREES and rows.dtype.kind == "f":
                return arithmetic(op, rows, seen, ddof, skip or masked)
            if op == "mean":
                return exact_mean(rows, seen)
            if op in ("var", "std", "norm1", "norm2"):
                return arithmetic(op, rows, seen, ddof, masked)
            if op in ("sum", "prod", "any", "all", "count-nonzero"):
                return order_free(op, rows, seen, skip)
            if rows.shape[-1] == 0 and math.prod(rows.shape[:-1]) > 0:
                return None
            if rows.size == 0:
                return np.zeros(rows.shape[:-1], np.int64 if op.startswith("arg") else rows.dtype)
            if op.startswith("arg") and skip and not seen.any(-1).all():
                return None
            return order_free(op, rows, seen, skip)

    def compare(self, words, expected, what):
        out = self.path / "out.npy"
        out.unlink(missing_ok=True)
        if expected is None:
            done = self.warpfold(*words, "-o", out)
            return self.count(done.returncode == 2 and done.stderr and not out.exists(), f"{what}: it should be refused")
        expected = np.asarray(expected)
        if expected.ndim == 0 and self.rng.random() < 0.5:
            done = self.warpfold(*words, "--bits")
            want = f"0x{int(bits(canonical(expected))[()]):0{2 * expected.itemsize}x}"
            return self.count(done.returncode == 0 and done.stdout.strip() == want, f"{what}: {done.stdout}{done.stderr}, not {want}")
        done = self.warpfold(*words, "-o", out)
        if done.returncode != 0:
            return self.count(False, f"{what}: {done.stderr}")
        got = np.load(out)
        show = lambda y: f"{y.dtype} {y.shape} {y.ravel()[:4]} {[hex(b) for b in bits(y).ravel()[:4]]}"
        self.count(same(got, expected), f"{what}: {show(got)}, not {show(canonical(expected))}")

    def itself(self):
        """A check that cannot fail is none: wrong results must not pass."""
        x = self.rng.standard_normal(5001).astype(np.float32)
        present = np.ones(x.shape, bool)
        right = arithmetic("sum", x, present, 0, False)
        line = np.float32(0)
        for v in x:
            line += v
        wrong = {
            "a sum from left to right": line,
            "one element dropped": arithmetic("sum", x[:-1], present[:-1], 0, False),
            "zero": np.float32(0),
            "NaN": np.float32("nan"),
            "another dtype": np.float64(right),
        }
        self.count(same(np.asarray(right), right), "the check refuses a right result")
        for what, value in wrong.items():
            self.count(not same(np.asarray(value), right), f"the check takes {what} for the tree")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", default="target/release/warpfold")
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--seed", type=int, default=20260101)
    args = parser.parse_args()
    check = Check(args.binary, args.seed)
    check.itself()
    plan = [(op, d) for d in FLOATS for op in TREES + FREE] + [(op, d) for d in INTEGERS for op in TREES + FREE]
    # Floats are where order matters: they come twice as often.
    plan = plan[: len(FLOATS) * 14] + plan
    for i in range(args.cases):
        check.case(*plan[i % len(plan)])
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
