"""Segments, groups, runs, distinct values, bins: each result is that of the plain reduction of the elements concerned."""

import numpy as np
import pytest
from conftest import bits, cases

import warpfold as wf


def values(rng, n, rest=()):
    dtype = rng.choice(["f2", "f4", "f8", "i4", "u1"])
    return (rng.standard_normal((n, *rest)) * 20 + 40).astype(dtype)


@pytest.mark.parametrize("op", ["sum", "mean", "var", "nansum", "count_nonzero", "logsumexp", "any", "prod"])
def test_groups_are_reductions_of_their_elements(op, rng):
    reduce = getattr(wf, op)
    for _ in range(cases(20)):
        n, groups = int(rng.integers(1, 60)), int(rng.integers(1, 6))
        x = values(rng, n, (3,) if rng.random() < 0.4 else ())
        labels = rng.integers(-1, groups, n)
        found = wf.group_by(x, labels, op, groups)
        for k in range(groups):
            assert bits(found[k]) == bits(reduce(x[labels == k], axis=0)), (x.dtype, k)


LAYOUTS = {
    "rows": lambda x: x,
    "a middle axis": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, 1)), 1, 0),
    "lines": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0),
    "columns": np.asfortranarray,
    "lines backwards": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x[::-1], 0, -1)), -1, 0)[::-1],
    "every second": lambda x: np.repeat(x, 2, axis=2)[..., ::2],
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows, groups", [(6, 9), (301, 4), (300, 90), (9001, 2)])
def test_groups_are_the_same_in_every_layout(layout, rows, groups, rng):
    """Rows and lines are read where they lie, in whatever order, and others are gathered."""
    kept = (5, 19) if rows > 1000 else (7, 33)
    values = rng.standard_normal((rows, *kept)).astype("f4")
    values[rng.random(values.shape) < 0.1] = np.nan
    labels = rng.integers(-1, groups, rows)
    mask = rng.random(values.shape) < 0.8
    x = LAYOUTS[layout](values)
    assert np.array_equal(x, values, equal_nan=True)
    for op in ["sum", "mean", "nanmean", "nansum", "var", "nanmax", "any", "logsumexp", "argmax"]:
        for where in [None, mask] if op in ("sum", "nanmean") else [None]:
            fill = -1 if op in ("nanmax", "argmax") else None
            found = wf.group_by(x, labels, op, groups, where=where, fill=fill)
            assert found.shape == (groups, *kept)
            for group in range(groups):
                of_group = labels == group
                if not of_group.any() and fill is not None:
                    assert (found[group] == fill).all()
                    continue
                of_mask = None if where is None else where[of_group]
                one = getattr(wf, op)(np.ascontiguousarray(values[of_group]), axis=0, where=of_mask)
                if op == "argmax":
                    one = np.flatnonzero(of_group)[one]
                assert found[group].tobytes() == one.tobytes(), (op, group, where is None)


def test_several_reductions_share_a_sort(rng):
    x, labels = values(rng, 200), rng.integers(0, 7, 200)
    names = ["sum", "max", "argmax", "first", "last", "size", "std"]
    found = wf.group_by(x, labels, names)
    assert list(found) == names
    for name in names:
        assert bits(found[name]) == bits(wf.group_by(x, labels, name))
    assert found["size"].tolist() == np.bincount(labels).tolist()
    for k in range(7):
        where = np.flatnonzero(labels == k)
        assert found["first"][k] == x[where[0]] and found["last"][k] == x[where[-1]]
        assert found["argmax"][k] in where and x[found["argmax"][k]] == x[where].max()


def test_segments(rng):
    for _ in range(cases(20)):
        n = int(rng.integers(1, 100))
        x, offsets = values(rng, n), np.sort(rng.integers(0, n + 1, 6))
        for op in ("sum", "var"):
            found = wf.segmented(x, offsets, op)
            want = [getattr(wf, op)(x[a:b]) for a, b in zip(offsets, offsets[1:])]
            assert bits(found) == bits(np.array(want, found.dtype))
    assert wf.segmented([1, 2, 3], [0, 0, 3], "max", fill=-1).tolist() == [-1, 3]
    with pytest.raises(ValueError):
        wf.segmented([1, 2, 3], [0, 0, 3], "max")
    with pytest.raises(ValueError):
        wf.segmented([1, 2, 3], [0, 4])
    with pytest.raises(TypeError):
        wf.segmented([1, 2, 3], [0.0, 3.0])


def test_masks_leave_elements_out_of_groups():
    x, labels = np.arange(6.0), np.array([0, 1, 0, 1, 0, 1])
    assert wf.group_by(x, labels, "sum", where=x < 4).tolist() == [2, 4]
    assert wf.group_by(x, labels, "sum", dtype="f4").dtype == np.float32
    with pytest.raises(ValueError):
        wf.group_by(x, labels, "max", num_groups=3)
    assert wf.group_by(x, labels, "max", 3, fill=0).tolist() == [4, 5, 0]
    with pytest.raises(ValueError):
        wf.group_by(x, labels, "sum", 1)
    with pytest.raises(ValueError):
        wf.group_by(x, labels, "nonsense")
    with pytest.raises(TypeError):
        wf.group_by(x, labels, 3)


def test_runs(rng):
    keys = np.repeat(rng.integers(0, 3, 20), rng.integers(1, 5, 20))
    x = values(rng, len(keys))
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    found, sums = wf.reduce_by_key(keys, x, "sum")
    assert found.tolist() == keys[starts].tolist()
    assert bits(sums) == bits(wf.segmented(x, np.r_[starts, len(keys)], "sum"))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u8", "?"])
def test_distinct_values(dtype, rng):
    x = rng.integers(0, 30, (7, 11)).astype(dtype)
    if x.dtype.kind == "f":
        x[x == 3] = np.nan
    want = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found = wf.unique_all(x)
    for got, expected in zip(found, want):
        assert np.array_equal(got, expected, equal_nan=x.dtype.kind == "f")
    assert found.values.dtype == x.dtype
    assert np.array_equal(wf.unique_counts(x).counts, want[3])
    assert np.array_equal(wf.unique_inverse(x).inverse_indices, want[2])
    assert wf.unique_values(x[:, ::2].T).shape == np.unique(x[:, ::2]).shape


def test_bins(rng):
    x = rng.standard_normal(1000)
    for bins in (10, [-1.0, 0.0, 0.5, 2.0], np.linspace(-3, 3, 8)):
        for weights in (None, rng.random(1000)):
            found, edges = wf.histogram(x, bins, weights=weights)
            want, expected = np.histogram(x, bins, weights=weights)
            assert bits(edges) == bits(expected)
            assert np.allclose(found, want, rtol=1e-12)
    assert np.array_equal(wf.histogram(x, 5, range=(-1, 1))[0], np.histogram(x, 5, range=(-1, 1))[0])
    labels = rng.integers(0, 9, 500)
    assert np.array_equal(wf.bincount(labels), np.bincount(labels))
    assert len(wf.bincount(labels, minlength=20)) == 20
    weights = rng.random(500)
    assert bits(wf.bincount(labels, weights)) == bits(wf.group_by(weights, labels, "sum"))
    with pytest.raises(ValueError):
        wf.histogram(x, 0)
    for wrong in (-1, np.zeros((2, 2)), "nonsense"):
        with pytest.raises(ValueError):
            wf.histogram(x, wrong)
    for wrong in (1.5, object(), [object()]):
        with pytest.raises(TypeError):
            wf.histogram(x, wrong)


def test_densities_and_rules(rng):
    x, weights = rng.standard_normal(500), rng.random(500)
    for options in ({}, {"weights": weights}, {"range": [-1, 1]}, {"bins": [-1, 0, 3]}):
        found, want = wf.histogram(x, density=True, **options), np.histogram(x, density=True, **options)
        assert np.allclose(found[0], want[0], rtol=1e-12) and np.array_equal(found[1], want[1])
    for bins in ("auto", "sturges"):
        for a, b in zip(wf.histogram(x, bins), np.histogram(x, bins)):
            assert bits(a) == bits(b)
    assert wf.histogram(x, 10, None, True)[0].dtype == np.float64
    with pytest.raises(ValueError):
        wf.histogram(x, [0, 1], (0, 1))


def test_empty_labels_and_negative_numbers():
    assert wf.bincount([]).tolist() == [] and wf.bincount([], minlength=3).tolist() == [0, 0, 0]
    assert wf.group_by([], [], "sum", 2).tolist() == [0, 0]
    for call in (
        lambda: wf.bincount([1], minlength=-1),
        lambda: wf.group_by([1.0], [0], "sum", -1),
        lambda: wf.centroid_update([[1.0]], [0], -1),
    ):
        with pytest.raises(ValueError, match="must not be negative"):
            call()
    with pytest.raises(TypeError):
        wf.bincount(np.zeros(0))
