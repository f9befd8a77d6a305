"""Pooling and top_k: the bits of their definitions in any layout, and of any library."""

import itertools

import numpy as np
import pytest
from conftest import FLOATS, INTEGERS, bits, cases, random_array
from test_rows import dtypes, filled, real_of

import warpfold as wf
from warpfold._reference import _tree


class Case:
    """Random windows over the last axes of a random shape."""

    def __init__(self, rng, dilated):
        while True:
            self.axes = n = int(rng.integers(1, 4))
            self.kernel_size = tuple(int(i) for i in rng.integers(1, 5, n))
            self.stride = tuple(int(i) for i in rng.integers(1, 4, n))
            self.padding = tuple(int(rng.integers(0, size // 2 + 1)) for size in self.kernel_size)
            self.dilation = tuple(int(i) for i in rng.integers(1, 4 if dilated else 2, n))
            self.ceil_mode = bool(rng.random() < 0.4)
            self.size = tuple(int(i) for i in rng.integers(1, (40, 14, 7)[n - 1], n))
            self.outer = tuple(int(i) for i in rng.integers(1, 4, rng.integers(0, 3)))
            self.windows = [self.of_axis(axis) for axis in range(n)]
            if all(self.windows):
                break
        self.outputs = tuple(len(windows) for windows in self.windows)

    def of_axis(self, axis):
        """The elements of each window of an axis, and how many there are with padding."""
        size, stride = self.kernel_size[axis], self.stride[axis]
        padding, dilation, length = self.padding[axis], self.dilation[axis], self.size[axis]
        windows = []
        for first in itertools.count(-padding, stride):
            last = first + (size - 1) * dilation
            if self.ceil_mode:
                # One window more may begin in the axis and end beyond the padding.
                fits = last < length + padding or (last - stride + 1 < length + padding and first < length)
            else:
                fits = last < length + padding
            if not fits:
                return windows
            inside = [i for i in range(first, last + 1, dilation) if 0 <= i < length]
            windows.append((inside, min(size, length + padding - first)))

    def arguments(self):
        return self.kernel_size, self.stride, self.padding

    def each(self):
        """Each window: its place, the places of its elements, and how many there are with padding."""
        for place in itertools.product(*(range(n) for n in self.outputs)):
            of_axes = [self.windows[axis][i] for axis, i in enumerate(place)]
            inside = list(itertools.product(*(inside for inside, _ in of_axes)))
            yield place, inside, int(np.prod([padded for _, padded in of_axes]))


def total(terms):
    return _tree(terms, lambda a, b: a + b)


def test_avg_pool_and_its_gradient(rng):
    for _ in range(cases(40)):
        case = Case(rng, False)
        dtype = dtypes()[rng.integers(4)]
        real = real_of(dtype)
        include, override = bool(rng.random() < 0.5), [None, None, -3][rng.integers(3)]
        options = {"ceil_mode": case.ceil_mode, "count_include_pad": include, "divisor_override": override}
        x = filled(rng, dtype, case.outer + case.size)
        gradient = filled(rng, dtype, case.outer + case.outputs)
        wide, wide_gradient = x.astype(real), gradient.astype(real)
        want = np.zeros(gradient.shape, real)
        terms = {}
        for place, inside, padded in case.each():
            divisor = real(override or (padded if include else len(inside)))
            want[(..., *place)] = total([wide[(..., *at)] for at in inside]) / divisor
            for at in inside:
                terms.setdefault(at, []).append(wide_gradient[(..., *place)] / divisor)
        assert bits(wf.avg_pool(x, *case.arguments(), **options)) == bits(want.astype(dtype))
        of = np.zeros(x.shape, real)
        for at, terms_of in terms.items():
            of[(..., *at)] = total(terms_of) + real(0)
        found = wf.avg_pool_backward(gradient, case.size, *case.arguments(), **options)
        assert bits(found) == bits(of.astype(dtype))


def test_max_pool_and_its_gradient(rng):
    for _ in range(cases(40)):
        case = Case(rng, True)
        dtype = dtypes()[rng.integers(4)]
        real = real_of(dtype)
        x = filled(rng, dtype, case.outer + case.size)
        if rng.random() < 0.5:
            x = np.round(x.astype(real) / 3).astype(dtype)
            x[rng.random(x.shape) < 0.02] = np.nan
        gradient = filled(rng, dtype, case.outer + case.outputs)
        wide, wide_gradient = x.astype(real), gradient.astype(real)
        flat = np.arange(int(np.prod(case.size))).reshape(case.size)
        want = np.full(gradient.shape, -np.inf, real)
        indices = np.full(gradient.shape, -1)
        terms = {}
        for place, inside, _ in case.each():
            if inside:
                elements = np.stack([wide[(..., *at)] for at in inside], -1)
                want[(..., *place)] = wf.max(elements, -1)
                chosen = wf.argmax(elements, -1)
                indices[(..., *place)] = np.array([flat[at] for at in inside])[chosen]
        options = {"dilation": case.dilation, "ceil_mode": case.ceil_mode}
        found = wf.max_pool(x, *case.arguments(), return_indices=True, **options)
        assert bits(found.values) == bits(want.astype(dtype))
        assert bits(found.indices) == bits(indices)
        assert bits(wf.max_pool(x, *case.arguments(), **options)) == bits(found.values)
        for place, inside, _ in case.each():
            for at in inside:
                chosen = indices[(..., *place)] == flat[at]
                terms.setdefault(at, []).append(np.where(chosen, wide_gradient[(..., *place)], real(-0.0)))
        of = np.zeros(x.shape, real)
        for at, terms_of in terms.items():
            of[(..., *at)] = total(terms_of) + real(0)
        found = wf.max_pool_backward(gradient, found.indices, case.size, *case.arguments(), **options)
        assert bits(found) == bits(of.astype(dtype))


def test_top_k_is_a_stable_sort(rng):
    for _ in range(cases(80)):
        dtype = np.dtype([*FLOATS, *INTEGERS][rng.integers(len(FLOATS) + len(INTEGERS))])
        shape = tuple(int(n) for n in rng.integers(1, 30, rng.integers(1, 4)))
        x = random_array(rng, dtype, shape)
        if dtype.kind == "f":
            x = np.round(x, 1).astype(dtype)
            x[rng.random(shape) < 0.05] = np.nan
        axis = int(rng.integers(-len(shape), len(shape)))
        k = int(rng.integers(0, shape[axis] + 1))
        largest = bool(rng.random() < 0.5)
        # NaN is the last of an ascending sort. Of descending order, equal elements stay in their order, too.
        key = x.astype(np.float64)
        if largest:
            key = np.where(np.isnan(key), -np.inf, -key)
        order = np.argsort(key, axis, kind="stable")
        if largest:
            # NaN before any infinity.
            nan = np.take_along_axis(np.isnan(x.astype(np.float64)), order, axis)
            order = np.take_along_axis(order, np.argsort(~nan, axis, kind="stable"), axis)
        want = np.take(order, range(k), axis)
        found = wf.top_k(x, k, axis, largest)
        assert bits(found.indices) == bits(want)
        values = np.take_along_axis(x, want, axis).astype(dtype.newbyteorder("="))
        np.testing.assert_array_equal(found.values, values, strict=True)


def test_numbers_are_for_all_axes_or_each():
    x = np.arange(36.0).reshape(6, 6)
    assert bits(wf.max_pool(x, (2, 2), 3, 1)) == bits(wf.max_pool(x, [2, 2], (3, 3), (1, 1), (1, 1)))
    assert bits(wf.avg_pool(x, np.int64(2))) == bits(wf.avg_pool(x, (2,)))


def test_wrong_arguments():
    x = np.ones((3, 4), np.float32)
    for error, call in [
        (ValueError, lambda: wf.max_pool(x, 5)),
        (ValueError, lambda: wf.max_pool(x, (1, 1, 1))),
        (ValueError, lambda: wf.max_pool(x, ())),
        (ValueError, lambda: wf.max_pool(x, 0)),
        (ValueError, lambda: wf.max_pool(x, -2)),
        (ValueError, lambda: wf.max_pool(x, 2, 0)),
        (ValueError, lambda: wf.max_pool(x, 2, padding=2)),
        (ValueError, lambda: wf.max_pool(x, 2, dilation=0)),
        (ValueError, lambda: wf.max_pool(x, 2**62, padding=2**61)),
        (ValueError, lambda: wf.max_pool(x, 3, dilation=2**62)),
        (TypeError, lambda: wf.max_pool(x, 2**70)),
        (TypeError, lambda: wf.max_pool(x, "2")),
        (TypeError, lambda: wf.max_pool(x, 2.0)),
        (TypeError, lambda: wf.max_pool(x.astype(int), 2)),
        (ValueError, lambda: wf.avg_pool(x, 2, divisor_override=0)),
        (ValueError, lambda: wf.avg_pool(x[:, :0], 2)),
        (ValueError, lambda: wf.avg_pool_backward(x, 6, 2)),
        (ValueError, lambda: wf.avg_pool_backward(x, (2, 2), 2)),
        (ValueError, lambda: wf.max_pool_backward(x, np.full((3, 4), 8), 8, 2)),
        (ValueError, lambda: wf.max_pool_backward(x, np.zeros(4, int), 8, 2)),
        (TypeError, lambda: wf.max_pool_backward(x, np.zeros((3, 4), np.int32), 8, 2)),
        (ValueError, lambda: wf.top_k(x, 5)),
        (ValueError, lambda: wf.top_k(x, -1)),
        (np.exceptions.AxisError, lambda: wf.top_k(x, 1, 2)),
        (MemoryError, lambda: wf.top_k(np.broadcast_to(np.float32(0), (2**45,)), 2**44)),
        (MemoryError, lambda: wf.avg_pool(np.broadcast_to(np.float32(0), (2**45,)), 2)),
        (MemoryError, lambda: wf.avg_pool(np.broadcast_to(np.float32(0), (2**45,)), 2**45)),
        (MemoryError, lambda: wf.max_pool(np.broadcast_to(np.float32(0), (2**45,)), 2**45)),
        (MemoryError, lambda: wf.avg_pool_backward(np.ones(1, np.float32), 2**45, 2**45)),
    ]:
        with pytest.raises(error):
            call()
