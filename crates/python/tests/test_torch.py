"""`warpfold.torch`: functions, modules and operators of PyTorch."""

import doctest
import re
from pathlib import Path

import pytest
from conftest import bits

import warpfold as wf

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
F = torch.nn.functional
HALVES = (torch.float16, torch.bfloat16)


def make(*shape, dtype=torch.float64, seed=0, grad=True):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).to(dtype).requires_grad_(grad)


def positive(*shape, **options):
    return torch.softmax(make(*shape, grad=False, seed=7, **options), -1).requires_grad_()


CLASSES = torch.tensor([[0, 2, -100, 1], [1, 1, 3, 0]])
# The function, the tensors that have a gradient, and the other arguments.
CALLS = {
    "softmax": ("softmax", lambda d: [make(3, 5, dtype=d)], {"dim": 1}),
    "softmax of columns": ("softmax", lambda d: [make(3, 4, 2, dtype=d)], {"dim": -2}),
    "log_softmax": ("log_softmax", lambda d: [make(4, 6, dtype=d)], {"dim": 0}),
    "rms_norm": ("rms_norm", lambda d: [make(3, 2, 5, dtype=d), (2, 5), make(2, 5, dtype=d, seed=1)], {}),
    "rms_norm without weights": ("rms_norm", lambda d: [make(3, 5, dtype=d), (5,)], {"eps": 0.1}),
    "layer_norm": (
        "layer_norm",
        lambda d: [make(3, 2, 5, dtype=d), [5], make(5, dtype=d, seed=1), make(5, dtype=d, seed=2)],
        {},
    ),
    "layer_norm without weights": ("layer_norm", lambda d: [make(3, 5, dtype=d), [3, 5]], {"eps": 0.01}),
    "cross_entropy": ("cross_entropy", lambda d: [make(2, 5, 4, dtype=d), CLASSES], {}),
    "cross_entropy of one row": ("cross_entropy", lambda d: [make(5, dtype=d), torch.tensor(3)], {}),
    "cross_entropy with options": (
        "cross_entropy",
        lambda d: [make(2, 5, 4, dtype=d), CLASSES.clamp(min=0), torch.arange(1, 6).to(d)],
        {"ignore_index": 1, "label_smoothing": 0.1, "reduction": "sum"},
    ),
    "cross_entropy of distributions": (
        "cross_entropy",
        lambda d: [make(2, 5, 4, dtype=d), positive(2, 5, 4, dtype=d), torch.arange(1, 6).to(d)],
        {"label_smoothing": 0.1},
    ),
    "mse_loss": ("mse_loss", lambda d: [make(3, 4, dtype=d), make(3, 4, dtype=d, seed=1)], {}),
    "l1_loss": ("l1_loss", lambda d: [make(3, 4, dtype=d), make(3, 4, dtype=d, seed=1)], {"reduction": "sum"}),
    "huber_loss": ("huber_loss", lambda d: [make(3, 4, dtype=d), make(3, 4, dtype=d, seed=1)], {"delta": 0.7}),
    "smooth_l1_loss": ("smooth_l1_loss", lambda d: [make(9, dtype=d), make(9, dtype=d, seed=1)], {"beta": 2.0}),
    "kl_div": ("kl_div", lambda d: [make(3, 4, dtype=d), positive(3, 4, dtype=d)], {"reduction": "batchmean"}),
    "kl_div of logarithms": (
        "kl_div",
        lambda d: [make(3, 4, dtype=d), make(3, 4, dtype=d, seed=1)],
        {"log_target": True},
    ),
    "binary_cross_entropy_with_logits": (
        "binary_cross_entropy_with_logits",
        lambda d: [make(3, 4, dtype=d), positive(3, 4, dtype=d)],
        {},
    ),
    "binary_cross_entropy_with_logits with weights": (
        "binary_cross_entropy_with_logits",
        lambda d: [make(3, 4, dtype=d), positive(3, 4, dtype=d)],
        {"pos_weight": torch.arange(1.0, 5), "weight": torch.arange(4.0), "reduction": "mean"},
    ),
    "cosine_similarity": ("cosine_similarity", lambda d: [make(3, 4, dtype=d), make(3, 4, dtype=d, seed=1)], {}),
    "cosine_similarity that broadcasts": (
        "cosine_similarity",
        lambda d: [make(3, 4, dtype=d), make(4, dtype=d, seed=1)],
        {"dim": -1},
    ),
}


def gradients_of(tensors):
    return [x for x in tensors if isinstance(x, torch.Tensor) and x.requires_grad]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, *HALVES])
@pytest.mark.parametrize("call", CALLS)
def test_functions_are_those_of_torch(call, dtype):
    name, tensors, options = CALLS[call]
    ours, theirs = [], []
    for x in tensors(dtype):
        real = isinstance(x, torch.Tensor) and x.is_floating_point()
        ours.append(x)
        # The same numbers, in float64.
        theirs.append(x.detach().double().requires_grad_(x.requires_grad) if real else x)
    want = getattr(F, name)(*theirs, **options)
    found = getattr(wf.torch, name)(*ours, **options)
    mixed = any(isinstance(x, torch.Tensor) and x.dtype == torch.float32 for x in options.values())
    assert found.shape == want.shape and (found.dtype == dtype or mixed)
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}[dtype]
    torch.testing.assert_close(found.double(), want, rtol=tolerance, atol=tolerance)
    gradient = torch.linspace(-1, 2, want.numel(), dtype=torch.float64).reshape(want.shape)
    want.backward(gradient)
    found.backward(gradient.to(found.dtype))
    for x, y in zip(gradients_of(theirs), gradients_of(ours)):
        assert y.grad.dtype == y.dtype
        torch.testing.assert_close(y.grad.double(), x.grad, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("call", CALLS)
def test_gradients_and_second_derivatives(call):
    name, tensors, options = CALLS[call]
    tensors = tensors(torch.float64)
    options = {key: x.double() if isinstance(x, torch.Tensor) else x for key, x in options.items()}
    inputs = gradients_of(tensors)

    def of(*inputs):
        inputs = iter(inputs)
        given = (next(inputs) if isinstance(x, torch.Tensor) and x.requires_grad else x for x in tensors)
        return getattr(wf.torch, name)(*given, **options)

    assert torch.autograd.gradcheck(of, inputs)
    assert torch.autograd.gradgradcheck(of, inputs)


@pytest.mark.parametrize("call", CALLS)
def test_what_is_not_traced_has_the_bits_of_the_operators_without_them(call, monkeypatch):
    """PyTorch's way to an operator that is written in Python takes the host longer than the rest of a call."""
    from warpfold.torch import _ops

    name, tensors, options = CALLS[call]
    calls = []
    called = torch._library.custom_ops.CustomOpDef.__call__
    noting = lambda op, *arguments, **named: calls.append(op._name) or called(op, *arguments, **named)
    monkeypatch.setattr(torch._library.custom_ops.CustomOpDef, "__call__", noting)

    def results(grad):
        given = [x if grad or not isinstance(x, torch.Tensor) else x.detach() for x in tensors(torch.float32)]
        found = getattr(wf.torch, name)(*given, **options)
        if not grad:
            return [found]
        of = torch.autograd.grad(found, gradients_of(given), torch.ones_like(found), create_graph=True)
        assert all(x.grad_fn is not None for x in (found, *of))
        return [x.detach() for x in (found, *of)]

    short = results(True), results(False)
    assert not calls
    monkeypatch.setattr(_ops, "_recorded", lambda arguments: None)
    for some, others in zip(short, (results(True), results(False))):
        for x, y in zip(some, others):
            assert bits(x) == bits(y)
    assert calls


def test_what_is_traced_before_dispatch_is_an_operator():
    from torch.fx.experimental.proxy_tensor import make_fx

    traced = make_fx(lambda x: wf.torch.softmax(x, 1), pre_dispatch=True)(torch.ones(2, 3))
    x = make(2, 3, dtype=torch.float32, grad=False)
    assert bits(traced(x)) == bits(wf.torch.softmax(x, 1))


def test_a_row_of_a_table_is_a_copy():
    table = make(4, 3, dtype=torch.float32, grad=False)
    before = table.clone()
    wf.torch.embedding(torch.tensor(1), table).zero_()
    assert torch.equal(table, before)


def test_tangents_are_not_lost():
    """Operators have no rule for dual numbers, and say so."""
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3))
        with pytest.raises(NotImplementedError, match="backward"):
            wf.torch.softmax(x, 0)
        assert wf.torch.softmax(torch.ones(4), 0).tolist() == [0.25] * 4


OPERATORS = {
    "softmax": lambda: (make(3, 5), 1),
    "log_softmax": lambda: (make(3, 5).T, -1),
    "softmax_backward": lambda: (make(3, 5), make(3, 5, seed=1), 0),
    "log_softmax_backward": lambda: (make(3, 5), make(3, 5, seed=1), 0),
    "rms_norm": lambda: (make(3, 5), make(5), None, 1, 1e-5, 1.0),
    "layer_norm": lambda: (make(3, 2, 5), make(2, 5), make(2, 5), 2, 1e-5, 0.0),
    "layer_norm_backward": lambda: (make(3, 5, seed=1), make(3, 5), make(5), None, None, 1, 1e-5, 0.0, False),
    "rms_norm_backward": lambda: (make(3, 5, seed=1), make(3, 5), make(5), None, None, 1, 1e-5, 0.0, True),
    "cross_entropy": lambda: (make(2, 5, 4), CLASSES, None, 1, -100, 0.1, "mean"),
    "cross_entropy_backward": lambda: (make(2, 4), None, make(2, 5, 4), CLASSES, None, 1, -100, 0.0, "none"),
    "loss": lambda: (make(3, 4), make(3, 4, seed=1), "huber", 0.5, "mean"),
    "loss_backward": lambda: (make(3, 4), make(3, 4), make(3, 4, seed=1), "mse", 0.0, "none"),
    "cosine_similarity": lambda: (make(3, 4), make(3, 4, seed=1), -1, 1e-8),
    "cosine_similarity_backward": lambda: (make(3), make(3, 4), make(3, 4, seed=1), -1, 1e-8),
    "sum": lambda: (make(3, 4), -2),
    "product": lambda: (make(3, 4), make(2, 4)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_pass_opcheck(name):
    wf.torch  # registers them
    torch.library.opcheck(getattr(torch.ops.warpfold, name).default, OPERATORS[name]())


class Model(torch.nn.Module):
    """A module with some of each."""

    def __init__(self, nn):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(6, 8), nn.RMSNorm(8)
        self.second, self.layer = torch.nn.Linear(8, 8), nn.LayerNorm(8)
        self.softmax, self.loss = nn.Softmax(-1), nn.CrossEntropyLoss(label_smoothing=0.1)

    def forward(self, x, target):
        x = self.norm(self.first(x))
        x = self.layer(x + self.softmax(self.second(x)))
        return self.loss(x, target)


def test_modules_load_a_state_dict_of_torch():
    torch.manual_seed(0)
    theirs, ours = Model(torch.nn), Model(wf.torch)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    x, target = make(5, 6, dtype=torch.float32, grad=False), torch.tensor([0, 1, 2, 3, 7])
    losses = [model(x, target) for model in (theirs, ours)]
    torch.testing.assert_close(*losses)
    for loss in losses:
        loss.backward()
    for one, other in zip(theirs.parameters(), ours.parameters()):
        torch.testing.assert_close(one.grad, other.grad)
    assert isinstance(ours.norm, torch.nn.RMSNorm) and "eps" in repr(ours.layer)
    logs = wf.torch.LogSoftmax(1)(x)
    assert bits(logs) == bits(wf.torch.log_softmax(x, 1))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_models_have_the_same_bits(dynamic):
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = Model(wf.torch)
    compiled = torch.compile(model, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for rows in (5, 3, 9):
        x, target = make(rows, 6, dtype=torch.float32), torch.arange(rows) % 8
        found = []
        for f in (model, compiled):
            model.zero_grad()
            x.grad = None
            loss = f(x, target)
            loss.backward()
            found.append([bits(loss.detach()), bits(x.grad), *(bits(p.grad) for p in model.parameters())])
        assert found[0] == found[1]


def test_every_function_compiles_in_one_graph():
    for name, tensors, options in CALLS.values():
        torch._dynamo.reset()
        f = getattr(wf.torch, name)
        tensors = tensors(torch.float32)
        compiled = torch.compile(lambda *x: f(*x, **options), fullgraph=True, backend="aot_eager")
        assert bits(compiled(*tensors).detach()) == bits(f(*tensors, **options).detach())


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_functions_are_mapped_over_an_axis(name):
    f, x = getattr(wf.torch, name), make(4, 3, 5)
    assert bits(torch.vmap(lambda x: f(x, 0), in_dims=1)(x).detach()) == bits(f(x.movedim(1, 0), 1).detach())
    backward, y = getattr(torch.ops.warpfold, f"{name}_backward"), f(x, 2)
    gradient = make(3, 5, seed=1)
    found = torch.vmap(lambda g, y: backward(g, y, -1), in_dims=(None, 0))(gradient, y)
    assert bits(found.detach()) == bits(backward(gradient.expand(4, 3, 5), y, 2).detach())


def test_a_row_does_not_depend_on_its_batch():
    x, weight = make(64, 48, dtype=torch.float32, grad=False), torch.ones(48)
    target = torch.arange(64) % 48
    for f in (
        lambda x, t: wf.torch.softmax(x, 1),
        lambda x, t: wf.torch.rms_norm(x, [48], weight),
        lambda x, t: wf.torch.layer_norm(x, [48]),
        lambda x, t: wf.torch.cross_entropy(x, t, reduction="none"),
    ):
        whole = f(x, target)
        for at in (0, 17, 63):
            assert bits(f(x[at : at + 1], target[at : at + 1])) == bits(whole[at : at + 1])


def test_products_are_trees():
    x, linear = make(5, 7, dtype=torch.float32), wf.torch.TreeLinear(7, 3)
    y = linear(x)
    torch.testing.assert_close(y, F.linear(x, linear.weight, linear.bias))
    gradient = torch.linspace(-1, 2, 15).reshape(5, 3)
    y.backward(gradient)
    plain, weight = x.detach(), linear.weight.detach()
    for i in range(5):
        for j in range(3):
            assert bits(y[i, j].detach()) == bits(wf.sum(plain[i] * weight[j]) + linear.bias[j].detach())
    assert bits(linear.bias.grad) == bits(wf.sum(gradient, axis=0))
    assert bits(linear.weight.grad[1]) == bits(wf.sum(gradient[:, 1:2] * plain, axis=0))
    assert linear(make(2, 3, 7, dtype=torch.float32)).shape == (2, 3, 3)


def test_autocast_keeps_the_dtype_of_what_it_is_given():
    model, x = Model(wf.torch), make(5, 6, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(x, torch.arange(5))
    loss.backward()
    assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in model.parameters())


def test_numbers_and_empty_tensors():
    assert wf.torch.softmax(torch.tensor(3.0), 0).item() == 1
    assert wf.torch.softmax(torch.zeros(0, 3), 1).shape == (0, 3)
    assert wf.torch.softmax(torch.zeros(2, 3), dim=1, dtype=torch.float64).dtype == torch.float64
    assert wf.torch.mse_loss(torch.ones(2), torch.tensor([1, 3])).item() == 2
    assert wf.torch.huber_loss(torch.ones(()), torch.zeros(())).item() == 0.5
    assert wf.torch.l1_loss(torch.ones(2), torch.zeros(2), size_average=False).item() == 2
    assert wf.torch.mse_loss(torch.ones(2), torch.zeros(2), weight=torch.tensor([1.0, 3.0])).item() == 1
    assert wf.torch.cosine_similarity(torch.ones(2), torch.ones(2), 0).shape == ()


def meta(**options):
    return torch.empty(2, 3, device="meta", **options)


def test_shapes_of_meta_tensors():
    assert wf.torch.softmax(meta(), 1).is_meta and wf.torch.rms_norm(meta(), [3]).shape == (2, 3)


def test_what_is_refused():
    x = torch.ones(2, 3)
    for kind, said, call in (
        (TypeError, "tensors", lambda: wf.torch.softmax([1.0], 0)),
        (TypeError, "floats", lambda: wf.torch.softmax(torch.ones(2, dtype=torch.int64), 0)),
        (TypeError, "floats", lambda: wf.torch.mse_loss(x.to(torch.complex64), x)),
        (TypeError, "tensors", lambda: wf.torch.mse_loss(x, 1.0)),
        (IndexError, "dim 2", lambda: wf.torch.softmax(x, 2)),
        (ValueError, "normalized_shape", lambda: wf.torch.layer_norm(x, [2])),
        (ValueError, "normalized_shape", lambda: wf.torch.rms_norm(x, [])),
        (ValueError, "weights", lambda: wf.torch.rms_norm(x, [3], torch.ones(2))),
        (ValueError, "shape", lambda: wf.torch.cross_entropy(x, x[0])),
        (ValueError, "smoothing", lambda: wf.torch.cross_entropy(x, x, label_smoothing=2.0)),
        (ValueError, "class", lambda: wf.torch.cross_entropy(x, torch.tensor([0, 3]))),
        (ValueError, "classes", lambda: wf.torch.cross_entropy(torch.tensor(1.0), torch.tensor(0))),
        (ValueError, "reduction", lambda: wf.torch.mse_loss(x, x, reduction="average")),
        (ValueError, "beta", lambda: wf.torch.smooth_l1_loss(x, x, beta=-1.0)),
        (ValueError, "shape", lambda: wf.torch.binary_cross_entropy_with_logits(x, x[0])),
        (TypeError, "a tuple", lambda: wf.torch.layer_norm(x, 3)),
        (TypeError, "one device", lambda: wf.torch.layer_norm(x, [3], meta()[0])),
        (TypeError, "one device", lambda: wf.torch.cross_entropy(x, meta()[:, 0].long())),
        (TypeError, "float8 ", lambda: wf.torch.softmax(x.to(torch.float8_e5m2), 1)),
        (NotImplementedError, "weights", lambda: wf.torch.cross_entropy(x, CLASSES[0, :2], make(3))),
    ):
        with pytest.raises(kind, match=said):
            call()


def test_tensors_on_devices():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(2, 3, device="cuda")
        with pytest.raises(TypeError, match="not computed yet.*cpu"):
            wf.torch.softmax(torch.empty(2, 3, device="mps"), 1)
        for found in (
            wf.torch.softmax(x, 1),
            wf.torch.rms_norm(x, [3]),
            wf.torch.cross_entropy(x, torch.zeros(2, dtype=torch.int64, device="cuda")),
            wf.torch.mse_loss(x, x),
            wf.torch.kl_div(x, x),
            wf.torch.binary_cross_entropy_with_logits(x, x),
            wf.torch.cross_entropy(x, x),
            wf.torch.group_norm(x, 1),
            wf.torch.topk(x, 1)[0],
        ):
            assert found.device.type == "cuda"


@pytest.mark.parametrize("name", wf.torch.__all__)
def test_examples(name):
    of = getattr(wf.torch, name)
    assert of.__doc__ and (isinstance(of, type) or ">>>" in of.__doc__)
    test = doctest.DocTestParser().get_doctest(of.__doc__, {}, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0


def test_module_docs():
    assert doctest.testmod(wf.torch).failed == 0


def test_stubs_have_every_name():
    stubs = (Path(wf.torch.__file__).parent / "__init__.pyi").read_text()
    for name in wf.torch.__all__:
        assert re.search(rf"^(def|class) {name}\b", stubs, re.M), name
