#!/usr/bin/env python3
"""Checks `warpfold kmeans` against scikit-learn's KMeans, on the data sets that scikit-learn brings.

    checks/sklearn_check.py [path to warpfold] [--device cuda]

From the same first centroids, some of the points, both must find the same labels, and inertias within 1e-6 of each other: of the points as they
are (f64), and rounded to f32, which scikit-learn is given as f64 (its own f32 goes another way where a point is between two centroids). The last
line counts; the exit status is 1 if anything failed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans

SETS = [
    ("iris", datasets.load_iris, 3),
    ("wine", datasets.load_wine, 3),
    ("breast cancer", datasets.load_breast_cancer, 2),
    ("digits", datasets.load_digits, 10),
    ("diabetes", datasets.load_diabetes, 5),
    ("linnerud", datasets.load_linnerud, 4),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default="target/release/warpfold")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    checked = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, load, clusters in SETS:
            data = np.ascontiguousarray(load().data)
            for dtype in ("float64", "float32"):
                points = data.astype(dtype)
                for seed in range(3):
                    first = points[np.random.default_rng(seed).choice(len(points), clusters, replace=False)]
                    np.save(folder / "points.npy", points)
                    np.save(folder / "first.npy", first)
                    words = ["kmeans", "points.npy", "-k", clusters, "--init", "first.npy", "--tol", 0, "--iters", 300]
                    words += ["--labels", "labels.npy", "--json", "--device", args.device]
                    done = subprocess.run([program, *map(str, words)], cwd=folder, capture_output=True, text=True)
                    if done.returncode != 0:
                        sys.exit(done.stderr)
                    ours = json.loads(done.stdout)
                    labels = np.load(folder / "labels.npy")
                    wide = KMeans(clusters, init=first.astype("f8"), n_init=1, max_iter=300, tol=0, algorithm="lloyd")
                    fit = wide.fit(points.astype("f8"))
                    same = np.array_equal(labels, fit.labels_)
                    off = abs(ours["inertia"] - fit.inertia_) / fit.inertia_
                    checked += 1
                    if not same or off > 1e-6:
                        failed += 1
                        differ = int((labels != fit.labels_).sum())
                        print(f"{name} {dtype}, {clusters} clusters, seed {seed}: {differ} labels differ, inertia off by {off:.1e}")
    print(f"{checked} fits checked, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
