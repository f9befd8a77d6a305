"""Norms of channels, residuals, distributions and sums by index: the bits of the formulas of docs/numerics.md."""

import numpy as np
import pytest
from conftest import bits, cases
from test_gpu import Interface
from test_rows import axis_of, back, dtypes, filled, moments, random_rows, real_of, tree

import warpfold as wf


def summed(terms):
    """The tree along the last axis, which it takes away; zero of no terms."""
    return tree(terms)[..., 0] if terms.shape[-1] else np.zeros(terms.shape[:-1], terms.dtype)


def of_channels(rng, channels):
    """Numbers of channels, or None."""
    return rng.standard_normal(channels).astype(rng.choice(["f2", "f4", "f8"])) if rng.random() < 0.7 else None


def given(array, real, nothing):
    return real(nothing) if array is None else array.astype(real)


def test_group_norm_has_the_bits_of_its_formula(rng):
    for _ in range(cases(60)):
        dtype, groups = dtypes()[rng.integers(4)], int(rng.integers(1, 4))
        real = real_of(dtype)
        shape = [int(rng.integers(1, 4)), groups * int(rng.integers(1, 4))]
        shape = (*shape, *(int(n) for n in rng.integers(1, 8, rng.integers(3))))
        x, g = filled(rng, dtype, shape), filled(rng, dtype, shape)
        weight, bias = of_channels(rng, shape[1]), of_channels(rng, shape[1])
        # Samples, groups, channels, elements.
        parts = (shape[0], groups, shape[1] // groups, -1)
        flat, g_flat = (a.astype(real).reshape(parts) for a in (x, g))
        w, b = given(weight, real, 1), given(bias, real, -0.0)
        w, b = (a if a.ndim == 0 else a.reshape(1, groups, -1, 1) for a in (w, b))
        rows = flat.reshape(shape[0], groups, -1)
        n, epsilon = real(rows.shape[-1]), 1e-3
        mean, m2 = (a[..., None] for a in moments(rows, real))
        r = real(1) / np.sqrt(m2 / n + real(epsilon))
        norm = (flat - mean) * r
        found = wf.group_norm(x, groups, weight, bias, epsilon=epsilon)
        assert bits(found) == bits((norm * w + b).reshape(shape).astype(dtype))
        dots, totals = summed(g_flat * norm)[..., None], summed(g_flat)[..., None]
        c1, c2 = (summed((a * w)[..., 0])[..., None, None] / n for a in (totals, dots))
        of = wf.group_norm_backward(x, g, groups, weight, bias, epsilon=epsilon)
        assert bits(of.x) == bits((((g_flat * w - c1) - norm * c2) * r).reshape(shape).astype(dtype))
        for array, gradient, sums in ((weight, of.weight, dots), (bias, of.bias, totals)):
            if array is None:
                assert gradient is None
            else:
                assert bits(gradient) == bits(summed(sums.reshape(shape[0], -1).T).astype(array.dtype))


def test_batch_norm_has_the_bits_of_its_formula(rng):
    for _ in range(cases(60)):
        dtype = dtypes()[rng.integers(4)]
        real = real_of(dtype)
        shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(1, 5)))
        axis = int(rng.integers(len(shape)))
        others = tuple(i for i in range(len(shape)) if i != axis)
        x, g = filled(rng, dtype, shape), filled(rng, dtype, shape)
        weight, bias = of_channels(rng, shape[axis]), of_channels(rng, shape[axis])
        flat, g_flat = (np.moveaxis(a.astype(real), axis, 0).reshape(shape[axis], -1) for a in (x, g))
        w, b = given(weight, real, 1).reshape(-1, 1), given(bias, real, -0.0).reshape(-1, 1)
        n, epsilon = real(flat.shape[1]), 1e-3
        mean, m2 = moments(flat, real)
        var = m2 / n
        stats = {}
        if rng.random() < 0.4:
            mean, var = rng.standard_normal((2, shape[axis], 1)).astype(real)
            var = var * var
            stats = {"mean": mean[:, 0], "var": var[:, 0]}
        r = real(1) / np.sqrt(var + real(epsilon))
        norm = (flat - mean) * r
        at = axis - len(shape) * int(rng.integers(2))
        found = wf.batch_norm(x, weight, bias, at, epsilon=epsilon, **stats)
        assert bits(found.y) == bits(back(norm * w + b, dtype, shape, others))
        assert bits(found.mean) == bits(mean[:, 0]) and bits(found.var) == bits(np.abs(var[:, 0]))
        dots, totals = summed(g_flat * norm)[:, None], summed(g_flat)[:, None]
        centred = g_flat if stats else (g_flat - totals / n) - norm * (dots / n)
        of = wf.batch_norm_backward(x, g, weight, bias, at, epsilon=epsilon, **stats)
        assert bits(of.x) == bits(back(centred * (r * w), dtype, shape, others))
        for array, gradient, sums in ((weight, of.weight, dots), (bias, of.bias, totals)):
            if array is None:
                assert gradient is None
            else:
                assert bits(gradient) == bits(sums[:, 0].astype(array.dtype))


def test_statistics_are_those_of_reductions(rng):
    x = rng.standard_normal((40, 6, 57)).astype("f4")
    found = wf.batch_norm(x)
    assert np.allclose(found.mean, wf.mean(x, (0, 2)), atol=1e-6) and bits(found.var) == bits(wf.var(x, (0, 2)))
    assert bits(wf.group_norm(x, 1)) == bits(wf.layer_norm(x, axis=(1, 2)))
    nothing = wf.batch_norm(np.zeros((0, 2), "f2"))
    assert nothing.y.shape == (0, 2) and np.isnan(nothing.mean).all() and nothing.var.dtype == np.float32
    assert wf.group_norm(np.zeros((2, 4, 0)), 2).shape == (2, 4, 0)


def test_residuals_are_added_and_rounded_first(rng):
    for _ in range(cases(40)):
        dtype, real, shape, axes, (x, residual), (flat, other) = random_rows(rng, 2)
        axis = axis_of(axes, len(shape), rng)
        total = back(flat + other, dtype, shape, axes)
        for norm in (wf.rms_norm, wf.layer_norm):
            y, found = norm(x, axis=axis, residual=residual, epsilon=1e-3)
            assert bits(found) == bits(total) and bits(y) == bits(norm(total, axis=axis, epsilon=1e-3))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_distributions_have_the_bits_of_their_formula(dtype, rng):
    real = np.dtype(dtype).type
    for _ in range(cases(60)):
        rows, classes = (int(n) for n in rng.integers(1, 9, 2))
        logits, y = rng.standard_normal((2, rows, classes)).astype(dtype)
        weight = rng.random(classes).astype(dtype) if rng.random() < 0.5 else None
        smoothing = float(rng.choice([0.0, 0.1]))
        logs, p = wf.log_softmax(logits), wf.softmax(logits)
        v = y if smoothing == 0 else y * real(1 - smoothing) + real(smoothing / classes)
        v = v if weight is None else v * weight
        losses = real(0) - summed(logs * v)
        options = {"label_smoothing": smoothing, "weight": weight}
        assert bits(wf.cross_entropy(logits, y, reduction="none", **options)) == bits(losses)
        assert bits(wf.cross_entropy(logits, y, **options)) == bits(summed(losses) / real(rows))
        g = real(rng.standard_normal())
        found = wf.cross_entropy_gradient(logits.T, np.asfortranarray(y).T, 0, gradient=g, **options)
        q = g / real(rows)
        assert bits(found.gradient.T) == bits((p * summed(v)[:, None] - v) * q)
        assert bits(found.logsumexp) == bits(wf.logsumexp(logits, axis=1))


def test_sums_by_index_are_trees(rng):
    for _ in range(cases(60)):
        dtype = dtypes()[rng.integers(4)]
        real = real_of(dtype)
        places, count = int(rng.integers(1, 6)), int(rng.integers(0, 12))
        x, source = filled(rng, dtype, (places, 3)), filled(rng, dtype, (count, 3))
        index = rng.integers(0, places, count).astype(rng.choice(["i4", "i8", "u1"]))
        sums = [summed(source[index == i].astype(real).T) for i in range(places)]
        terms = np.array(sums, real).reshape(places, 3)
        taken = np.isin(np.arange(places), index)[:, None]
        want = np.where(taken, x.astype(real) + terms, x.astype(real)).astype(dtype)
        assert bits(wf.index_add(x, 0, index, source)) == bits(want)
        assert bits(wf.index_add(x.T, 1, index, source.T)) == bits(want.T.copy())
        each = np.repeat(index[:, None], 3, 1)
        assert bits(wf.scatter_add(x, 0, each, source)) == bits(want)
        of = wf.embedding_backward(source, index, places, scale_grad_by_freq=True, padding_idx=0)
        taken = np.maximum(np.bincount(index, minlength=places), 1).astype(real)[:, None]
        terms[0] = 0
        assert bits(of) == bits((terms / taken).astype(dtype))


def test_results_are_of_the_kind_of_the_argument():
    torch = pytest.importorskip("torch")
    t = torch.arange(12.0).reshape(2, 6)
    found = wf.batch_norm(t.bfloat16(), torch.ones(6))
    assert found.y.dtype == torch.bfloat16 and found.mean.dtype == torch.float32
    assert bits(wf.group_norm(t, 3)) == bits(wf.group_norm(t.numpy(), 3))
    y, total = wf.rms_norm(t, residual=np.ones((2, 6)))
    assert isinstance(y, torch.Tensor) and bits(total) == bits(t + 1)
    assert isinstance(wf.index_add(t, 1, [0], [[1.0], [2.0]]), torch.Tensor)
    assert wf.embedding_backward(t, torch.tensor([1, 1]), 2).tolist() == [[0] * 6, (t[0] + t[1]).tolist()]


GPU = Interface()
X = np.ones((2, 6), "f4")
REFUSED = [
    (np.exceptions.AxisError, "out of", lambda: wf.group_norm(X[0], 2)),
    (np.exceptions.AxisError, "out of", lambda: wf.batch_norm(X, axis=2)),
    (np.exceptions.AxisError, "out of", lambda: wf.batch_norm(1.0, axis=0)),
    (np.exceptions.AxisError, "out of", lambda: wf.index_add(X, 2, [0], X)),
    (ValueError, "divides", lambda: wf.group_norm(X, 4)),
    (ValueError, "divides", lambda: wf.group_norm(X, 0)),
    (ValueError, "negative", lambda: wf.group_norm(X, -1)),
    (TypeError, "integer", lambda: wf.group_norm(X, 1.5)),
    (ValueError, "shape", lambda: wf.group_norm(X, 2, np.ones(2))),
    (ValueError, "shape", lambda: wf.group_norm_backward(X, X.T, 2)),
    (ValueError, "shape", lambda: wf.batch_norm(X, np.ones(2))),
    (ValueError, "shape", lambda: wf.batch_norm(X, mean=np.ones(6), var=np.ones(5))),
    (ValueError, "both", lambda: wf.batch_norm(X, mean=np.ones(6))),
    (ValueError, "both", lambda: wf.batch_norm_backward(X, X, var=np.ones(6))),
    (ValueError, "shape", lambda: wf.rms_norm(X, residual=X[0])),
    (ValueError, "shape", lambda: wf.cross_entropy(X, X[:, :3])),
    (ValueError, "places", lambda: wf.index_add(X, 0, [2], X[:1])),
    (ValueError, "places", lambda: wf.index_add(X, 0, [-1], X[:1])),
    (ValueError, "shape", lambda: wf.index_add(X, 0, [0], X)),
    (ValueError, "shape", lambda: wf.scatter_add(X, 0, [[0]], X)),
    (ValueError, "shape", lambda: wf.embedding_backward(X, [0], 3)),
    (ValueError, "places", lambda: wf.embedding_backward(X, [0, 3], 3)),
    (TypeError, "integers", lambda: wf.index_add(X, 0, [0.0], X[:1])),
    (TypeError, "floats", lambda: wf.batch_norm([[1, 2]])),
    (TypeError, "floats", lambda: wf.index_add([1], 0, [0], [1])),
    (TypeError, "floats", lambda: wf.layer_norm(X, residual=X.astype(int))),
    *(
        (TypeError, "GPU", call)
        for call in (
            lambda: wf.group_norm(X, 2, GPU),
            lambda: wf.batch_norm(X, GPU),
            lambda: wf.group_norm(GPU, 1, X[0]),
            lambda: wf.batch_norm_backward(GPU, X),
            lambda: wf.batch_norm_backward(X, GPU),
            lambda: wf.rms_norm(X, residual=GPU),
            lambda: wf.index_add(X, 0, GPU, X),
            lambda: wf.scatter_add(GPU, 0, [[0]], X),
            lambda: wf.embedding_backward(GPU, [0], 1),
        )
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused(number):
    kind, said, call = REFUSED[number]
    with pytest.raises(kind, match=said):
        call()
