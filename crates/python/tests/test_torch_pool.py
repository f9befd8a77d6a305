"""Pooling and `topk` of `warpfold.torch`, beside PyTorch's own."""

import pytest
from conftest import bits
from test_torch import HALVES, make

import warpfold as wf

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
F = torch.nn.functional

# The function, the shape of its input, and the other arguments.
CALLS = {
    "max_pool1d": ((2, 3, 11), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "max_pool1d of one": ((3, 8), {"kernel_size": 2}),
    "max_pool1d with dilation": ((2, 3, 23), {"kernel_size": 4, "stride": 3, "padding": 2, "dilation": 2}),
    "max_pool2d": ((2, 3, 9, 10), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "max_pool2d of one": ((3, 9, 10), {"kernel_size": (2, 3)}),
    "max_pool2d ceil": ((2, 3, 9, 10), {"kernel_size": 2, "stride": 3, "ceil_mode": True}),
    "max_pool2d with dilation": (
        (2, 2, 13, 12),
        {"kernel_size": (2, 3), "stride": (1, 2), "padding": 1, "dilation": (3, 2)},
    ),
    "max_pool3d": ((2, 2, 5, 6, 7), {"kernel_size": (2, 3, 3), "stride": (1, 2, 2), "padding": (1, 0, 1)}),
    "max_pool3d ceil": ((1, 2, 5, 6, 7), {"kernel_size": 3, "stride": 2, "ceil_mode": True}),
    "avg_pool1d": ((2, 3, 11), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "avg_pool1d without padding's count": (
        (2, 3, 11),
        {"kernel_size": [3], "stride": [2], "padding": [1], "count_include_pad": False, "ceil_mode": True},
    ),
    "avg_pool2d": ((2, 3, 9, 10), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "avg_pool2d ceil": ((2, 3, 8, 10), {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    "avg_pool2d ceil without padding's count": (
        (2, 3, 8, 10),
        {"kernel_size": (3, 4), "stride": 3, "padding": (1, 2), "ceil_mode": True, "count_include_pad": False},
    ),
    "avg_pool2d with a divisor": ((2, 3, 8, 10), {"kernel_size": 3, "divisor_override": -2}),
    "avg_pool2d with gaps": ((2, 3, 8, 10), {"kernel_size": 2, "stride": 4}),
    "avg_pool3d": ((2, 2, 5, 6, 7), {"kernel_size": (2, 3, 3), "stride": (1, 2, 2), "padding": (1, 0, 1)}),
    "topk": ((4, 9), {"k": 3}),
    "topk of columns": ((9, 4), {"k": 9, "dim": 0, "largest": False}),
    "topk of nothing": ((4, 9), {"k": 0}),
}


def called(library, call, x):
    """The results: a tuple of tensors."""
    name = call.split()[0]
    of = library if library is wf.torch or name != "topk" else torch
    options = dict(CALLS[call][1])
    if name.startswith("max"):
        options["return_indices"] = True
    found = getattr(of, name)(x, **options)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("layout", ["dense", "channels last", "steps"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, *HALVES])
@pytest.mark.parametrize("call", CALLS)
def test_functions_are_those_of_torch(call, dtype, layout):
    x = make(*CALLS[call][0], dtype=dtype, grad=False)
    if layout == "channels last":
        x = x.movedim(-1, 0).contiguous().movedim(0, -1)
    elif layout == "steps":
        x = torch.stack([x, x], -1)[..., 0].flip(0)
    ours, theirs = x.clone().requires_grad_(), x.double().requires_grad_()
    found, want = called(wf.torch, call, ours), called(F, call, theirs)
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}[dtype]
    assert found[0].dtype == dtype and found[0].shape == want[0].shape
    torch.testing.assert_close(found[0].double(), want[0], rtol=tolerance, atol=tolerance)
    if len(found) == 2:
        assert not found[1].requires_grad and found[1].dtype == torch.int64
        # Two elements may be equal.
        if call.startswith("max"):
            assert torch.equal(found[1], want[1])
    gradient = torch.linspace(-1, 2, want[0].numel(), dtype=torch.float64).reshape(want[0].shape)
    want[0].backward(gradient)
    found[0].backward(gradient.to(dtype))
    if not call.startswith("topk") or dtype == torch.float64:
        torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("call", CALLS)
def test_gradients_and_second_derivatives(call):
    # Far apart, so that no small change makes another element the greatest.
    shape = CALLS[call][0]
    count = torch.Size(shape).numel()
    order = torch.randperm(count, generator=torch.Generator().manual_seed(1))
    x = (order.double() / 7).view(shape).requires_grad_()
    if count == 0 or CALLS[call][1].get("k") == 0:
        return

    def of(x):
        return called(wf.torch, call, x)[0]

    assert torch.autograd.gradcheck(of, x)
    assert torch.autograd.gradgradcheck(of, x)


OPERATORS = {
    "max_pool": lambda: (make(2, 5, 6), [2, 3], [2, 2], [1, 1], [1, 1], True),
    "max_pool_values": lambda: (make(2, 5, 6, grad=False), [2, 3], [2, 2], [1, 1], [1, 1], False),
    "max_pool_backward": lambda: (make(2, 3), torch.tensor([[0, 3, -1], [1, 3, 4]]), [6], [2], [2], [0], [1], False),
    "avg_pool": lambda: (make(2, 5, 6), [2, 3], [2, 2], [1, 1], True, False, None),
    "avg_pool_backward": lambda: (make(2, 3), [6], [2], [2], [0], False, True, 5),
    "topk": lambda: (make(2, 5), 3, -1, False),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_pass_opcheck(name):
    wf.torch  # registers them
    torch.library.opcheck(getattr(torch.ops.warpfold, name).default, OPERATORS[name]())


def test_every_function_compiles_in_one_graph():
    for call, (shape, _) in CALLS.items():
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: called(wf.torch, call, x), fullgraph=True, backend="aot_eager")
        found = []
        for f in (lambda x: called(wf.torch, call, x), compiled):
            x = make(*shape, dtype=torch.float32)
            y = f(x)
            y[0].sum().backward()
            found.append([*(bits(result.detach()) for result in y), bits(x.grad)])
        assert found[0] == found[1], call


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_compiled_network_has_the_same_bits(dynamic):
    torch._dynamo.reset()

    def network(x):
        x = wf.torch.avg_pool2d(wf.torch.max_pool2d(x, 3, 2, 1), 2, ceil_mode=True)
        return wf.torch.topk(x.flatten(1), 2).values.sum()

    compiled = torch.compile(network, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for rows in (4, 9, 12):
        found = []
        for f in (network, compiled):
            x = make(2, 3, rows, 10, dtype=torch.float32)
            y = f(x)
            y.backward()
            found.append([bits(y.detach()), bits(x.grad)])
        assert found[0] == found[1]


def test_functions_are_mapped_over_an_axis():
    x = make(2, 4, 3, 6)
    for call in ("max_pool2d", "avg_pool2d", "topk"):
        options = {"k": 2} if call == "topk" else {"kernel_size": 2}
        f = getattr(wf.torch, call)

        def of(x, f=f, options=options):
            found = f(x, **options)
            return found[0] if isinstance(found, tuple) else found

        assert bits(torch.vmap(of, in_dims=1)(x).detach()) == bits(of(x.movedim(1, 0)).detach())


def test_nothing_of_a_batch_and_channels_that_are_one():
    x = torch.zeros(0, 3, 8, 8)
    assert wf.torch.max_pool2d(x, 2).shape == (0, 3, 4, 4) and wf.torch.avg_pool2d(x, 2).shape == (0, 3, 4, 4)
    assert wf.torch.topk(torch.tensor(3.0), 1).values.shape == ()
    assert wf.torch.topk(torch.tensor([True, False, True]), 2).indices.tolist() == [0, 2]


def test_ties_and_nan():
    x = torch.tensor([[1.0, 2.0, 2.0, float("nan"), -0.0, 0.0]])
    assert wf.torch.topk(x, 6).indices.tolist() == [[3, 1, 2, 0, 4, 5]]
    assert wf.torch.topk(x, 6, largest=False).indices.tolist() == [[4, 5, 0, 1, 2, 3]]
    values, indices = wf.torch.max_pool1d(x, 3, 1, return_indices=True)
    want, places = F.max_pool1d(x, 3, 1, return_indices=True)
    torch.testing.assert_close(values, want, equal_nan=True)
    assert torch.equal(indices, places)


def test_what_is_refused():
    x = torch.ones(2, 3, 4)
    for kind, said, call in (
        (TypeError, "tensors", lambda: wf.torch.max_pool1d([1.0], 1)),
        (TypeError, "floats", lambda: wf.torch.avg_pool1d(x.long(), 1)),
        (TypeError, "tensors", lambda: wf.torch.topk([1.0], 1)),
        (ValueError, "axes", lambda: wf.torch.max_pool1d(x[0, 0], 1)),
        (ValueError, "axes", lambda: wf.torch.avg_pool3d(x, 1)),
        (ValueError, "kernel_size must", lambda: wf.torch.max_pool2d(x, (1, 1, 1))),
        (ValueError, "half", lambda: wf.torch.max_pool2d(x, 2, padding=2)),
        (ValueError, "stride is 0", lambda: wf.torch.avg_pool2d(x, 2, 0)),
        (ValueError, "no window", lambda: wf.torch.avg_pool2d(x, 5)),
        (ValueError, "k 5", lambda: wf.torch.topk(x, 5)),
        (IndexError, "dim 3", lambda: wf.torch.topk(x, 1, 3)),
    ):
        with pytest.raises(kind, match=said):
            call()
