#!/usr/bin/env python3
"""PyTorch, on the CPU or a GPU."""

import time

from data import is_keyed, key, pieces, values
from protocol import Skip, serve
from torch_keys import by_key

# Copies in turn, so that inputs come from memory and not from a GPU's second-level cache.
CACHES, MOST_COPIES = 4, 64


class Torch:
    name = "torch"

    def __init__(self, device):
        import torch

        self.torch = torch
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
        self.calls = self.by_key(views, case) if is_keyed(case) else [call(torch, x, case) for x in views]
        if not self.is_gpu:
            return self.calls[0], "1 input"
        state = "cold" if copies * size > 2 * self.l2 else "warm"
        return self.calls[0], f"{state}: {copies} inputs of {size} bytes in turn, {self.l2} bytes of L2"

    def by_key(self, views, case):
        """A call for each input, of what is taken together by keys."""
        return by_key(self.torch, views, case, self.on)

    def fill(self, case):
        torch, dtype = self.torch, self.dtypes[case["dtype"]]
        memory = torch.zeros(case["room"], dtype=dtype, device=self.on)
        arange = lambda start, end: torch.arange(start, end, dtype=torch.int64, device=self.on)
        for start, end, to in pieces(case):
            units, one, nan = values(arange, case, start, end)
            part = units.to(dtype) if one == 1 else (units.to(torch.float64) * (1 / one)).to(dtype)
            if nan is not None:
                part[nan] = torch.nan
            memory[to : to + end - start] = part
        return memory

    def time(self, f, calls):
        if self.is_gpu and not self.latency:
            n = len(self.calls)
            self.before.record()
            for i in range(calls):
                self.result = self.calls[i % n]()
            self.after.record()
            self.after.synchronize()
            return round(self.before.elapsed_time(self.after) * 1e6)
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

    def release(self):
        self.calls = self.result = None


def call(torch, x, case):
    """What a user would write."""
    op, axes = case["op"], tuple(case["axes"])
    every = len(axes) == x.ndim
    is_float = x.dtype.is_floating_point
    if case["skip_nan"] and op not in ("sum", "mean"):
        raise Skip(f"no {op} that skips NaNs")
    if op in ("argmin", "argmax"):
        if not every and len(axes) > 1:
            raise Skip(f"{op} over several axes is not one call")
        f = getattr(torch, op)
        return (lambda: f(x)) if every else (lambda: f(x, dim=axes[0]))
    if op in ("sum", "mean") and case["skip_nan"]:
        f = getattr(torch, f"nan{op}")
        return lambda: f(x, dim=axes)
    if op in ("mean", "var", "std", "norm", "logsumexp") and not is_float:
        raise Skip(f"no {op} of integers")
    if op == "mean":
        return lambda: torch.mean(x, dim=axes)
    if op in ("var", "std"):
        f = getattr(torch, op)
        return lambda: f(x, dim=axes, correction=0)
    if op == "sum":
        return lambda: torch.sum(x, dim=axes)
    if op in ("min", "max"):
        f = getattr(torch, f"a{op}")
        return lambda: f(x, dim=axes)
    if op in ("any", "all"):
        f = getattr(torch, op)
        return lambda: f(x, dim=axes)
    if op == "count-nonzero":
        return lambda: torch.count_nonzero(x, dim=axes)
    if op == "norm":
        return lambda: torch.linalg.vector_norm(x, dim=axes)
    if op == "logsumexp":
        return lambda: torch.logsumexp(x, dim=axes)
    raise Skip(f"{op} is not one call")


if __name__ == "__main__":
    serve(Torch)
