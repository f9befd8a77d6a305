"""Norms whose weights or biases are frozen: their gradients are not computed, and the others have the bits they had."""

import itertools

import pytest
from conftest import bits

import warpfold as wf

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def make(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _residual(name):
    def of(x, *factors):
        residual = torch.linspace(-1, 2, x.numel()).view(x.shape).to(x)
        y, sums = getattr(wf.torch, name)(x, [6], *factors, residual=residual)
        return y + sums

    return of


# The function of elements, weights and biases; the shapes of these.
NORMS = {
    "rms_norm": (lambda x, w: wf.torch.rms_norm(x, [6], w, weight_offset=1.0), [(5, 6), (6,)]),
    "rms_norm of two axes": (lambda x, w: wf.torch.rms_norm(x, [4, 6], w), [(3, 4, 6), (4, 6)]),
    "rms_norm of sums": (_residual("rms_norm"), [(5, 6), (6,)]),
    "layer_norm": (lambda x, w, b: wf.torch.layer_norm(x, [6], w, b), [(5, 6), (6,), (6,)]),
    "layer_norm of sums": (_residual("layer_norm"), [(5, 6), (6,), (6,)]),
    "group_norm": (lambda x, w, b: wf.torch.group_norm(x, 2, w, b), [(3, 4, 5), (4,), (4,)]),
    "batch_norm": (
        lambda x, w, b: wf.torch.batch_norm(x, None, None, w, b, training=True), [(3, 4, 5), (4,), (4,)],
    ),
    "batch_norm of statistics": (
        lambda x, w, b: wf.torch.batch_norm(x, torch.arange(4.0).to(x), torch.ones(4).to(x), w, b),
        [(3, 4, 5), (4,), (4,)],
    ),
}
CASES = [
    (name, wanted)
    for name, (_, shapes) in NORMS.items()
    for wanted in itertools.product((False, True), repeat=len(shapes))
    if any(wanted)
]


def tensors(name, dtype, wanted):
    return [make(*shape, dtype=dtype, seed=i).requires_grad_(wanted[i]) for i, shape in enumerate(NORMS[name][1])]


def gradients(name, dtype, wanted, change=lambda f: f):
    """The bits of the gradients that are wanted."""
    given = tensors(name, dtype, wanted)
    y = change(NORMS[name][0])(*given)
    factor = make(*y.shape, dtype=dtype, seed=9)
    found = torch.autograd.grad(y, [x for x in given if x.requires_grad], factor)
    return [bits(x) if x.dtype == torch.float32 else bits(x.float()) for x in found]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name, wanted", CASES)
def test_gradients_that_are_wanted_have_the_same_bits(name, wanted, dtype, monkeypatch):
    from warpfold.torch import _ops

    every = gradients(name, dtype, [True] * len(wanted))
    want = [of for of, is_wanted in zip(every, wanted) if is_wanted]
    assert gradients(name, dtype, wanted) == want
    # The operators themselves.
    monkeypatch.setattr(_ops, "_recorded", lambda arguments: None)
    assert gradients(name, dtype, wanted) == want


@pytest.mark.parametrize("name", NORMS)
def test_compiled_in_one_graph(name):
    count = len(NORMS[name][1])
    every = gradients(name, torch.float32, [True] * count)
    for wanted in ([True] + [False] * (count - 1), [False] * (count - 1) + [True]):
        torch._dynamo.reset()
        compiled = lambda f: torch.compile(f, fullgraph=True, backend="aot_eager")
        found = gradients(name, torch.float32, wanted, compiled)
        assert found == [of for of, is_wanted in zip(every, wanted) if is_wanted]


@pytest.mark.parametrize("name, wanted", CASES)
def test_second_derivatives(name, wanted):
    given = tensors(name, torch.float64, wanted)
    inputs = [x for x in given if x.requires_grad]

    def of(*inputs):
        inputs = iter(inputs)
        return NORMS[name][0](*(next(inputs) if x.requires_grad else x for x in given))

    assert torch.autograd.gradcheck(of, inputs)
    assert torch.autograd.gradgradcheck(of, inputs)


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
def test_what_is_frozen_is_empty(name):
    x, weight, bias, gradient = make(5, 6), make(6, seed=1), make(6, seed=2), make(5, 6, seed=3)
    operator, options = getattr(torch.ops.warpfold, f"{name}_backward"), (None, 1, 1e-5, 0.0)
    of_x, of_weight, of_bias = operator(gradient, x, weight, None, *options, True)
    assert of_x.shape == x.shape and of_weight.numel() == of_bias.numel() == 0
    every = operator(gradient, x, weight, bias, *options, False)
    assert bits(of_x) == bits(every[0]) and every[1].shape == every[2].shape == (6,)


def test_one_of_two_gradients_of_a_cosine():
    x, y = make(3, 4).requires_grad_(), make(3, 4, seed=1).requires_grad_()
    every = torch.autograd.grad(wf.torch.cosine_similarity(x, y).sum(), (x, y))
    (of_x,) = torch.autograd.grad(wf.torch.cosine_similarity(x, y.detach()).sum(), x)
    (of_y,) = torch.autograd.grad(wf.torch.cosine_similarity(x.detach(), y).sum(), y)
    assert [bits(of_x), bits(of_y)] == [bits(of) for of in every]
