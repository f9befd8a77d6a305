#!/usr/bin/env python3
"""flash-kmeans and flashlib (k-means in Triton, on top of PyTorch), on a GPU: `flash_peer.py flash-kmeans`, or `flashlib`.

They are taken from where Python finds them, or from wheels in a folder `wheels`, beside this file or two folders above it.
"""

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import numpy as np
from data import all_labels, centroids
from protocol import Skip, serve
from torch_peer import Torch

# Where the update step is, and the assignment.
MODULES = {
    "flash-kmeans": ("flash_kmeans.centroid_update_triton", "flash_kmeans.assign_euclid_triton"),
    "flashlib": ("flashlib.primitives.kmeans.triton.update", "flashlib.primitives.kmeans.triton.assign"),
}


def unpack(folder):
    """Wheels, to where Triton finds the sources of kernels."""
    here = Path(__file__).resolve().parent
    for wheel in sorted([*here.glob("wheels/*.whl"), *here.parent.parent.glob("wheels/*.whl")]):
        with ZipFile(wheel) as files:
            files.extractall(folder)
    sys.path.append(folder)


class Flash(Torch):
    def __init__(self, device):
        if not device.startswith("cuda"):
            raise RuntimeError(f"{self.name} computes on GPUs only")
        update, assign = (import_module(module) for module in MODULES[self.name])
        super().__init__(device)
        self.version = version(self.name)
        self.update, self.assign = update.triton_centroid_update_sorted_euclid, assign.euclid_assign_triton
        self.step = getattr(update, "triton_lloyd_centroid_step_euclid", None)

    def prepare(self, case):
        if not case["clusters"]:
            raise Skip(f"{self.name} is measured with k-means only")
        if case["dtype"] == "f64":
            raise Skip(f"{self.name} adds up f32")
        return super().prepare(case)

    def by_key(self, views, case):
        """The sorted update step; an iteration is what is done each time in the loop of their fits, but for the test whether it is the
        last."""
        torch = self.torch
        first = torch.from_numpy(centroids(np, case)).to(views[0].dtype).to(self.on)[None]
        xs = [x[None] for x in views]
        if case["op"] == "kmeans-update":
            labels = torch.from_numpy(all_labels(np, case)).to(self.on)[None]
            pairs = [(x, labels.clone()) for x in xs]
            return {"update": [lambda x=x, labels=labels: self.update(x, labels, first)[0] for x, labels in pairs]}
        if self.step:
            sums = torch.zeros(first.shape, dtype=torch.float32, device=self.on)
            counts = torch.zeros(first.shape[:2], dtype=torch.int32, device=self.on)
            shift = torch.empty(first.shape[:2], dtype=torch.float32, device=self.on)
            to = torch.empty_like(first)

            def fused(x):
                labels = self.assign(x, first)
                rooms = dict(sums_buf=sums, cnts_buf=counts, new_buf=to, shift_buf=shift)
                return labels[0], self.step(x, labels, first, **rooms)[0][0]

            return {"assign and step": [lambda x=x: fused(x) for x in xs]}

        def iterate(x, squares):
            labels = self.assign(x, first, squares)
            means = self.update(x, labels, first)
            # The greatest move, which they compute each time.
            (means - first).norm(dim=-1).max()
            return labels[0], means[0]

        # Squares of the points are the same in all iterations.
        pairs = [(x, (x.float() ** 2).sum(-1)) for x in xs]
        return {"assign and update": [lambda x=x, squares=squares: iterate(x, squares) for x, squares in pairs]}


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        unpack(folder)
        serve(type("Named", (Flash,), dict(name=sys.argv[1])))
