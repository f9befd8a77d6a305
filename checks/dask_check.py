#!/usr/bin/env python3
"""Checks `wf.dask` on a cluster of worker processes on this machine, of which one is killed midway.

    checks/dask_check.py [--chunkings 20] [--seed 0]

For each chunking and for 1, 2 and 4 workers, reductions of an array must have the bits of the array in one piece. Then
one of the workers is killed while chunks are computed, and the bits must be the same again. The last line counts; the
exit status is 1 if anything failed.
"""

import argparse
import os
import signal
import sys
import threading
import time

import dask
import dask.array as da
import numpy as np

import warpfold as wf
import warpfold.dask as wd

OPS = ["sum", "nanmean", "var", "argmax", "nanmax", "logsumexp", "count_nonzero"]
SHAPE = (400, 90, 60)


def cuts(rng, n):
    ends = np.unique(rng.integers(1, n, rng.integers(0, 5)))
    return tuple(np.diff([0, *ends.tolist(), n]).tolist())


def slow(block):
    """The block, later: so that a worker can be killed midway."""
    time.sleep(0.05)
    return block


def data(seed):
    x = (np.random.default_rng(seed).standard_normal(SHAPE) * 100).astype("f4")
    x[::7, ::5] = np.nan
    return x


def bits(x):
    return np.asarray(x).tobytes()


def reduced(x, axis):
    return [getattr(wd, op)(x, axis=axis) for op in OPS]


def killed(client, worker_pids, lazy):
    """Results of which one worker was killed while they were computed, and whether it was."""
    state = {}

    def kill():
        state["pid"] = worker_pids[0]
        os.kill(worker_pids[0], signal.SIGKILL)

    timer = threading.Timer(0.4, kill)
    timer.start()
    start = time.monotonic()
    futures = client.compute(lazy)
    found = client.gather(futures)
    took = time.monotonic() - start
    timer.cancel()
    return found, "pid" in state and took > 0.4


def on_clusters(chunkings, seed):
    from distributed import Client, LocalCluster

    x, rng = data(seed), np.random.default_rng(seed + 1)
    axes = [None, 0, (0, 2), 1]
    want = {axis: [bits(getattr(wf, op)(x, axis=axis)) for op in OPS] for axis in axes}
    labels = rng.integers(0, 12, SHAPE[0])
    groups = bits(wf.group_by(x, labels, "nanmean"))
    points = rng.standard_normal((300, 6))
    whole_fit = wf.KMeans(4, random_state=0, max_iter=5).fit(points)
    checked = failed = deaths = 0
    for workers in (1, 2, 4):
        options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
        with LocalCluster(**options, dashboard_address=None) as cluster, Client(cluster) as client:
            for i in range(chunkings):
                axis = axes[i % len(axes)]
                d = da.from_array(x, chunks=tuple(cuts(rng, n) for n in SHAPE))
                lazy = reduced(d, axis)
                last = i == chunkings - 1 and workers > 1
                if last:
                    many = da.from_array(x, chunks=(25, 30, 60)).map_blocks(slow, dtype=x.dtype)
                    pids = list(client.run(os.getpid).values())
                    found, died = killed(client, pids, reduced(many, axis))
                    deaths += died
                else:
                    found = client.gather(client.compute(lazy))
                for op, one, whole in zip(OPS, found, want[axis]):
                    checked += 1
                    if bits(one) != whole:
                        failed += 1
                        print(f"{op} over {axis} in chunks of {d.chunks} on {workers} workers: other bits")
            d = da.from_array(x, chunks=(33, 90, 17))
            checked += 1
            failed += bits(wd.group_by(d, labels, "nanmean").compute()) != groups
            fit = wf.KMeans(4, random_state=0, max_iter=5).fit(da.from_array(points, chunks=(37, 3)))
            checked += 1
            failed += bits(fit.cluster_centers_) != bits(whole_fit.cluster_centers_)
    print(f"{checked} results checked, a worker was killed {deaths} times, {failed} failed")
    return failed or deaths != 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunkings", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    # A killed worker is no news here.
    dask.config.set({"logging.distributed": "critical"})
    return 1 if on_clusters(args.chunkings, args.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
