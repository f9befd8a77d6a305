"""Operations on rows: the bits of the formulas of docs/numerics.md in any layout, and of any library."""

import numpy as np
import pytest
from conftest import FLOATS, bits, cases, random_array
from test_gpu import Interface

import warpfold as wf
from warpfold._reference import _deviations, _tree


def tree(terms):
    """The tree along the last axis."""
    root = _tree([terms[..., i] for i in range(terms.shape[-1])], lambda a, b: a + b)
    return np.asarray(root)[..., None]


def moments(x, real):
    """Mean and sum of squared deviations along the last axis."""
    nodes = [(1, x[..., i], x[..., i] * real(0)) for i in range(x.shape[-1])]
    _, mean, m2 = _tree(nodes, lambda a, b: _deviations(a, b, real))
    return mean[..., None], m2[..., None]


def exp(x):
    """The library's exponential: that of a target, which is the gradient of a divergence."""
    return -wf.kl_div_backward(np.zeros_like(x), x, log_target=True, reduction="sum")


def dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    return [*map(np.dtype, FLOATS), np.dtype(ml_dtypes.bfloat16)]


def real_of(dtype):
    return np.float64 if dtype == np.float64 else np.float32


def filled(rng, dtype, shape):
    """Ordinary numbers in a random layout."""
    values = rng.standard_normal(shape) * 3
    if dtype.kind != "f":
        return np.asfortranarray(values.astype(dtype))
    x = random_array(rng, dtype, shape)
    frozen = not x.flags.writeable
    x.flags.writeable = True
    x[...] = values
    x.flags.writeable = not frozen
    return x


def random_rows(rng, count=1):
    """Arrays of one shape in random layouts, the axes of a row, and each as (batch, row) in the formulas' float."""
    dtype = dtypes()[rng.integers(4)]
    shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(1, 4)))
    axes = tuple(sorted(int(a) for a in rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)]))
    arrays = [filled(rng, dtype, shape) for _ in range(count)]
    real = real_of(dtype)
    last = tuple(range(-len(axes), 0))
    length = int(np.prod([shape[a] for a in axes]))
    flat = [np.moveaxis(x.astype(real), axes, last).reshape(-1, length) for x in arrays]
    return dtype, real, shape, axes, arrays, flat


def back(flat, dtype, shape, axes):
    """A result as (batch, row) in the shape of the array."""
    moved = [n for i, n in enumerate(shape) if i not in axes] + [shape[a] for a in axes]
    return np.moveaxis(flat.reshape(moved), tuple(range(-len(axes), 0)), axes).astype(dtype)


def axis_of(axes, rank, rng):
    """The same axes in another way to say them."""
    if len(axes) == rank and rng.random() < 0.3:
        return None
    if len(axes) == 1:
        return axes[0] - rank * int(rng.integers(0, 2))
    return list(axes) if rng.random() < 0.5 else axes


def test_softmax_has_the_bits_of_its_formula(rng):
    for _ in range(cases(60)):
        dtype, real, shape, axes, (x, g), (flat, g_flat) = random_rows(rng, 2)
        axis = axis_of(axes, len(shape), rng)
        e = exp(flat)
        y = e * (real(1) / tree(e))
        found = wf.softmax(x, axis)
        assert bits(found) == bits(back(y, dtype, shape, axes))
        rounded = y.astype(dtype).astype(real)
        d = tree(g_flat * rounded)
        of = back(rounded * (g_flat - d), dtype, shape, axes)
        assert bits(wf.softmax_backward(found, g, axis)) == bits(of)


def test_log_softmax_and_its_gradient(rng):
    for _ in range(cases(60)):
        dtype, real, shape, axes, (x, g), (flat, g_flat) = random_rows(rng, 2)
        axis = axis_of(axes, len(shape), rng)
        y = wf.log_softmax(x, axis)
        assert y.dtype == dtype and y.shape == shape
        wide = flat.astype(np.longdouble)
        want = wide - np.log(np.exp(wide).sum(-1, keepdims=True))
        unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}[dtype.name]
        k = np.ceil(np.log2(max(flat.shape[-1], 2)))
        error = np.abs(y.astype(np.longdouble) - back(want, np.longdouble, shape, axes))
        assert not (error > unit * (k + 4 + 3 * back(np.abs(want), np.longdouble, shape, axes))).any()
        y_flat = np.moveaxis(y.astype(real), axes, tuple(range(-len(axes), 0))).reshape(flat.shape)
        of = g_flat - exp(y_flat) * tree(g_flat)
        assert bits(wf.log_softmax_backward(y, g, axis)) == bits(back(of, dtype, shape, axes))


def test_masks_and_scales():
    x = np.array([[1.0, 2.0, 9.0], [np.nan, 4.0, 4.0]])
    mask = np.array([[True, True, False], [False, True, True]])
    scaled = wf.softmax(x, where=mask, scale=0.5)
    assert bits(scaled[0, :2]) == bits(wf.softmax(x[0, :2] * 0.5)) and scaled[0, 2] == 0
    assert scaled[1].tolist() == [0, 0.5, 0.5]
    assert wf.log_softmax(x, where=mask)[0, 2] == -np.inf
    assert bits(wf.softmax(x[0], where=True)) == bits(wf.softmax(x[0]))
    y, g = wf.softmax(x[0]), np.array([1.0, 2.0, 3.0])
    assert bits(wf.softmax_backward(y, g, scale=0.25)) == bits(wf.softmax_backward(y, g) * 0.25)


@pytest.mark.parametrize("layer", [False, True])
def test_norms_have_the_bits_of_their_formulas(layer, rng):
    forward = wf.layer_norm if layer else wf.rms_norm
    backward = wf.layer_norm_backward if layer else wf.rms_norm_backward
    for _ in range(cases(60)):
        dtype, real, shape, axes, (x, g), (flat, g_flat) = random_rows(rng, 2)
        of_row = tuple(shape[a] for a in axes)
        weight, bias = (
            rng.standard_normal(of_row).astype(rng.choice(["f4", "f8"])) if rng.random() < 0.7 else None
            for _ in range(2)
        )
        n, epsilon = real(flat.shape[-1]), 1e-3
        w = real(1) if weight is None else weight.astype(real).ravel()
        b = real(-0.0) if bias is None else bias.astype(real).ravel()
        mean, squares = moments(flat, real) if layer else (real(0), tree(flat * flat))
        r = real(1) / np.sqrt(squares / n + real(epsilon))
        norm = (flat - mean) * r
        axis = axis_of(axes, len(shape), rng)
        found = forward(x, weight, bias, axis, epsilon=epsilon)
        assert bits(found) == bits(back(norm * w + b, dtype, shape, axes))
        gw = g_flat * w
        c1 = tree(gw) / n if layer else real(0)
        c2 = tree(gw * norm) / n
        of = backward(x, g, weight, bias, axis, epsilon=epsilon)
        assert bits(of.x) == bits(back(((gw - c1) - norm * c2) * r, dtype, shape, axes))
        for given, gradient, terms in ((weight, of.weight, g_flat * norm), (bias, of.bias, g_flat)):
            if given is None:
                assert gradient is None
            else:
                assert bits(gradient) == bits(tree(terms.T)[:, 0].reshape(of_row).astype(given.dtype))


def test_weights_that_are_stored_as_distances_from_one():
    x, weight = np.array([3.0, -3.0, 1.0]), np.array([0.5, 0.0, -1.0])
    assert bits(wf.rms_norm(x, weight, weight_offset=1)) == bits(wf.rms_norm(x, weight + 1))


TERMS = {
    "mse": lambda x, y, one: ((x - y) * (x - y), (x - y) + (x - y)),
    "l1": lambda x, y, one: (np.abs(x - y), np.sign(x - y) + 0 * one),
    "huber": lambda x, y, one: (
        np.where(np.abs(x - y) <= one, (x - y) * (x - y) * (one / 2), one * (np.abs(x - y) - one / 2)),
        np.where(np.abs(x - y) <= one, x - y, np.copysign(one, x - y)),
    ),
}


@pytest.mark.parametrize("name", TERMS)
def test_losses_have_the_bits_of_their_formulas(name, rng):
    loss, backward = getattr(wf, name), getattr(wf, f"{name}_backward")
    for _ in range(cases(60)):
        dtype, real, shape, axes, (x, y), (x_flat, y_flat) = random_rows(rng, 2)
        axis = axis_of(axes, len(shape), rng)
        kept = tuple(n for i, n in enumerate(shape) if i not in axes)
        term, slope = TERMS[name](x_flat, y_flat, real(1))
        n = real(x_flat.shape[-1])
        assert bits(loss(x, y, axis, reduction="none")) == bits(back(term, dtype, shape, axes))
        assert bits(loss(x, y, axis, reduction="sum")) == bits(tree(term).astype(dtype).reshape(kept))
        assert bits(loss(x, y, axis)) == bits((tree(term) / n).astype(dtype).reshape(kept))
        g = rng.standard_normal(kept).astype("f4")
        q = g.astype(real).reshape(-1, 1)
        assert bits(backward(x, y, g, axis)) == bits(back(slope * (q / n), dtype, shape, axes))
        assert bits(backward(x, y, g, axis, reduction="sum")) == bits(back(slope * q, dtype, shape, axes))
        assert bits(backward(x, y, axis=axis, reduction="none")) == bits(back(slope, dtype, shape, axes))


def test_products_and_cosines_have_the_bits_of_their_formulas(rng):
    for _ in range(cases(60)):
        dtype, real, shape, axes, (x, y), (a, b) = random_rows(rng, 2)
        axis = axis_of(axes, len(shape), rng)
        kept = tuple(n for i, n in enumerate(shape) if i not in axes)
        assert bits(wf.dot(x, y, axis)) == bits(tree(a * b).astype(dtype).reshape(kept))
        g = rng.standard_normal(kept).astype("f4")
        q, least = g.astype(real).reshape(-1, 1), real(0.25)
        assert bits(wf.dot_backward(x, y, g, axis)) == bits(back(b * q, dtype, shape, axes))
        d, xx, yy = tree(a * b), tree(a * a), tree(b * b)
        p = np.maximum(np.sqrt(xx), least) * np.maximum(np.sqrt(yy), least)
        found = wf.cosine_similarity(x, y, axis, epsilon=0.25)
        assert bits(found) == bits((d / p).astype(dtype).reshape(kept))
        own = np.where(np.sqrt(xx) < least, real(0), ((d / p) / xx) * q)
        of = b * (q / p) - a * own
        assert bits(wf.cosine_similarity_backward(x, y, g, axis, epsilon=0.25)) == bits(back(of, dtype, shape, axes))


def test_divergences_and_binary_entropies(rng):
    x, y = rng.standard_normal((2, 6, 7)) * 3
    p = wf.softmax(y)
    assert np.allclose(wf.kl_div(x, p, 1), (p * (np.log(p) - x)).mean(1), rtol=1e-12)
    assert np.allclose(wf.kl_div(x, y, reduction="none", log_target=True), np.exp(y) * (y - x), rtol=1e-12)
    assert bits(wf.kl_div_backward(x, p, reduction="sum")) == bits(-p)
    entropy = np.maximum(x, 0) - x * p + np.log1p(np.exp(-np.abs(x)))
    assert np.allclose(wf.bce_with_logits(x, p, reduction="none"), entropy, rtol=1e-12)
    assert np.allclose(wf.bce_with_logits_backward(x, p, reduction="sum"), 1 / (1 + np.exp(-x)) - p, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_cross_entropy_has_the_bits_of_its_formula(dtype, rng):
    real = np.dtype(dtype).type
    for _ in range(cases(60)):
        rows, classes = (int(n) for n in rng.integers(1, 9, 2))
        logits = rng.standard_normal((rows, classes)).astype(dtype)
        targets = rng.integers(0, classes, rows)
        targets[rng.random(rows) < 0.2] = -1
        weight = rng.random(classes).astype(dtype) if rng.random() < 0.5 else None
        w = np.ones(classes, dtype) if weight is None else weight
        smoothing = float(rng.choice([0.0, 0.1]))
        logs, p, taken = wf.log_softmax(logits), wf.softmax(logits), targets >= 0
        at = np.arange(rows), np.where(taken, targets, 0)
        a, e = real(1 - smoothing) * w[at[1]], real(smoothing / classes)
        f = a if smoothing == 0 else a + e * tree(w)
        losses = a * logs[at] if smoothing == 0 else a * logs[at] + e * tree(logs * w)[:, 0]
        losses = np.where(taken, real(0) - losses, real(0))
        divisor = real(taken.sum()) if weight is None else tree(np.where(taken, w[at[1]], real(0)))[0]
        options = {"ignore_index": -1, "label_smoothing": smoothing, "weight": weight}
        assert bits(wf.cross_entropy(logits, targets, reduction="none", **options)) == bits(losses)
        assert bits(wf.cross_entropy(logits, targets, reduction="sum", **options)) == bits(tree(losses)[0])
        g = real(rng.standard_normal())
        with np.errstate(all="ignore"):
            mean, q = tree(losses)[0] / divisor, g / divisor
        # In any layout: classes along the first axis.
        found = wf.cross_entropy_gradient(logits.T, targets.astype("i4"), 0, gradient=g, **options)
        assert bits(found.loss) == bits(np.where(np.isnan(mean), real(np.nan), mean))
        assert bits(found.logsumexp) == bits(wf.logsumexp(logits, axis=1))
        if not taken.any():
            continue
        of = p * f[:, None]
        of = of if smoothing == 0 else of - e * w
        of[at] -= a
        of = np.where(taken[:, None], of * q, real(0))
        assert bits(found.gradient.T) == bits(of)


def test_large_arrays_have_the_bits_of_small_ones(rng):
    """Work that threads share, and without the interpreter's lock."""
    x = rng.standard_normal((700, 300)).astype("f4")
    y, weight = rng.standard_normal((700, 300)).astype("f4"), rng.standard_normal(300).astype("f4")
    rows = [0, 1, 350, 699]
    for of in (wf.softmax, wf.log_softmax, lambda x: wf.rms_norm(x, weight), lambda x: wf.layer_norm(x, weight)):
        assert bits(of(x)[rows]) == bits(np.stack([of(x[i]) for i in rows]))
        assert bits(of(x)) == bits(of(np.asfortranarray(x)))
    assert bits(wf.mse(x, y, 1)[rows]) == bits(np.stack([wf.mse(x[i], y[i]) for i in rows]))
    assert bits(wf.mse(x, y)) == bits(wf.mean((x - y) * (x - y)))


def test_results_are_of_the_kind_of_the_argument():
    x, y = [[1.0, 2.0], [3.0, 4.0]], [1, 0]
    assert isinstance(wf.softmax(x), np.ndarray) and isinstance(wf.dot(x, x), np.float64)
    assert isinstance(wf.softmax(np.ma.array(x)), np.ma.MaskedArray)
    assert wf.softmax(np.float64(3.0), None) == 1 and wf.softmax(np.zeros((0, 3))).shape == (0, 3)
    assert wf.cross_entropy(np.zeros((0, 3)), np.zeros(0, int), reduction="sum") == 0
    torch = pytest.importorskip("torch")
    t, targets = torch.tensor(x), torch.tensor(y)
    for found in (
        wf.softmax(t), wf.rms_norm(t, torch.ones(2)), wf.mse(t, t), wf.dot(t.T, t, axis=0), wf.cross_entropy(t, targets)
    ):
        assert isinstance(found, torch.Tensor) and found.dtype == torch.float32
    of = wf.layer_norm_backward(t, t, weight=torch.ones(2, dtype=torch.float64), bias=np.ones(2))
    assert of.weight.dtype == torch.float64 and isinstance(of.bias, np.ndarray)
    assert wf.softmax(t.bfloat16()).dtype == torch.bfloat16
    assert bits(wf.softmax(t)) == bits(wf.softmax(np.array(x, "f4")))
    with pytest.raises(TypeError, match="detach"):
        wf.softmax(t.requires_grad_())


GPU = Interface()
X = np.ones((2, 3), "f4")
REFUSED = [
    (np.exceptions.AxisError, "out of", lambda: wf.softmax(X, 2)),
    (np.exceptions.AxisError, "out of", lambda: wf.softmax(1.0)),
    (np.exceptions.AxisError, "out of", lambda: wf.cross_entropy(X, [0, 0], 2)),
    (ValueError, "twice", lambda: wf.softmax(X, (0, 0))),
    (TypeError, "axis", lambda: wf.softmax(X, "0")),
    (TypeError, "floats", lambda: wf.softmax([1, 2])),
    (TypeError, "floats", lambda: wf.mse([1, 2], [1, 2])),
    (TypeError, "floats", lambda: wf.rms_norm(X, [1, 2, 3])),
    (TypeError, "integer", lambda: wf.cross_entropy(X, [0.0, 1.0])),
    (TypeError, "mask", lambda: wf.softmax(X, where=X)),
    (TypeError, "nulls", lambda: wf.softmax(np.ma.array([1.0, 2.0], mask=[0, 1]))),
    (TypeError, "dtype", lambda: wf.softmax("abc")),
    (TypeError, "scale", lambda: wf.softmax(X, scale="1")),
    (ValueError, "mask", lambda: wf.softmax(X, where=[True, False])),
    (ValueError, "shape", lambda: wf.softmax_backward(X, X[0])),
    (ValueError, "shape", lambda: wf.layer_norm(X, X)),
    (ValueError, "shape", lambda: wf.rms_norm_backward(X, X.T)),
    (ValueError, "shape", lambda: wf.mse(X, X[0])),
    (ValueError, "shape", lambda: wf.mse_backward(X, X, X)),
    (ValueError, "shape", lambda: wf.cross_entropy(X, [0])),
    (ValueError, "class", lambda: wf.cross_entropy(X, [0, 3])),
    (ValueError, "classes", lambda: wf.cross_entropy(np.zeros((2, 0)), [0, 0])),
    (ValueError, "smoothing", lambda: wf.cross_entropy(X, [0, 0], label_smoothing=2)),
    (ValueError, "reduction", lambda: wf.cross_entropy(X, [0, 0], reduction="batchmean")),
    (ValueError, "reduction", lambda: wf.mse(X, X, reduction="average")),
    (ValueError, "delta", lambda: wf.huber(X, X, delta=0)),
    *(
        (TypeError, "GPU", call)
        for call in (
            lambda: wf.softmax(GPU, where=[True]),
            lambda: wf.log_softmax_backward(X, GPU),
            lambda: wf.rms_norm(X, GPU),
            lambda: wf.layer_norm_backward(GPU, X),
            lambda: wf.cross_entropy(X, GPU),
            lambda: wf.cross_entropy_gradient(GPU, [0, 0]),
            lambda: wf.kl_div(GPU, X),
            lambda: wf.cosine_similarity_backward(X, X, GPU),
        )
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused(number):
    kind, said, call = REFUSED[number]
    with pytest.raises(kind, match=said):
        call()
