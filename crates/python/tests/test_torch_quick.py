"""The short way of `wf.torch`, which plain tensors take, and that of all others, through PyTorch's dispatcher."""

import pytest
from conftest import bits

import warpfold as wf

torch = pytest.importorskip("torch")
random = torch.Generator().manual_seed(0)
X, Y = (torch.randn(4, 6, generator=random) for _ in range(2))
CLASSES = torch.tensor([0, 5, -100, 2])


@pytest.fixture
def dispatched(monkeypatch):
    """The names of operators that have been called."""
    calls = []
    called = torch._library.custom_ops.CustomOpDef.__call__

    def noting(op, *arguments, **named):
        calls.append(op._name.removeprefix("warpfold::"))
        return called(op, *arguments, **named)

    monkeypatch.setattr(torch._library.custom_ops.CustomOpDef, "__call__", noting)
    return calls


class Named(torch.Tensor):
    pass


class Seen(torch.utils._python_dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.names.append(str(function))
        return function(*arguments, **(named or {}))


def test_plain_tensors_are_not_dispatched(dispatched):
    x = X.clone().requires_grad_()
    wf.torch.softmax(x, 1).sum().backward()
    wf.torch.softmax(torch.nn.Parameter(X), 1)
    with torch.no_grad():
        wf.torch.rms_norm(x, [6], torch.nn.Parameter(Y[0]))
    with torch.inference_mode():
        wf.torch.cross_entropy(X.clone(), CLASSES)
    assert not dispatched


def test_what_is_seen_or_transformed_is_dispatched(dispatched):
    want = bits(wf.torch.softmax(X, 1))
    of_class = X.as_subclass(Named)
    assert bits(wf.torch.softmax(of_class, 1)) == want and dispatched == ["softmax"]
    with Seen() as seen:
        assert bits(wf.torch.softmax(X, 1)) == want
    assert "warpfold.softmax.default" in seen.names
    with torch._subclasses.fake_tensor.FakeTensorMode() as mode:
        fake = wf.torch.softmax(mode.from_tensor(X), 1)
    assert type(fake) is not torch.Tensor and fake.shape == X.shape
    assert bits(torch.vmap(lambda x: wf.torch.softmax(x, 0))(X)) == want
    assert dispatched == ["softmax"] * 3


def test_a_tensor_that_a_transform_has_left_behind():
    left = []
    torch.func.grad(lambda x: (left.append(x), x.sum())[1])(X)
    assert torch.equal(wf.torch.softmax(left[0], 1), wf.torch.softmax(X, 1))


def test_tensors_without_memory():
    zeros, want = torch._efficientzerotensor((4, 6)), bits(wf.torch.softmax(torch.zeros(4, 6), 1))
    assert bits(wf.torch.softmax(zeros, 1)) == want
    x = X.clone().requires_grad_()
    assert not torch.autograd.grad(wf.torch.softmax(x, 1), x, zeros)[0].any()
    with pytest.raises(TypeError, match="memory"):
        wf.sum(zeros)


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "cross_entropy"])
def test_gradients_of_a_batch_of_gradients(name):
    call = {
        "softmax": lambda x: wf.torch.softmax(x, 1),
        "layer_norm": lambda x: wf.torch.layer_norm(x, [6], Y[0]),
        "cross_entropy": lambda x: wf.torch.cross_entropy(x, CLASSES, reduction="none"),
    }[name]
    x = X.clone().requires_grad_()
    y = call(x)
    several = torch.randn(3, *y.shape, generator=random)
    (found,) = torch.autograd.grad(y, x, several, is_grads_batched=True, retain_graph=True)
    for of, gradient in zip(found, several):
        assert bits(of) == bits(torch.autograd.grad(y, x, gradient, retain_graph=True)[0])


def test_signs_that_are_to_be_changed():
    x = torch.view_as_complex(torch.stack([X, Y], -1)).conj().imag
    assert x.is_neg()
    assert torch.equal(wf.torch.softmax(x, 1), wf.torch.softmax(-Y, 1))
    x = x.detach().requires_grad_()
    want = Y.neg().requires_grad_()
    wf.torch.softmax(x, 1)[:, 0].sum().backward()
    wf.torch.softmax(want, 1)[:, 0].sum().backward()
    assert torch.equal(x.grad, want.grad)


WRONG = {
    "weights of another shape": lambda: wf.torch.rms_norm(X, [6], Y),
    "targets of another shape": lambda: wf.torch.cross_entropy(X, CLASSES[:3]),
    "a class that is none": lambda: wf.torch.cross_entropy(X, CLASSES + 3),
    "an axis that is not there": lambda: wf.torch.softmax(X, 2),
    "no number of an axis": lambda: wf.torch.softmax(X, "1"),
    "integers": lambda: wf.torch.log_softmax(CLASSES, 0),
    "weights of integers": lambda: wf.torch.layer_norm(X, [6], CLASSES),
    "a smoothing beyond 1": lambda: wf.torch.cross_entropy(X, CLASSES, label_smoothing=2.0),
    "windows that are too large": lambda: wf.torch.max_pool1d(X, 7),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_are_those_of_operators(case, monkeypatch):
    from warpfold.torch import _ops

    def error():
        with pytest.raises(Exception) as found:
            WRONG[case]()
        return found.type, str(found.value)

    short = error()
    monkeypatch.setattr(_ops, "_recorded", lambda arguments: None)
    assert error() == short


def test_reductions_take_what_requires_grad_only_where_nothing_is_recorded():
    x = X.clone().requires_grad_()
    with pytest.raises(TypeError, match="detach"):
        wf.sum(x)
    with torch.no_grad():
        for of in (x, torch.randn(300, 300, requires_grad=True)):
            found = wf.sum(of)
            assert torch.equal(found, wf.sum(of.detach())) and not found.requires_grad


def test_checkpoints_compute_again():
    def block(x):
        return wf.torch.softmax(wf.torch.rms_norm(x, [6]), 1)

    found, want = X.clone().requires_grad_(), X.clone().requires_grad_()
    (torch.utils.checkpoint.checkpoint(block, found, use_reentrant=False) * Y).sum().backward()
    (block(want) * Y).sum().backward()
    assert torch.equal(found.grad, want.grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_mean_without_the_rows_that_are_ignored_is_their_sum_over_their_number(dtype):
    """As cross_entropy on a GPU computes it. The losses of rows that are ignored are zero."""
    from warpfold.torch import _composed

    wide = _composed.real(torch.empty(0, dtype=dtype))
    for rows in ((), (0,), (1,), (3, 7), (70_001,)):
        taken = torch.rand(rows, generator=random) < 0.7
        losses = torch.where(taken, torch.rand(rows, generator=random, dtype=wide), 0)
        for some in (taken, torch.ones_like(taken), torch.zeros_like(taken)):
            of = torch.where(some, losses, 0)
            found = _composed._mean(of, some, None, dtype)
            want = _composed._mean(of, some, _composed._count(some, wide), dtype)
            assert found.dtype == dtype and bits(found.double()) == bits(want.double())
