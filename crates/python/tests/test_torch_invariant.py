"""`warpfold.torch.batch_invariant`: PyTorch's reductions replaced, and what a model gains by that."""

import threading

import pytest
from conftest import bits

import warpfold as wf

torch = pytest.importorskip("torch")
if not hasattr(torch.library, "get_kernel"):
    pytest.skip("batch_invariant needs torch.library.get_kernel", allow_module_level=True)
F = torch.nn.functional
AT = torch.tensor([0, 2, 2, 1, 0, 5])
CLASSES = torch.tensor([0, 1, 2, 3, 4, -100])
WEIGHT, BIAS = torch.linspace(0.5, 2, 5), torch.linspace(-1, 1, 5)
# The operators that are replaced, and a function of a (6, 5) tensor that calls them.
CALLS = [
    ("sum.dim_IntList", lambda x: x.sum()),
    ("sum.dim_IntList", lambda x: x.sum((0, -1), keepdim=True)),
    ("sum.dim_IntList", lambda x: x.sum(1, dtype=torch.float64)),
    ("sum.dim_IntList", lambda x: x[0, 0].sum(0)),
    ("mean.dim", lambda x: x.mean()),
    ("mean.dim", lambda x: F.rms_norm(x, [5], WEIGHT)),
    ("amax", lambda x: x.amax(1)),
    ("amin", lambda x: x.amin()),
    ("argmax", lambda x: x.argmax(1, keepdim=True)),
    ("argmin", lambda x: x.argmin()),
    ("logsumexp", lambda x: x.logsumexp((0, 1))),
    ("var.correction", lambda x: x.var(1)),
    ("std.correction", lambda x: x.std(0, correction=0)),
    ("var_mean.correction", lambda x: torch.stack(torch.var_mean(x, 1))),
    ("std_mean.correction", lambda x: torch.stack(torch.std_mean(x, 1, correction=0))),
    ("linalg_vector_norm", lambda x: x.norm()),
    ("linalg_vector_norm", lambda x: torch.linalg.vector_norm(x, 1, dim=1)),
    ("_softmax", lambda x: torch.softmax(x, 1)),
    ("_log_softmax", lambda x: torch.log_softmax(x, 0)),
    ("native_layer_norm", lambda x: F.layer_norm(x, [5], WEIGHT, BIAS)),
    ("native_layer_norm", lambda x: F.layer_norm(x, [6, 5])),
    ("nll_loss_forward", lambda x: F.nll_loss(x, CLASSES)),
    ("nll_loss_forward", lambda x: F.nll_loss(x, CLASSES, WEIGHT, reduction="sum")),
    ("nll_loss_forward", lambda x: F.nll_loss(x, CLASSES, WEIGHT, reduction="none")),
    ("nll_loss_forward", lambda x: F.cross_entropy(x, CLASSES, WEIGHT)),
    ("nll_loss2d_forward", lambda x: F.nll_loss(x.t().reshape(1, 5, 6, 1).contiguous(), CLASSES.reshape(1, 6, 1))),
    ("mse_loss", lambda x: F.mse_loss(x, torch.zeros(6, 5))),
    ("huber_loss", lambda x: F.huber_loss(x, torch.zeros(6, 5), delta=0.3)),
    ("smooth_l1_loss", lambda x: F.smooth_l1_loss(x, torch.zeros(6, 5), beta=0.3)),
    ("_index_put_impl_", lambda x: torch.ones(7, 5).index_put((AT,), x, accumulate=True)),
    ("_index_put_impl_", lambda x: torch.ops.aten.index_put(torch.ones(6, 3), [None, AT[:2] - 3], x[:, :2], True)),
    ("index_add", lambda x: torch.ones(7, 5).index_add(0, AT, x, alpha=2.0)),
    ("index_add_", lambda x: torch.ones(6, 3).index_add_(1, torch.tensor([0, 0, 2, 1, 1]), x.detach())),
    ("scatter_add", lambda x: torch.ones(6, 5).scatter_add(1, torch.tensor([[0, 0, 1], [4, 3, 3]]), x[:2, :3])),
    ("scatter_add_", lambda x: torch.ones(6, 5).scatter_add_(0, torch.tensor([[0, 5, 1, 0, 2]]), x.detach())),
    ("bincount", lambda x: torch.bincount(AT, weights=x.detach()[:, 0])),
]


def tensor(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


@pytest.mark.parametrize("call", range(len(CALLS)))
def test_what_is_replaced_is_the_same_operator(call):
    name, of = CALLS[call]
    x = tensor(6, 5)
    want = of(x)
    with wf.torch.batch_invariant() as report:
        found = of(x)
    assert report.replaced[name] and not report.kept and name in repr(report)
    assert found.dtype == want.dtype and found.shape == want.shape
    torch.testing.assert_close(found, want)
    if want.requires_grad:
        gradient = torch.linspace(-1, 2, want.numel(), dtype=want.dtype).reshape(want.shape)
        (want,) = torch.autograd.grad(want, x, gradient)
        with wf.torch.batch_invariant():
            (found,) = torch.autograd.grad(found, x, gradient)
        torch.testing.assert_close(found, want)


def test_gradients_of_gathers_are_sums_of_groups():
    x = tensor(6, 5)
    for name, of in (
        ("embedding_dense_backward", lambda x: F.embedding(AT.reshape(2, 3), x, padding_idx=2)),
        ("embedding_dense_backward", lambda x: F.embedding(AT, x, scale_grad_by_freq=True)),
        ("index_add", lambda x: x.index_select(0, AT)),
        ("_index_put_impl_", lambda x: x[AT]),
        ("_index_put_impl_", lambda x: x[:, AT[:4].view(2, 2) - 3]),
        ("native_layer_norm_backward", lambda x: F.layer_norm(x, [5])),
    ):
        (want,) = torch.autograd.grad(of(x).square().sum(), x)
        with wf.torch.batch_invariant() as report:
            (found,) = torch.autograd.grad(of(x).square().sum(), x)
        assert report.replaced[name], report
        torch.testing.assert_close(found, want)


def test_the_bits_are_those_of_the_library():
    x, weight, bias, gradient = tensor(33, 70), tensor(70, seed=1), tensor(70, seed=2), tensor(33, 70, seed=3).detach()
    with wf.torch.batch_invariant():
        total, deviation, norm = x.sum(0), x.std(1), F.layer_norm(x, [70], weight, bias)
        loss = F.cross_entropy(x, torch.arange(33))
        of = torch.autograd.grad(norm, (x, weight, bias), gradient)
    plain = x.detach()
    assert bits(total.detach()) == bits(wf.sum(plain, axis=0))
    assert bits(deviation.detach()) == bits(wf.std(plain, axis=1, ddof=1))
    assert bits(loss.detach()) == bits(wf.mean(wf.cross_entropy(plain, torch.arange(33), reduction="none")))
    given = plain, gradient, weight.detach(), bias.detach()
    assert bits(norm.detach()) == bits(wf.layer_norm(plain, *given[2:]))
    want = wf.layer_norm_backward(*given)
    assert bits(of[2]) == bits(want.bias)
    for found, expected in zip(of, want):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("seed", range(10))
def test_gradients_of_layer_norm_have_the_bits_of_a_gpu(dtype, seed):
    from warpfold.torch import _invariant

    shape = [(33, 70), (5, 3, 40), (300, 7), (2, 1), (1, 5000)][seed % 5]
    rank = 2 if seed == 6 else 1
    x, gradient = (tensor(*shape, seed=seed + i).detach().to(dtype) for i in range(2))
    if seed > 6:
        x.view(-1)[:: 1 + x.numel() // 7] = torch.inf if seed == 7 else torch.nan if seed == 8 else -0.0
    weight, bias = (tensor(*shape[-rank:], seed=i).detach().to(dtype) for i in range(2))
    weight, bias = (weight, bias) if seed % 3 else (None, None)
    with wf.torch.batch_invariant():
        _, mean, inverse = torch.native_layer_norm(x, shape[-rank:], weight, bias, 1e-5)
    given = gradient, x, shape[-rank:], mean, inverse, weight, bias, [True] * 3
    found = _invariant._layer_norm_backward(*given)
    # As on a GPU, of elementwise operators and sums.
    real = torch.float64 if dtype == torch.float64 else torch.float32
    inverse = inverse.to(real)
    normal = (x.to(real) - mean.to(real)) * inverse
    want = _invariant._norm_backward(gradient, x, rank, normal, inverse, (weight, bias), [True] * 3, centred=True)
    for of, expected in zip(found, want):
        assert (of is None) == (expected is None)
        if of is not None:
            expected = torch.where(expected.isnan(), torch.nan, expected)
            assert of.dtype == expected.dtype and bits(of.double()) == bits(expected.double())


def test_the_report_says_what_is_not_ours():
    x = tensor(6, 6).detach()
    with wf.torch.batch_invariant() as report:
        (x @ x).sum()
        torch.arange(5).sum()
        torch.zeros(0).sum()
        torch.linalg.vector_norm(x, 3)
        torch.sum(x, 1, out=torch.empty(6))
        x.clone().put_(AT, x[0], accumulate=True)
        x.clone().put_(AT, x[0])
        x.clone()[AT] = 0.0
        x.clone().index_put_((AT, AT), x[0], accumulate=True)
    assert dict(report.not_ours) == {"mm": 1, "put_": 1} and dict(report.replaced) == {"sum.dim_IntList": 1}
    kept = {"sum.dim_IntList": 2, "linalg_vector_norm": 1, "sum.IntList_out": 1, "_index_put_impl_": 1}
    assert dict(report.kept) == kept


def test_the_mode_ends():
    x = tensor(7, 9).detach()
    before = bits(torch.softmax(x, 1))
    with pytest.raises(KeyError), wf.torch.batch_invariant():
        raise KeyError
    with wf.torch.batch_invariant() as outer:
        with wf.torch.batch_invariant() as inner:
            x.sum()
        assert bits(x.sum()) == bits(wf.sum(x))
        found = []
        thread = threading.Thread(target=lambda: found.append(bits(torch.softmax(x, 1))))
        thread.start()
        thread.join()
        assert found == [bits(wf.softmax(x))]
    assert outer.replaced["sum.dim_IntList"] == 2 and inner.replaced["sum.dim_IntList"] == 1
    x.sum()
    assert outer.replaced["sum.dim_IntList"] == 2 and bits(torch.softmax(x, 1)) == before


class Transformer(torch.nn.Module):
    """A block of attention and a block of two layers, with products whose rows do not depend on each other."""

    WIDTH, HEADS, LENGTH, WORDS = 16, 2, 8, 11

    def __init__(self):
        super().__init__()
        width, linear = self.WIDTH, wf.torch.TreeLinear
        self.words, self.places = linear(self.WORDS, width), torch.nn.Parameter(torch.zeros(self.LENGTH, width))
        self.first, self.second, self.last = (torch.nn.LayerNorm(width) for _ in range(3))
        self.mixed, self.joined = linear(width, 3 * width, bias=False), linear(width, width)
        self.wide, self.narrow, self.out = linear(width, 24), linear(24, width), linear(width, self.WORDS)

    def forward(self, tokens):
        x = self.words(F.one_hot(tokens, self.WORDS).float()) + self.places
        x = x + self.joined(self.attention(self.first(x)))
        x = x + self.narrow(F.gelu(self.wide(self.second(x))))
        return self.out(self.last(x))

    def attention(self, x):
        product = torch.ops.warpfold.product
        heads = self.mixed(x).unflatten(-1, (3, self.HEADS, -1)).permute(2, 0, 3, 1, 4)
        results = []
        for queries, keys, values in zip(*heads):
            each = []
            for q, k, v in zip(queries, keys, values):
                scores = product(q, k) / q.shape[-1] ** 0.5
                hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
                each.append(product(torch.softmax(scores.masked_fill(hidden, float("-inf")), -1), v.t()))
            results.append(torch.cat(each, -1))
        return torch.stack(results)


@pytest.fixture
def tokens():
    return torch.randint(Transformer.WORDS, (8, Transformer.LENGTH), generator=torch.Generator().manual_seed(0))


def test_logits_do_not_depend_on_the_batch(tokens):
    torch.manual_seed(0)
    model = Transformer()
    with torch.no_grad(), wf.torch.batch_invariant() as report:
        whole = model(tokens)
        for sizes in ([1] * 8, [3, 5], [4, 4], [7, 1]):
            assert bits(torch.cat([model(part) for part in tokens.split(sizes)])) == bits(whole)
    assert not report.not_ours


def joined(parts):
    """The gradients of neighbours, added in pairs."""
    while len(parts) > 1:
        parts = [[a + b for a, b in zip(*pair)] for pair in zip(parts[::2], parts[1::2])]
    return parts[0]


def trained(tokens, pieces):
    torch.manual_seed(0)
    model = Transformer()
    weights = list(model.parameters())
    for _ in range(10):
        parts = []
        for part in tokens.chunk(pieces):
            logits = model(part)[:, :-1].flatten(0, 1)
            loss = F.cross_entropy(logits, part[:, 1:].flatten(), reduction="sum")
            parts.append(torch.autograd.grad(loss, weights))
        with torch.no_grad():
            for weight, gradient in zip(weights, joined(parts)):
                weight -= 0.5 * (gradient / tokens[:, 1:].numel())
    return loss, [bits(weight.detach()) for weight in weights]


def test_training_does_not_depend_on_the_microbatches(tokens):
    with wf.torch.batch_invariant() as report:
        _, whole = trained(tokens, 1)
        assert all(trained(tokens, pieces)[1] == whole for pieces in (2, 4, 8))
    assert not report.not_ours
