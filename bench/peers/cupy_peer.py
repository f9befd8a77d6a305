#!/usr/bin/env python3
"""CuPy, on a GPU."""

import time

from numpy_peer import call
from data import all_labels, is_keyed, key, pieces, place, values
from protocol import POISON, Skip, serve

CACHES, MOST_COPIES = 4, 64


class CuPy:
    name = "cupy"

    def __init__(self, device):
        if not device.startswith("cuda"):
            raise RuntimeError("CuPy computes on GPUs only")
        import cupy as cp

        self.cp = cp
        self.version = cp.__version__
        index = int(device.partition(":")[2] or 0)
        cp.cuda.Device(index).use()
        properties = cp.cuda.runtime.getDeviceProperties(index)
        self.device, self.l2 = properties["name"].decode(), properties["l2CacheSize"]
        self.before, self.after = cp.cuda.Event(), cp.cuda.Event()
        self.dtypes = dict(f16=cp.float16, f32=cp.float32, f64=cp.float64, bool=cp.bool_)
        for bits in (8, 16, 32, 64):
            self.dtypes[f"i{bits}"] = getattr(cp, f"int{bits}")
            self.dtypes[f"u{bits}"] = getattr(cp, f"uint{bits}")
        self.key = None
        self.release()

    def prepare(self, case):
        cp = self.cp
        if case["dtype"] not in self.dtypes:
            raise Skip(f"CuPy has no {case['dtype']}")
        self.latency = case["measure"] == "latency"
        if case["measure"] == "graph":
            raise Skip("CuPy is not measured in a graph")
        if case["segments"] or case["op"] == "kmeans-iteration":
            raise Skip("CuPy has no segments, and no k-means")
        if not is_keyed(case):
            call(cp, cp.ones([1] * len(case["shape"]), dtype=self.dtypes[case["dtype"]]), case)
        if self.key != key(case):
            self.memories = self.key = None
            cp.get_default_memory_pool().free_all_blocks()
            self.memories = [self.fill(case)]
            self.key = key(case)
        first = self.memories[0]
        size = first.nbytes
        copies = 1 if self.latency else min(MOST_COPIES, max(1, -(-CACHES * self.l2 // size)))
        copies = min(copies, len(self.memories) + cp.cuda.runtime.memGetInfo()[0] // 2 // size)
        self.memories += [first.copy() for _ in range(copies - len(self.memories))]
        views = [self.view(memory, case) for memory in self.memories[:copies]]
        self.calls = self.by_key(views, case) if is_keyed(case) else [call(cp, view, case) for view in views]
        state = "cold" if copies * size > 2 * self.l2 else "warm"
        return self.calls[0], f"{state}: {copies} inputs of {size} bytes in turn, {self.l2} bytes of L2"

    def by_key(self, views, case):
        """A call for each input: what a user would write."""
        import cupyx
        import numpy

        cp, op = self.cp, case["op"]
        if op == "unique":
            return [lambda x=x: cp.unique(x) for x in views]
        labels = cp.asarray(all_labels(numpy, case))
        rows = case["groups"] or case["clusters"]
        is_float = views[0].dtype.kind == "f"

        def add(x, labels):
            out = cp.zeros((rows, *x.shape[1:]), cp.float32 if is_float else cp.int64)
            cupyx.scatter_add(out, labels, x.astype(out.dtype, copy=False))
            return out if case["groups"] else out / cp.bincount(labels, minlength=rows)[:, None]

        return [lambda x=x, labels=labels.copy(): add(x, labels) for x in views]

    def fill(self, case):
        cp, dtype = self.cp, self.dtypes[case["dtype"]]
        memory = cp.zeros(case["room"], dtype=dtype)
        arange = lambda start, end: cp.arange(start, end, dtype=cp.int64)
        for start, end in pieces(case):
            units, one, nan = values(arange, case, start, end)
            part = units.astype(dtype) if one == 1 else (units.astype(cp.float64) * (1 / one)).astype(dtype)
            if nan is not None:
                part[nan] = cp.nan
            place(memory, case, start, end, part)
        return memory

    def view(self, memory, case):
        strides = [s * memory.itemsize for s in case["strides"]]
        return self.cp.lib.stride_tricks.as_strided(memory[case["offset"] :], case["shape"], strides)

    def time(self, f, calls):
        cp = self.cp
        if self.latency:
            start = time.perf_counter_ns()
            for _ in range(calls):
                self.result = f()
                self.result.get()
            return time.perf_counter_ns() - start
        n = len(self.calls)
        self.before.record()
        for i in range(calls):
            self.result = self.calls[i % n]()
        self.after.record()
        self.after.synchronize()
        return round(cp.cuda.get_elapsed_time(self.before, self.after) * 1e6)

    def numpy(self, result):
        return self.cp.asnumpy(result), None

    def poison(self, result):
        result.reshape(-1).view(self.cp.uint8)[:] = POISON
        self.result = None

    def release(self):
        self.calls = self.result = None


if __name__ == "__main__":
    serve(CuPy)
