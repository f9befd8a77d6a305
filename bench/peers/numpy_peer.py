#!/usr/bin/env python3
"""NumPy, on the CPU. It reduces on one thread."""

import time

from data import all_labels, is_keyed, key, offsets, pages, pieces, place, values
from protocol import POISON, Skip, fastest, serve


class NumPy:
    name = "numpy"

    def __init__(self, device):
        import numpy as np

        if device != "cpu":
            raise RuntimeError("NumPy computes on the CPU only")
        self.np = np
        self.version = np.__version__
        self.device = "cpu, one thread"
        self.dtypes = dict(f16=np.float16, f32=np.float32, f64=np.float64, bool=np.bool_)
        for bits in (8, 16, 32, 64):
            self.dtypes[f"i{bits}"] = getattr(np, f"int{bits}")
            self.dtypes[f"u{bits}"] = getattr(np, f"uint{bits}")
        self.key = None
        self.release()

    def prepare(self, case):
        np = self.np
        if case["dtype"] not in self.dtypes:
            raise Skip(f"NumPy has no {case['dtype']}")
        if is_keyed(case):
            return self.by_key(case), "1 input"
        call(np, np.ones([1] * len(case["shape"]), dtype=self.dtypes[case["dtype"]]), case)
        self.load(case)
        return reusing(call(np, self.view(case), case)), "1 input"

    def by_key(self, case):
        """What a user would write."""
        np, op = self.np, case["op"]
        if case["clusters"] or op not in ("unique", "sum", "min", "max"):
            raise Skip(f"no {op} by key")
        self.load(case)
        x = self.memory
        if op == "unique":
            return lambda: np.unique(x)
        if case["groups"]:
            # Of the type that NumPy indexes with: it converts others in each call.
            labels, groups = all_labels(np, case).astype(np.intp), case["groups"]
            is_float = x.dtype.kind == "f"
            out = np.zeros(groups, x.dtype if is_float else np.int64)

            def add():
                out[:] = 0
                np.add.at(out, labels, x)
                return out

            candidates = {"add.at": add}
            if is_float:
                candidates["bincount"] = lambda: np.bincount(labels, weights=x, minlength=groups)
            return candidates[fastest(self.time, candidates)]
        cuts = offsets(np, case)
        add = dict(sum=np.add, min=np.minimum, max=np.maximum)[op]
        dtype = np.int64 if op == "sum" and x.dtype.kind in "iu" else x.dtype
        if (cuts[1:] > cuts[:-1]).all():
            starts = cuts[:-1]
            return lambda: add.reduceat(x, starts, dtype=dtype)

        def reduce():
            # `reduceat` has no empty segments; zero is filled in.
            filled = cuts[1:] > cuts[:-1]
            out = np.zeros(len(filled), dtype)
            out[filled] = add.reduceat(x, cuts[:-1][filled], dtype=dtype)
            return out

        return reduce

    def load(self, case):
        if self.key != key(case):
            self.memory = self.key = None
            self.memory = self.fill(case)
            self.key = key(case)

    def fill(self, case):
        np, dtype = self.np, self.dtypes[case["dtype"]]
        memory = np.frombuffer(pages(case["room"] * np.dtype(dtype).itemsize), dtype, case["room"])
        arange = lambda start, end: np.arange(start, end, dtype=np.int64)
        for start, end in pieces(case):
            units, one, nan = values(arange, case, start, end)
            part = units.astype(dtype) if one == 1 else (units * (1 / one)).astype(dtype)
            if nan is not None:
                part[nan] = np.nan
            place(memory, case, start, end, part)
        return memory

    def view(self, case):
        strides = [s * self.memory.itemsize for s in case["strides"]]
        return self.np.lib.stride_tricks.as_strided(self.memory[case["offset"] :], case["shape"], strides, writeable=False)

    def time(self, f, calls):
        start = time.perf_counter_ns()
        for _ in range(calls):
            self.result = f()
        return time.perf_counter_ns() - start

    def numpy(self, result):
        return self.np.asarray(result), None

    def poison(self, result):
        if isinstance(result, self.np.ndarray) and result.flags.writeable and result.flags.c_contiguous:
            result.reshape(-1).view(self.np.uint8)[:] = POISON
        self.result = None

    def release(self):
        self.result = None


def reusing(f):
    """`f`, which writes its results to one array, if it takes any: a large result costs more to allocate than to write."""
    out = f()
    try:
        f(out=out)
    except TypeError:
        return f
    return lambda: f(out=out)


def call(np, x, case):
    """What a user would write, with or without `out`; of libraries with NumPy's names."""
    op, axes = case["op"], tuple(case["axes"])
    every = len(axes) == x.ndim
    if op in ("argmin", "argmax"):
        if not every and len(axes) > 1:
            raise Skip(f"{op} over several axes is not one call")
        name = f"nan{op}" if case["skip_nan"] else op
        return lambda **out: getattr(np, name)(x, axis=None if every else axes[0], **out)
    if case["skip_nan"]:
        if op not in ("sum", "mean", "var", "std", "min", "max") or not hasattr(np, f"nan{op}"):
            raise Skip(f"no {op} that skips NaNs")
        return lambda **out: getattr(np, f"nan{op}")(x, axis=axes, **out)
    if op in ("sum", "mean", "var", "std", "any", "all", "min", "max"):
        return lambda **out: getattr(np, op)(x, axis=axes, **out)
    if op == "count-nonzero":
        return lambda: np.count_nonzero(x, axis=axes)
    if op == "norm":
        if every:
            return lambda: np.sqrt(np.sum(np.square(x)))
        if len(axes) == 1 and x.dtype != np.float16:
            return lambda: np.linalg.norm(x, axis=axes[0])
    raise Skip(f"{op} is not one call")


if __name__ == "__main__":
    serve(NumPy)
