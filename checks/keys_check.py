#!/usr/bin/env python3
"""Checks `warpfold segments`, `group`, `unique`, `histogram` and `kmeans` against NumPy.

    checks/keys_check.py [path to warpfold] [--seed S]

What is exact (counts, indices, integers, edges) must be equal; sums of floats must be within the bound of a tree; a k-means of
twenty lines of NumPy, from the same first centroids, must find the same labels, and an inertia within 1e-6. The last line counts; the
exit status is 1 if anything failed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

DTYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


class Command:
    """The command, in a directory of its own."""

    def __init__(self, program, folder):
        self.program, self.folder, self.checked, self.failed = program, pathlib.Path(folder), 0, 0

    def save(self, name, array):
        np.save(self.folder / name, array)
        return name

    def load(self, name):
        return np.load(self.folder / name)

    def run(self, *args):
        done = subprocess.run([self.program, *map(str, args)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{args}: {done.stderr}")
        return done.stdout

    def same(self, what, got, want):
        self.checked += 1
        got, want = np.asarray(got), np.asarray(want)
        if got.dtype != want.dtype or not np.array_equal(got, want, equal_nan=want.dtype.kind == "f"):
            self.failed += 1
            print(f"FAILED {what}: {got.dtype} {got.ravel()[:5]}, not {want.dtype} {want.ravel()[:5]}")

    def near(self, what, got, want, bound):
        self.checked += 1
        if not np.all(np.abs(np.asarray(got, np.float64) - want) <= bound):
            self.failed += 1
            print(f"FAILED {what}: {got}, not {want} within {bound}")


def values(random, dtype, n):
    if dtype == "bool":
        return random.integers(0, 2, n).astype(bool)
    if dtype.startswith("float"):
        return (random.integers(-300, 300, n) / 16).astype(dtype)
    return random.integers(0 if dtype.startswith("u") else -100, 101, n).astype(dtype)


def check_groups(command, random, dtype):
    n, k = 3000, int(random.integers(1, 40))
    x, labels = values(random, dtype, n), random.integers(-1, k, n)
    labels[:k] = np.arange(k)
    for name, array in [("x.npy", x), ("labels.npy", labels.astype(random.choice(["int8", "int32", "int64"])))]:
        command.save(name, array)
    offsets = np.sort(random.integers(0, n + 1, 50))
    offsets[7] = offsets[6]
    command.save("offsets.npy", np.sort(offsets))
    wide = np.float64 if x.dtype.kind == "f" else (np.uint64 if x.dtype.kind == "u" else np.int64)
    total, size = np.zeros(k, wide), np.zeros(k, np.float64)
    np.add.at(total, labels[labels >= 0], x[labels >= 0].astype(wide))
    np.add.at(size, labels[labels >= 0], np.abs(x[labels >= 0].astype(np.float64)))
    parts = [x[a:b] for a, b in zip(np.sort(offsets), np.sort(offsets)[1:])]
    command.run("group", "sum", "x.npy", "--by", "labels.npy", "-o", "out.npy")
    got = command.load("out.npy")
    if x.dtype.kind == "f":
        unit = max(2.0**-24 if x.dtype != np.float64 else 2.0**-53, np.finfo(x.dtype).eps / 2)
        command.near(f"group sum {dtype}", got, total, 16 * unit * size)
    else:
        command.same(f"group sum {dtype}", got, total)
    command.run("group", "argmin", "x.npy", "--by", "labels.npy", "-o", "out.npy")
    command.same(f"group argmin {dtype}", command.load("out.npy"),
                 [np.flatnonzero(labels == j)[np.argmin(x[labels == j])] for j in range(k)])
    command.run("segments", "max", "x.npy", "--offsets", "offsets.npy", "--fill", "1", "-o", "out.npy")
    command.same(f"segments max {dtype}", command.load("out.npy"),
                 np.array([part.max() if part.size else x.dtype.type(1) for part in parts], x.dtype))
    command.run("segments", "count", "x.npy", "--offsets", "offsets.npy", "-o", "out.npy")
    command.same(f"segments count {dtype}", command.load("out.npy"), [np.count_nonzero(part) for part in parts])


def check_values(command, random, dtype):
    x = values(random, dtype, 2000)
    if x.dtype.kind == "f":
        x[random.integers(0, 2000, 5)] = np.nan
    command.save("x.npy", x.reshape(40, 50))
    want, first, inverse, counts = np.unique(x, True, True, True)
    out = json.loads(command.run("unique", "x.npy", "--first", "-o", "v.npy", "--counts", "n.npy", "--inverse", "i.npy", "--json"))
    command.same(f"unique {dtype}", command.load("v.npy"), want)
    command.same(f"unique counts {dtype}", command.load("n.npy"), counts)
    command.same(f"unique inverse {dtype}", command.load("i.npy"), inverse.reshape(40, 50))
    command.same(f"unique first {dtype}", out["first"], first)
    x = np.nan_to_num(x)
    command.save("x.npy", x)
    plain = x.astype(np.uint8) if dtype == "bool" else x
    for bins, spread in [(10, None), (37, (-7.3, 11.9)), (255, None), (7, (0.1, 0.7))]:
        try:
            counts, edges = np.histogram(plain, bins, spread)
        except ValueError:
            continue
        options = [] if spread is None else [f"--range={spread[0]},{spread[1]}"]
        out = json.loads(command.run("histogram", "x.npy", "--bins", bins, *options, "--json"))
        command.same(f"edges {dtype} {bins} {spread}", np.array(out["edges"], edges.dtype), edges)
        command.same(f"histogram {dtype} {bins} {spread}", out["counts"], counts)
    edges = np.array([-5.5, -1.0, -1.0, 0.0, 3.0, 7.25])
    command.save("edges.npy", edges)
    out = json.loads(command.run("histogram", "x.npy", "--edges", "edges.npy", "--json"))
    command.same(f"histogram {dtype} of edges", out["counts"], np.histogram(plain, edges)[0])


def kmeans(x, centroids, iterations=300):
    """Lloyd's, in float64."""
    x, centroids, before = x.astype(np.float64), centroids.astype(np.float64), None
    for _ in range(iterations):
        square = ((x[:, None, :] - centroids[None, :, :]) ** 2).sum(-1)
        labels = square.argmin(1)
        if before is not None and np.array_equal(labels, before):
            break
        before = labels
        for j in range(len(centroids)):
            centroids[j] = x[labels == j].mean(0)
    return labels, centroids, square.min(1).sum()


def check_kmeans(command, random, dtype, n, d, k):
    centres = random.normal(size=(k, d)) * 4
    x = (centres[random.integers(0, k, n)] + random.normal(size=(n, d)) * 0.3).astype(dtype)
    first = x[random.permutation(n)[:k]]
    command.save("x.npy", x)
    command.save("first.npy", first)
    out = json.loads(command.run("kmeans", "x.npy", "-k", k, "--init", "first.npy", "--tol", 0, "--quiet", "--empty", "keep",
                                 "--labels", "l.npy", "--centroids", "c.npy", "--json"))
    with np.errstate(all="ignore"):
        labels, centroids, inertia = kmeans(x, first)
    about = f"kmeans {dtype} {n} {d} {k}"
    command.same(f"{about} labels", command.load("l.npy"), labels.astype(np.int32))
    command.near(f"{about} inertia", out["inertia"], inertia, 1e-6 * inertia)
    command.near(f"{about} centroids", command.load("c.npy"), centroids, 2.0**-23 * np.abs(x.astype(np.float64)).max())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", nargs="?", default="target/release/warpfold")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    random = np.random.default_rng(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        command = Command(str(pathlib.Path(args.program).resolve()), folder)
        for dtype in DTYPES:
            check_groups(command, random, dtype)
            check_values(command, random, dtype)
        for dtype in ["float16", "float32", "float64"]:
            for n, d, k in [(2000, 2, 5), (1500, 17, 3), (1000, 1, 4)]:
                check_kmeans(command, random, dtype, n, d, k)
        print(f"{command.checked} results, {command.failed} wrong")
        return 1 if command.failed else 0


if __name__ == "__main__":
    sys.exit(main())
