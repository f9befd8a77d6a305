"""What `warpfold.torch` composes on a GPU: on the CPU, where kernels of its own have the bits to compare with."""

import numpy as np
import pytest
from conftest import bits

import warpfold as wf

torch = pytest.importorskip("torch")
from warpfold.torch import _composed  # noqa: E402

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def same(found, expected):
    wide = torch.float64 if expected.dtype == torch.float64 else torch.float32
    assert found.dtype == expected.dtype
    assert bits(found.to(wide).detach()) == bits(expected.to(wide).detach())


class Random:
    """Tensors of random numbers, some of them special."""

    def __init__(self, seed):
        self.of = torch.Generator().manual_seed(seed)

    def tensor(self, *shape, dtype=torch.float32, special=False):
        x = torch.randn(shape, generator=self.of)
        if special and x.numel():
            at = torch.randint(0, x.numel(), (max(1, x.numel() // 50),), generator=self.of)
            kinds = torch.tensor([torch.nan, torch.inf, -torch.inf, -0.0, 0.0])
            x.view(-1)[at] = kinds[torch.randint(0, 5, at.shape, generator=self.of)]
        return x.to(dtype)

    def number(self, most):
        return int(torch.randint(0, most, (), generator=self.of))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(20))
def test_cross_entropy(dtype, seed):
    rng = Random(seed)
    shape = [[40, 1 + rng.number(200)], [3, 1 + rng.number(40), 7], [1 + rng.number(30)]][rng.number(3)]
    axis = 0 if len(shape) == 1 else 1
    logits = rng.tensor(*shape, dtype=dtype, special=seed % 5 == 4)
    rest = shape[:axis] + shape[axis + 1 :]
    target = torch.randint(0, shape[axis], tuple(rest), generator=rng.of)
    target = torch.where(torch.rand(rest, generator=rng.of) < 0.2, -100, target)
    weight = rng.tensor(shape[axis]).abs() if rng.number(2) else None
    # Without it a GPU has kernels, and of bfloat16 another exponential.
    smoothing = [0.0 if dtype != torch.bfloat16 else 0.3, 0.1, 1.0][rng.number(3)]
    for reduction in ("none", "mean", "sum"):
        gradient = rng.tensor(*(rest if reduction == "none" else []), dtype=dtype)
        given = logits, target, axis, -100, smoothing, weight, reduction
        options = {"ignore_index": -100, "label_smoothing": smoothing, "weight": weight, "reduction": reduction}
        expected = wf.cross_entropy_gradient(logits, target, axis, **options, gradient=gradient)
        same(_composed.cross_entropy(*given)[0], expected[0])
        same(_composed.cross_entropy_gradient(*given, gradient, None), expected[1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_cosines_and_products(dtype, monkeypatch):
    if dtype == torch.float64:
        monkeypatch.setattr(_composed, "_sqrt", lambda x: torch.from_numpy(np.sqrt(x.numpy())))
    rng = Random(5)
    for special in (False, True):
        x, y = (rng.tensor(9, 77, dtype=dtype, special=special) for _ in "xy")
        x[2] = 0
        gradient = rng.tensor(9, dtype=dtype)
        expected = wf.cosine_similarity_backward(x, y, gradient, 1, epsilon=1e-8)
        same(_composed.cosine_similarity_backward(x, y, gradient, 1, 1e-8), expected)
        expected = wf.dot(*torch.broadcast_tensors(x.unsqueeze(1), y.unsqueeze(0)), axis=2)
        same(_composed.product(x, y), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_by_index(dtype):
    rng = Random(9)
    for special in (False, True):
        x, source = (rng.tensor(n, 9, dtype=dtype, special=special) for n in (20, 300))
        index = torch.randint(0, 15, (300,), generator=rng.of)
        for alpha in (1.0, -0.3):
            same(_composed.index_add(x, 0, index, source, alpha), wf.index_add(x, 0, index, source, alpha=alpha))
            given = x.t(), 1, index, source.t(), alpha
            same(_composed.index_add(*given), wf.index_add(*given[:4], alpha=alpha))
        index = torch.randint(0, 20, (300, 5), generator=rng.of)
        same(_composed.scatter_add(x, 0, index, source[:, :5]), wf.scatter_add(x, 0, index, source[:, :5]))
        labels = torch.randint(0, 15, (30, 10), generator=rng.of)
        for padding in (-1, 3):
            for by_frequency in (False, True):
                given = source.view(30, 10, 9), labels, 20
                options = {"padding_idx": None if padding < 0 else padding, "scale_grad_by_freq": by_frequency}
                found = _composed.embedding_backward(*given, padding, by_frequency)
                same(found, wf.embedding_backward(*given, **options))
        same(_composed.sums(x, source[:20].double()), wf.rms_norm(x, residual=source[:20].double())[1])


def test_what_is_wrong():
    x, target = torch.zeros(2, 3), torch.tensor([0, 3])
    options = 1, -100, 0.0, None, "none"
    found = _composed.cross_entropy(x, target, *options)[0]
    assert found[0] == torch.log(torch.tensor(3.0)) and found[1].isnan()
    found = _composed.cross_entropy_gradient(x, target, *options, torch.ones(2), None)
    assert found[1].isnan().all() and not found[0].isnan().any()
    for said, call in (
        ("smoothing", lambda: _composed.cross_entropy(x, target, 1, -100, 1.5, None, "sum")),
        ("targets", lambda: _composed.cross_entropy(x, target[:1], *options)),
        ("weights", lambda: _composed.cross_entropy(x, target, 1, -100, 0.0, torch.ones(2), "sum")),
    ):
        with pytest.raises(ValueError, match=said):
            call()
