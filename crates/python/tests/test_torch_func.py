"""`torch.func` over the functions of `wf.torch`: gradients, gradients of gradients, gradients of each row of a batch."""

import pytest

import warpfold as wf

torch = pytest.importorskip("torch")
F = torch.nn.functional
random = torch.Generator().manual_seed(0)
X, COTANGENT = (torch.randn(4, 6, generator=random) for _ in range(2))
WEIGHT, BIAS = (torch.rand(6, generator=random) for _ in range(2))
CLASSES, AT = torch.tensor([0, 1, 2, -100]), torch.tensor([1, 1, 0, 2])
SHARES = COTANGENT.softmax(1)
# Functions of a (4, 6) tensor, of a module with PyTorch's names.
CASES = {
    "softmax": lambda m, x: m.softmax(x, 1) * COTANGENT,
    "log_softmax": lambda m, x: m.log_softmax(x, 0) * COTANGENT,
    "rms_norm": lambda m, x: m.rms_norm(x, [6], WEIGHT, 1e-5) * COTANGENT,
    "layer_norm": lambda m, x: m.layer_norm(x, [6], WEIGHT, BIAS) * COTANGENT,
    "group_norm": lambda m, x: m.group_norm(x, 2, WEIGHT, BIAS) * COTANGENT,
    "batch_norm": lambda m, x: m.batch_norm(x, None, None, WEIGHT, BIAS, True) * COTANGENT,
    "cross_entropy": lambda m, x: m.cross_entropy(x, CLASSES, WEIGHT, label_smoothing=0.1),
    "cross_entropy of distributions": lambda m, x: m.cross_entropy(x, SHARES),
    "mse_loss": lambda m, x: m.mse_loss(x, COTANGENT),
    "huber_loss": lambda m, x: m.huber_loss(x, COTANGENT, delta=0.7),
    "kl_div": lambda m, x: m.kl_div(x, SHARES, reduction="sum"),
    "cosine_similarity": lambda m, x: m.cosine_similarity(x, COTANGENT),
    "max_pool1d": lambda m, x: m.max_pool1d(x, 2).square(),
    "avg_pool1d": lambda m, x: m.avg_pool1d(x, 2).square(),
    "embedding": lambda m, x: m.embedding(AT, x).square(),
}


def both(name):
    """The function by Warpfold and by PyTorch, as numbers."""
    return [lambda x, m=m: CASES[name](m, x).sum() for m in (wf.torch, F)]


def close(found, want):
    torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    ours, theirs = both(name)
    (want,) = torch.autograd.grad(ours(x := X.clone().requires_grad_()), x)
    found, value = torch.func.grad_and_value(ours)(X)
    assert torch.equal(found, want) and torch.equal(value, ours(X))
    close(found, torch.func.grad(theirs)(X))
    _, pull = torch.func.vjp(ours, X)
    assert torch.equal(pull(torch.tensor(1.0))[0], want)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_gradients(name):
    ours, theirs = both(name)
    close(torch.func.jacrev(torch.func.grad(ours))(X), torch.func.jacrev(torch.func.grad(theirs))(X))


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_each_of_a_batch(name):
    ours, _ = both(name)
    batch = torch.stack([X, X.flip(0), X * 2])
    found = torch.vmap(torch.func.grad(ours))(batch)
    assert torch.equal(found, torch.stack([torch.func.grad(ours)(x) for x in batch]))
    assert torch.equal(torch.vmap(ours, in_dims=2)(batch.permute(1, 2, 0)), torch.stack([ours(x) for x in batch]))


def test_a_function_of_weights():
    model = torch.nn.Sequential(torch.nn.Linear(6, 6), wf.torch.LayerNorm(6), wf.torch.Softmax(-1))
    weights = dict(model.named_parameters())

    def loss(weights, x):
        return (torch.func.functional_call(model, weights, (x,)) * COTANGENT[0]).sum()

    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, X)
    for row, x in enumerate(X):
        one = torch.func.grad(loss)(weights, x)
        for name, of in each.items():
            close(of[row], one[name])


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="torch.compile of torch.func, by a newer PyTorch")
def test_compiled():
    def gradient(x):
        return torch.func.grad(lambda x: (wf.torch.softmax(x, 1) * COTANGENT).sum())(x)

    found = torch.compile(gradient, backend="aot_eager")(X)
    close(found, gradient(X))
