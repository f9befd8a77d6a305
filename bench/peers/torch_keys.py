"""Segments, groups, distinct values and k-means with PyTorch: what a user would write."""

import numpy as np
from data import all_labels, centroids, offsets
from protocol import Skip

# Scores that are held at once, of an iteration of k-means.
SCORES = 1 << 28


def by_key(torch, views, case, on):
    """Ways to do it, by name: of each a call for each of the inputs."""
    op, x = case["op"], views[0]
    if op == "unique":
        return {"unique": [lambda x=x: torch.unique(x) for x in views]}
    if case["segments"]:
        return {"segment_reduce": segments(torch, views, case, on)}
    if op == "kmeans-iteration":
        first = torch.from_numpy(centroids(np, case)).to(x.dtype).to(on)
        return {"addmm": [lambda x=x: iterate(torch, x, first) for x in views]}
    labels = torch.from_numpy(all_labels(np, case)).to(on)
    # Of its own for each input, so that it does not come from a cache either.
    pairs = [(x, labels.clone()) for x in views]
    if op == "kmeans-update":
        return {"index_add": [lambda x=x, labels=labels: update(torch, x, labels, case["clusters"]) for x, labels in pairs]}
    if op != "sum":
        raise Skip(f"no {op} of groups in one call")
    dtype = x.dtype if x.dtype.is_floating_point else torch.int64

    def add(x, labels):
        return torch.zeros(case["groups"], dtype=dtype, device=on).index_add_(0, labels, x.to(dtype))

    def count(x, labels):
        return torch.bincount(labels, weights=x, minlength=case["groups"])

    ways = {"index_add": [lambda x=x, labels=labels: add(x, labels) for x, labels in pairs]}
    # On a GPU its atomics are in no order, which the deterministic mode refuses.
    if x.dtype in (torch.float32, torch.float64) and not (x.is_cuda and torch.are_deterministic_algorithms_enabled()):
        ways["bincount"] = [lambda x=x, labels=labels: count(x, labels) for x, labels in pairs]
    return ways


def segments(torch, views, case, on):
    op = case["op"]
    if op not in ("sum", "min", "max"):
        raise Skip(f"segment_reduce has no {op}")
    if not views[0].dtype.is_floating_point:
        raise Skip("segment_reduce has no integers")
    cuts = offsets(np, case)
    at = torch.from_numpy(cuts).to(on)
    if (cuts[1:] > cuts[:-1]).all() or op == "sum":
        return [lambda x=x: torch.segment_reduce(x, op, offsets=at, unsafe=True) for x in views]

    def reduce(x):
        # Of nothing the least is infinite; zero is filled in.
        found = torch.segment_reduce(x, op, offsets=at, unsafe=True)
        return found.masked_fill_(found.isinf(), 0)

    return [lambda x=x: reduce(x) for x in views]


def update(torch, x, labels, clusters):
    """Means of the points of each label; 16-bit floats are added in f32."""
    sums = torch.zeros(clusters, x.shape[1], dtype=torch.float32, device=x.device)
    sums.index_add_(0, labels, x.float())
    counts = torch.bincount(labels, minlength=clusters)
    return sums / counts[:, None]


def iterate(torch, x, centroids):
    """Labels by the nearest centroid, by a product of matrices; then means."""
    halves = (centroids.float() ** 2).sum(1).to(x.dtype) / 2
    part = max(SCORES // len(centroids), 1)
    scores = (torch.addmm(halves, x[i : i + part], centroids.T, alpha=-1) for i in range(0, len(x), part))
    labels = torch.cat([score.argmin(1) for score in scores])
    return labels, update(torch, x, labels, len(centroids))
