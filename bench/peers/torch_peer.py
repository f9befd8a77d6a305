#!/usr/bin/env python3
"""PyTorch, on the CPU or a GPU: `torch_peer.py`, as it is; `torch_peer.py compile`, what torch.compile makes of each call;
`torch_peer.py deterministic`, with algorithms whose results are the same each time.
"""

import os
import sys
import time

from data import is_keyed, key, pages, pieces, place, values
from protocol import POISON, Skip, fastest, serve
from torch_keys import by_key

# Copies in turn, so that inputs come from memory and not from a GPU's second-level cache.
CACHES, MOST_COPIES = 4, 64
# Calls that one graph holds.
GRAPH_CALLS = 32


class Torch:
    name, variant = "torch", None

    def __init__(self, device):
        # Large pages for outputs on a CPU, as NumPy has them.
        os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
        import torch

        self.torch = torch
        if self.variant == "deterministic":
            # What cuBLAS asks for in this mode.
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        self.version = torch.__version__
        self.on = torch.device(device)
        self.is_gpu = self.on.type == "cuda"
        if self.is_gpu:
            properties = torch.cuda.get_device_properties(self.on)
            torch.cuda.set_device(self.on)
            self.device, self.l2 = properties.name, properties.L2_cache_size
            self.before, self.after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        else:
            self.device = "cpu"
        self.dtypes = dict(f16=torch.float16, bf16=torch.bfloat16, f32=torch.float32, f64=torch.float64, bool=torch.bool,
                           i8=torch.int8, i16=torch.int16, i32=torch.int32, i64=torch.int64, u8=torch.uint8)
        self.key = None
        self.release()

    def prepare(self, case):
        torch = self.torch
        if case["dtype"] not in self.dtypes:
            raise Skip(f"PyTorch has no reductions of {case['dtype']}")
        torch.set_num_threads(case["threads"])
        self.latency = case["measure"] == "latency"
        if is_keyed(case) and self.variant == "compile":
            raise Skip("torch.compile is measured with reductions along axes only")
        if not is_keyed(case):
            call(torch, torch.ones([1] * len(case["shape"]), dtype=self.dtypes[case["dtype"]]), case)
        if self.key != key(case):
            self.memories = self.key = None
            if self.is_gpu:
                torch.cuda.empty_cache()
            self.memories = [self.fill(case)]
            self.key = key(case)
        first = self.memories[0]
        size = first.element_size() * first.numel()
        copies = 1
        if self.is_gpu and not self.latency:
            copies = min(MOST_COPIES, max(1, -(-CACHES * self.l2 // size)))
            copies = min(copies, len(self.memories) + torch.cuda.mem_get_info()[0] // 2 // size)
        self.memories += [first.clone() for _ in range(copies - len(self.memories))]
        views = [torch.as_strided(memory, case["shape"], case["strides"], case["offset"]) for memory in self.memories[:copies]]
        how = ""
        if is_keyed(case):
            ways = self.by_key(views, case)
            name = fastest(self.time_of, {name: calls[0] for name, calls in ways.items()})
            self.calls, how = ways[name], f"; {name}"
        else:
            f = call(torch, views[0], case)
            if self.variant == "compile":
                f = self.compiled(f, views)
            self.calls = [lambda x=x: f(x) for x in views] if self.is_gpu else [reusing(f, x) for x in views]
        if case["measure"] == "graph":
            self.graph = self.recorded()
        if not self.is_gpu:
            return self.calls[0], "1 input" + how
        state = "cold" if copies * size > 2 * self.l2 else "warm"
        return self.calls[0], f"{state}: {copies} inputs of {size} bytes in turn, {self.l2} bytes of L2{how}"

    def compiled(self, f, views):
        """Compiled for this case alone. What cannot be compiled as a whole, or is compiled more than once, is an error: it would be
        slower than it could be, and nobody would know."""
        torch = self.torch
        import torch._dynamo as dynamo

        dynamo.reset()
        dynamo.utils.counters.clear()
        whole = torch.compile(f, fullgraph=True, dynamic=False)
        for x in views:
            whole(x)
        graphs = dynamo.utils.counters["stats"]["unique_graphs"]
        if graphs != 1:
            raise RuntimeError(f"torch.compile made {graphs} graphs of one call")
        return whole

    def recorded(self):
        """A CUDA graph of calls on the inputs in turn."""
        torch = self.torch
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for f in self.calls:
                f()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(GRAPH_CALLS):
                self.result = self.calls[i % len(self.calls)]()
        return graph

    def time_of(self, f, calls):
        """As `time`, of one function on one input."""
        start = time.perf_counter_ns()
        for _ in range(calls):
            f()
        if self.is_gpu:
            self.torch.cuda.synchronize()
        return time.perf_counter_ns() - start

    def by_key(self, views, case):
        """A call for each input, of what is taken together by keys."""
        return by_key(self.torch, views, case, self.on)

    def fill(self, case):
        torch, dtype = self.torch, self.dtypes[case["dtype"]]
        if self.is_gpu:
            memory = torch.zeros(case["room"], dtype=dtype, device=self.on)
        else:
            memory = torch.frombuffer(pages(case["room"] * dtype.itemsize), dtype=torch.uint8)
            memory = memory[: case["room"] * dtype.itemsize].view(dtype)
        arange = lambda start, end: torch.arange(start, end, dtype=torch.int64, device=self.on)
        for start, end in pieces(case):
            units, one, nan = values(arange, case, start, end)
            part = units.to(dtype) if one == 1 else (units.to(torch.float64) * (1 / one)).to(dtype)
            if nan is not None:
                part[nan] = torch.nan
            place(memory, case, start, end, part)
        return memory

    def time(self, f, calls):
        if self.is_gpu and not self.latency:
            n = len(self.calls)
            launches = -(-calls // GRAPH_CALLS)
            self.before.record()
            if self.graph:
                for _ in range(launches):
                    self.graph.replay()
            else:
                for i in range(calls):
                    self.result = self.calls[i % n]()
            self.after.record()
            self.after.synchronize()
            ns = self.before.elapsed_time(self.after) * 1e6
            return round(ns * calls / (launches * GRAPH_CALLS) if self.graph else ns)
        start = time.perf_counter_ns()
        for _ in range(calls):
            self.result = f()
            if self.is_gpu:
                self.result.cpu()
        return time.perf_counter_ns() - start

    def numpy(self, result):
        if isinstance(result, tuple):
            # Labels and means of an iteration, as one list.
            labels, means = result
            dtype = next(name for name, known in self.dtypes.items() if known == means.dtype)
            return self.torch.cat([labels.ravel().double(), means.ravel().double()]).cpu().numpy(), dtype
        result = result.cpu()
        if result.dtype == self.torch.bfloat16:
            return result.float().numpy(), "bf16"
        return result.numpy(), None

    def labels(self, result):
        return result[0].ravel().cpu().numpy()

    def poison(self, result):
        for part in result if isinstance(result, tuple) else (result,):
            if part.is_contiguous():
                part.reshape(-1).view(self.torch.uint8).fill_(POISON)
        if not self.graph:
            self.result = None

    def release(self):
        self.calls = self.result = self.graph = None


def reusing(f, x):
    """`f` of `x`, which writes its results to one tensor, if it takes any: a large result costs more to allocate than to write."""
    out = f(x)
    if out.ndim == 0:
        return lambda: f(x)
    try:
        f(x, out=out)
    except (TypeError, RuntimeError):
        return lambda: f(x)
    return lambda: f(x, out=out)


def call(torch, x, case):
    """What a user would write: a function of an array like `x`, which takes `out` if PyTorch's does."""
    op, axes = case["op"], tuple(case["axes"])
    every = len(axes) == x.ndim
    is_float = x.dtype.is_floating_point
    if case["skip_nan"] and op not in ("sum", "mean"):
        raise Skip(f"no {op} that skips NaNs")
    if op in ("argmin", "argmax"):
        if not every and len(axes) > 1:
            raise Skip(f"{op} over several axes is not one call")
        f = getattr(torch, op)
        return (lambda x, **out: f(x)) if every else (lambda x, **out: f(x, dim=axes[0], **out))
    if op in ("sum", "mean") and case["skip_nan"]:
        f = getattr(torch, f"nan{op}")
        return lambda x, **out: f(x, dim=axes, **out)
    if op in ("mean", "var", "std", "norm", "logsumexp") and not is_float:
        raise Skip(f"no {op} of integers")
    if op == "mean":
        return lambda x, **out: torch.mean(x, dim=axes, **out)
    if op in ("var", "std"):
        f = getattr(torch, op)
        return lambda x, **out: f(x, dim=axes, correction=0, **out)
    if op == "sum":
        return lambda x, **out: torch.sum(x, dim=axes, **out)
    if op in ("min", "max"):
        f = getattr(torch, f"a{op}")
        return lambda x, **out: f(x, dim=axes, **out)
    if op in ("any", "all"):
        f = getattr(torch, op)
        return lambda x, **out: f(x, dim=axes, **out)
    if op == "count-nonzero":
        return lambda x: torch.count_nonzero(x, dim=axes)
    if op == "norm":
        return lambda x, **out: torch.linalg.vector_norm(x, dim=axes, **out)
    if op == "logsumexp":
        return lambda x, **out: torch.logsumexp(x, dim=axes, **out)
    raise Skip(f"{op} is not one call")


if __name__ == "__main__":
    variant = sys.argv[1] if len(sys.argv) > 1 else None
    if variant not in (None, "compile", "deterministic"):
        sys.exit(f"{sys.argv[0]}: no variant {variant}: give compile, deterministic, or none")
    serve(type("Named", (Torch,), dict(name="-".join(filter(None, ["torch", variant])), variant=variant)))
