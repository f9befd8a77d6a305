"""`warpfold.torch`: norms of channels, residuals, and sums by index."""

import pytest
from conftest import bits
from test_torch import gradients_of, make

import warpfold as wf

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
F = torch.nn.functional
INDEX, PLACES = torch.tensor([2, 0, 2, 1]), torch.tensor([[0, 2, 1, 0], [2, 2, 0, 1]])


def statistics(channels, dtype):
    mean, deviation = (make(channels, dtype=dtype, seed=seed, grad=False) for seed in (5, 6))
    return mean, deviation.square() + 0.5


def plain_residual(norm):
    def of(x, shape, weight, residual):
        total = x + residual
        return norm(total, shape, weight) + 2 * total

    return of


def residual(name):
    def of(x, shape, weight, residual):
        y, total = getattr(wf.torch, name)(x, shape, weight, residual=residual)
        return y + 2 * total

    return of


# Warpfold's function, PyTorch's, and the tensors and other arguments.
CALLS = {
    "group_norm": (
        lambda *x: wf.torch.group_norm(x[0], 2, *x[1:]),
        lambda *x: F.group_norm(x[0], 2, *x[1:]),
        lambda d: [make(3, 4, 5, dtype=d), make(4, dtype=d, seed=1), make(4, dtype=d, seed=2)],
    ),
    "group_norm of long channels": (
        lambda *x: wf.torch.group_norm(x[0], 2, *x[1:]),
        lambda *x: F.group_norm(x[0], 2, *x[1:]),
        lambda d: [make(2, 4, 5, 8, dtype=d), make(4, dtype=d, seed=1)],
    ),
    "group_norm of channels alone": (
        lambda x: wf.torch.group_norm(x, 3, eps=0.1),
        lambda x: F.group_norm(x, 3, eps=0.1),
        lambda d: [make(5, 6, dtype=d)],
    ),
    "batch_norm in training": (
        lambda x, *of: wf.torch.batch_norm(x, None, None, *of, training=True),
        lambda x, *of: F.batch_norm(x, None, None, *of, training=True),
        lambda d: [make(4, 3, 5, dtype=d), make(3, dtype=d, seed=1), make(3, dtype=d, seed=2)],
    ),
    "batch_norm": (
        lambda x, *of: wf.torch.batch_norm(x, *of),
        lambda x, *of: F.batch_norm(x, *of),
        lambda d: [make(6, 3, dtype=d), *statistics(3, d), make(3, dtype=d, seed=1), make(3, dtype=d, seed=2)],
    ),
    "rms_norm with an offset": (
        lambda x, w: wf.torch.rms_norm(x, [5], w, 1e-6, weight_offset=1.0),
        lambda x, w: F.rms_norm(x, [5], w + 1, 1e-6),
        lambda d: [make(3, 5, dtype=d), make(5, dtype=d, seed=1)],
    ),
    "rms_norm with residuals": (
        lambda x, y, w: residual("rms_norm")(x, [5], w, y),
        lambda x, y, w: plain_residual(F.rms_norm)(x, [5], w, y),
        lambda d: [make(3, 5, dtype=d), make(3, 5, dtype=d, seed=1), make(5, dtype=d, seed=2)],
    ),
    "layer_norm with residuals": (
        lambda x, y: residual("layer_norm")(x, [2, 5], None, y),
        lambda x, y: plain_residual(F.layer_norm)(x, [2, 5], None, y),
        lambda d: [make(3, 2, 5, dtype=d), make(3, 2, 5, dtype=d, seed=1)],
    ),
    "cross_entropy of distributions, each": (
        lambda x, y: wf.torch.cross_entropy(x, y, reduction="none"),
        lambda x, y: F.cross_entropy(x, y, reduction="none"),
        lambda d: [make(2, 5, 4, dtype=d), make(2, 5, 4, dtype=d, seed=1)],
    ),
    "cross_entropy of a distribution": (
        lambda x, y: wf.torch.cross_entropy(x, y, reduction="sum", label_smoothing=0.3),
        lambda x, y: F.cross_entropy(x, y, reduction="sum", label_smoothing=0.3),
        lambda d: [make(5, dtype=d), make(5, dtype=d, seed=1)],
    ),
    "index_add": (
        lambda x, y: wf.torch.index_add(x, 1, INDEX, y, alpha=0.5),
        lambda x, y: x.index_add(1, INDEX, y, alpha=0.5),
        lambda d: [make(2, 3, dtype=d), make(2, 4, dtype=d, seed=1)],
    ),
    "scatter_add": (
        lambda x, y: wf.torch.scatter_add(x, -1, PLACES, y),
        lambda x, y: x.scatter_add(-1, PLACES, y),
        lambda d: [make(2, 3, dtype=d), make(2, 4, dtype=d, seed=1)],
    ),
    "embedding": (
        lambda w: wf.torch.embedding(PLACES, w),
        lambda w: F.embedding(PLACES, w),
        lambda d: [make(3, 2, dtype=d)],
    ),
    "embedding with padding": (
        lambda w: wf.torch.embedding(PLACES, w, padding_idx=-1, scale_grad_by_freq=True),
        lambda w: F.embedding(PLACES, w, padding_idx=-1, scale_grad_by_freq=True),
        lambda d: [make(3, 2, dtype=d)],
    ),
}
# PyTorch has no other formula of its gradient to compare with.
SCALED = "embedding with padding"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("call", CALLS)
def test_functions_are_those_of_torch(call, dtype):
    ours, theirs, tensors = CALLS[call]
    given = tensors(dtype)
    wide = [x.detach().double().requires_grad_(x.requires_grad) for x in given]
    found, want = ours(*given), theirs(*wide)
    assert found.shape == want.shape and found.dtype == dtype
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}[dtype]
    torch.testing.assert_close(found.double(), want, rtol=tolerance, atol=tolerance)
    gradient = torch.linspace(-1, 2, want.numel(), dtype=torch.float64).reshape(want.shape)
    want.backward(gradient)
    found.backward(gradient.to(found.dtype))
    for x, y in zip(gradients_of(wide), gradients_of(given)):
        assert y.grad.dtype == y.dtype
        torch.testing.assert_close(y.grad.double(), x.grad, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("call", [call for call in CALLS if call != SCALED])
def test_gradients_and_second_derivatives(call):
    ours, _, tensors = CALLS[call]
    tensors = tensors(torch.float64)

    def of(*inputs):
        inputs = iter(inputs)
        return ours(*(next(inputs) if x.requires_grad else x for x in tensors))

    assert torch.autograd.gradcheck(of, gradients_of(tensors))
    assert torch.autograd.gradgradcheck(of, gradients_of(tensors))


def test_second_derivatives_of_scaled_rows():
    gradient = make(2, 4, 2)

    def of(gradient):
        return torch.ops.warpfold.embedding_backward(gradient, PLACES, 3, 2, True)

    assert torch.autograd.gradcheck(of, [gradient])


@pytest.mark.parametrize("call", CALLS)
def test_every_function_compiles_in_one_graph(call):
    torch._dynamo.reset()
    ours, _, tensors = CALLS[call]
    tensors = tensors(torch.float32)
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager")
    found = []
    for f in (compiled, ours):
        y = f(*tensors)
        found.append([bits(y.detach()), *map(bits, torch.autograd.grad(y.square().sum(), gradients_of(tensors)))])
    assert found[0] == found[1]


OPERATORS = {
    "rms_norm_residual": lambda: (make(3, 5), make(3, 5, seed=1), make(5), None, 1, 1e-5, 1.0),
    "layer_norm_residual": lambda: (make(3, 5), make(3, 5, seed=1), make(5), make(5), 1, 1e-5, 0.0),
    "group_norm": lambda: (make(3, 4, 5), make(4), make(4), 2, 1e-5),
    "group_norm_backward": lambda: (make(3, 4, 5, seed=1), make(3, 4, 5), make(4), None, None, 2, 1e-5, True),
    "batch_norm": lambda: (make(3, 4, 5), make(4), make(4), None, None, 1e-5),
    "batch_norm_backward": lambda: (
        make(3, 4, 5, seed=1), make(3, 4, 5), make(4), None, None, None, None, None, 1e-5, False,
    ),
    "cross_entropy_of_distributions": lambda: (make(2, 5, 4), make(2, 5, 4, seed=1), None, 1, 0.1, "mean"),
    "cross_entropy_of_distributions_backward": lambda: (
        make(2, 4), make(2, 5, 4), make(2, 5, 4, seed=1), None, 1, 0.0, "none",
    ),
    "index_add": lambda: (make(2, 3), 1, INDEX, make(2, 4, seed=1), 0.5),
    "scatter_add": lambda: (make(2, 3), -1, PLACES, make(2, 4, seed=1)),
    "embedding": lambda: (make(3, 2), PLACES, 1, False),
    "embedding_backward": lambda: (make(2, 4, 2), PLACES, 3, 1, True),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_pass_opcheck(name):
    torch.library.opcheck(getattr(torch.ops.warpfold, name).default, OPERATORS[name]())


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("shape", [(6, 4), (6, 4, 3), (2, 4, 3, 5), (2, 4, 3, 2, 2)])
def test_batch_norms_move_their_statistics_as_those_of_torch(shape, momentum):
    kind = f"BatchNorm{max(len(shape) - 2, 1)}d"
    theirs, ours = (getattr(nn, kind)(4, momentum=momentum) for nn in (torch.nn, wf.torch))
    theirs.weight.data = make(4, dtype=torch.float32, grad=False)
    ours.load_state_dict(theirs.state_dict())
    assert list(ours.state_dict()) == list(theirs.state_dict()) and isinstance(ours, getattr(torch.nn, kind))
    for seed in range(3):
        x = make(*shape, dtype=torch.float32, seed=seed, grad=False)
        torch.testing.assert_close(ours(x), theirs(x))
        for name, of in theirs.state_dict().items():
            torch.testing.assert_close(ours.state_dict()[name], of)
    ours.eval(), theirs.eval()
    torch.testing.assert_close(ours(x), theirs(x))
    ours, theirs = (getattr(nn, kind)(4, track_running_stats=False).eval() for nn in (wf.torch, torch.nn))
    torch.testing.assert_close(ours(x), theirs(x))
    with pytest.raises(ValueError, match="expected"):
        ours(x[0, 0])


class Net(torch.nn.Module):
    def __init__(self, nn):
        super().__init__()
        self.first, self.batch = torch.nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4)
        self.second, self.group = torch.nn.Conv2d(4, 4, 1), nn.GroupNorm(2, 4)

    def forward(self, x):
        return self.group(self.second(self.batch(self.first(x)))).square().mean()


def test_a_net_trains_as_that_of_torch():
    torch.manual_seed(0)
    theirs, ours = Net(torch.nn), Net(wf.torch)
    ours.load_state_dict(theirs.state_dict())
    x = make(3, 2, 6, 7, dtype=torch.float32, grad=False)
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager")
    for model in (theirs, compiled):
        model(x).backward()
    for (name, one), other in zip(theirs.named_parameters(), ours.parameters()):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-5), name
    torch.testing.assert_close(ours.batch.running_var, theirs.batch.running_var)
    model = wf.torch.RMSNorm(7, weight_offset=1.0)
    y, total = model(x, x)
    want = wf.rms_norm(2 * x, 2 * torch.ones(7), epsilon=2**-23)
    assert bits(total.detach()) == bits(2 * x) and bits(y.detach()) == bits(want)


def test_what_is_refused():
    x = torch.ones(2, 4)
    for kind, said, call in (
        (ValueError, "axes", lambda: wf.torch.group_norm(x[0], 2)),
        (ValueError, "divide", lambda: wf.torch.group_norm(x, 3)),
        (ValueError, "divide", lambda: wf.torch.group_norm(x, 0)),
        (ValueError, "weights", lambda: wf.torch.group_norm(x, 2, torch.ones(2))),
        (ValueError, "axes", lambda: wf.torch.batch_norm(x[0], None, None, training=True)),
        (ValueError, "more than 1 value", lambda: wf.torch.batch_norm(x[:1], None, None, training=True)),
        (ValueError, "running_mean", lambda: wf.torch.batch_norm(x, None, None)),
        (ValueError, "residual", lambda: wf.torch.rms_norm(x, [4], residual=x[0])),
        (ValueError, "ignore_index", lambda: wf.torch.cross_entropy(x, x, ignore_index=1)),
        (TypeError, "integers", lambda: wf.torch.index_add(x, 0, x[0], x)),
        (TypeError, "floats", lambda: wf.torch.scatter_add(x.long(), 0, PLACES, x.long())),
        (ValueError, "places", lambda: wf.torch.index_add(x, 0, INDEX, torch.ones(4, 4))),
        (ValueError, "max_norm", lambda: wf.torch.embedding(PLACES, x, max_norm=1.0)),
        (ValueError, "padding_idx", lambda: wf.torch.embedding(PLACES, x, padding_idx=2)),
    ):
        with pytest.raises(kind, match=said):
            call()
    with pytest.raises(IndexError):
        wf.torch.embedding(torch.tensor([5]), x)


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="needs torch.library.get_kernel")
@pytest.mark.parametrize("training", [True, False])
def test_norms_of_channels_in_the_invariant_mode(training):
    x, weight, bias = (make(*shape, dtype=torch.float32, seed=len(shape)) for shape in ((5, 6, 7), (6,), (6,)))
    mean, var = statistics(6, torch.float32)

    def both(mean, var):
        batch = F.batch_norm(x, mean, var, weight, bias, training)
        group = F.group_norm(x, 2, weight, bias)
        plain = F.group_norm(x, 3) + F.batch_norm(x, mean, var, None, None, training)
        gradients = torch.autograd.grad((batch * group + plain).square().sum(), (x, weight, bias))
        return [batch, group, *gradients, mean, var]

    want = both(mean.clone(), var.clone())
    with wf.torch.batch_invariant() as report:
        found = both(mean.clone(), var.clone())
    for name in ("batch", "group"):
        assert report.replaced[f"native_{name}_norm"] == 2 and report.replaced[f"native_{name}_norm_backward"] == 2
    assert not report.not_ours and not report.kept
    for one, other in zip(found, want):
        torch.testing.assert_close(one, other, rtol=2e-4, atol=2e-4)
    plain = x.detach(), 2, weight.detach(), bias.detach()
    assert bits(found[1].detach()) == bits(wf.group_norm(*plain))
