#!/usr/bin/env python3
"""pandas and Polars, on the CPU: `frames_peer.py pandas`, or `polars`. Sums of groups, and distinct values."""

import sys
from importlib import import_module

from data import all_labels
from numpy_peer import NumPy
from protocol import Skip, serve


class Frames(NumPy):
    def __init__(self, device):
        super().__init__(device)
        self.library = import_module(self.name)
        self.version = self.library.__version__
        self.device = "cpu"

    def prepare(self, case):
        if case["op"] != "unique" and not (case["op"] == "sum" and case["groups"]):
            raise Skip(f"{self.name} is measured with groups and distinct values only")
        if case["dtype"] not in ("f32", "f64", "i8", "i16", "i32", "i64"):
            raise Skip(f"{self.name} is not measured with {case['dtype']}")
        self.load(case)
        labels = None if case["op"] == "unique" else all_labels(self.np, case)
        self.groups = case["groups"] if labels is not None else None
        self.present = None if labels is None else self.np.unique(labels)
        return getattr(self, self.name)(self.memory, labels), "1 input"

    def numpy(self, result):
        if self.groups is None:
            return result, None
        # Labels that do not occur have no row.
        filled = self.np.zeros(self.groups, result.dtype)
        filled[self.present] = result
        return filled, None

    def pandas(self, x, labels):
        pd = self.library
        if labels is None:
            # `unique` does not sort.
            return lambda: self.np.sort(pd.unique(x))
        x = x if x.dtype.kind == "f" else x.astype(self.np.int64)
        return lambda: pd.Series(x).groupby(labels, sort=True).sum().to_numpy()

    def polars(self, x, labels):
        pl = self.library
        if labels is None:
            series = pl.Series(x)
            return lambda: series.unique().sort().to_numpy()
        x = x if x.dtype.kind == "f" else x.astype(self.np.int64)
        frame = pl.DataFrame({"label": labels, "x": x})
        return lambda: frame.group_by("label").agg(pl.col("x").sum()).sort("label")["x"].to_numpy()


if __name__ == "__main__":
    serve(type("Named", (Frames,), dict(name=sys.argv[1])))
