#!/usr/bin/env python3
"""Times `wf.dask` beside Dask's own reductions, on threads, and checks that the bits are those of the whole.

    pip install warpfold dask
    bench/dask_bench.py [--mib 2048] [--workers 2] [--samples 5] [--filter WORDS] [--json FILE]

Sums and nan-means, of float32 and float64, of all elements and along each axis, in chunks of whole rows, squares, small
squares, and ragged ones. Both sides take turns. The exit status is 1 if any bits are others than those of the array in
one piece, or the median of Warpfold is more than 1.1 of Dask's.
"""

import argparse
import math
import sys

import dask
import dask.array as da
import numpy as np
from paired import Record, line, measure, medians

import warpfold as wf
import warpfold.dask as wd

MOST = 1.1


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--filter", default="", help="only cases whose names have all of these words")
    parser.add_argument("--json", help="where all samples are written")
    return parser.parse_args()


def ragged(n, parts):
    """Parts of an axis, no two of one length."""
    ends = [round(n * (i / parts) ** 1.15) for i in range(parts + 1)]
    return tuple(np.diff(ends).tolist())


def chunkings(n, size):
    """Chunks of an array of n by n elements of so many bytes."""
    large = math.isqrt((96 << 20) // size)
    return {
        "rows": (max(1, (64 << 20) // (n * size)), n),
        "squares of 96 MiB": (large, large),
        "squares of 1000": (1000, 1000),
        "ragged": (ragged(n, 9), ragged(n, 5)),
    }


def main():
    args = options()
    record = Record(args.json, args.workers, (wf, np, dask))
    failed = behind = 0
    for dtype in ("f4", "f8"):
        size = np.dtype(dtype).itemsize
        n = math.isqrt((args.mib << 20) // size)
        x = np.random.default_rng(0).random((n, n), dtype=dtype)
        for kind, chunks in chunkings(n, size).items():
            d = da.from_array(x, chunks=chunks)
            for op in ("sum", "nanmean"):
                for axis in (None, 0, 1):
                    name = f"{op} {np.dtype(dtype)} {n} x {n} axis {axis} in {kind}"
                    if not all(word in name for word in args.filter.split()):
                        continue
                    sides = {
                        who: lambda f=getattr(of, op), d=d, a=axis: f(d, axis=a).compute()
                        for who, of in (("warpfold", wd), ("dask", da))
                    }
                    with dask.config.set(scheduler="threads", num_workers=args.workers):
                        samples = measure(sides, args.samples, 1e9)
                        same = np.asarray(sides["warpfold"]()).tobytes()
                    same = same == np.asarray(getattr(wf, op)(x, axis=axis)).tobytes()
                    median = medians(samples)
                    slow = median["warpfold"] > MOST * median["dask"]
                    failed, behind = failed + (not same), behind + slow
                    record.add({"case": name, "ns": samples, "same": same})
                    print("BEHIND " * slow + "WRONG " * (not same) + line(name, median, "warpfold", {}), flush=True)
    print(f"{len(record.all['cases'])} cases, {failed} with other bits, {behind} behind")
    return bool(failed or behind)


if __name__ == "__main__":
    sys.exit(main())
