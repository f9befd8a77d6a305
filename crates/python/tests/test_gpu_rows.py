"""Operations on rows of arrays on a GPU. Without one: that they are recognised, and what is said. With PyTorch and a
GPU: the bits of the CPU, and the batch-invariant mode there."""

import numpy as np
import pytest
from conftest import bits
from test_gpu import HAS_GPU, Interface, torch_with_gpu

import warpfold as wf


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU, and the address is not of its memory")
def test_without_a_driver():
    x, row = Interface(), Interface(shape=(3,))
    for call in (
        lambda: wf.softmax(x),
        lambda: wf.log_softmax(x, where=Interface(typestr="|b1"), scale=2.0),
        lambda: wf.softmax_backward(x, x),
        lambda: wf.rms_norm(x, row, row),
        lambda: wf.layer_norm(x, axis=None),
        lambda: wf.rms_norm_backward(x, x),
        lambda: wf.mse(x, x),
        lambda: wf.bce_with_logits_backward(x, x, axis=1, reduction="sum"),
        lambda: wf.dot(x, x, axis=0),
        lambda: wf.cosine_similarity(x, x),
    ):
        with pytest.raises(wf.Error, match="driver|GPU"):
            call()


def test_what_is_refused():
    x, host = Interface(), np.ones((2, 3), "f4")
    for call in (
        lambda: wf.softmax(x, where=host > 0),
        lambda: wf.softmax(host, where=Interface(typestr="|b1")),
        lambda: wf.softmax_backward(x, host),
        lambda: wf.softmax_backward(host, x),
        lambda: wf.rms_norm(x, host[0]),
        lambda: wf.layer_norm(host, None, x),
        lambda: wf.rms_norm_backward(x, host),
        lambda: wf.cross_entropy(x, Interface(shape=(2,), typestr="<i8")),
        lambda: wf.mse(x, host),
        lambda: wf.kl_div_backward(x, x, host),
        lambda: wf.dot(host, x),
        lambda: wf.cosine_similarity_backward(x, x),
        lambda: wf.group_norm(x, 1, host[0]),
        lambda: wf.batch_norm(x, host[0]),
        lambda: wf.batch_norm_backward(x, host),
    ):
        with pytest.raises(TypeError, match="GPU"):
            call()


def equal(found, expected):
    """The bits of the CPU's tensor, and whatever else a tensor of the GPU must be."""
    wide = expected.dtype if expected.element_size() > 2 else None
    found, expected = (x.detach().cpu().to(wide or found.float().dtype) for x in (found, expected))
    assert bits(found) == bits(expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_torch_has_the_bits_of_the_cpu(dtype):
    torch = torch_with_gpu()
    for seed in range(40):
        of = torch.Generator().manual_seed(seed)
        n = [1, 3, 64, 100, 1000, 4096, 9000, 50257][seed % 8]
        x = torch.randn(1 + seed % 5, n, generator=of).to(getattr(torch, dtype))
        gradient, weight, bias = (torch.randn(k, generator=of).to(x.dtype) for k in (x.shape, (n,), (n,)))
        mask = torch.rand(x.shape, generator=of) < 0.8
        if seed % 3 == 0:
            x = x.t().contiguous().t()
        there = [a.cuda() for a in (x, gradient, weight, bias, mask)]
        for call in (
            lambda x, g, w, b, m: wf.softmax(x),
            lambda x, g, w, b, m: wf.softmax(x, 0, where=m, scale=0.5),
            lambda x, g, w, b, m: wf.log_softmax(x),
            lambda x, g, w, b, m: wf.softmax_backward(x, g, scale=2.0),
            lambda x, g, w, b, m: wf.log_softmax_backward(x, g),
            lambda x, g, w, b, m: wf.rms_norm(x, w, epsilon=1e-6, weight_offset=1.0),
            lambda x, g, w, b, m: wf.layer_norm(x, w, b),
            lambda x, g, w, b, m: wf.layer_norm(x, axis=None),
        ):
            found = call(*there)
            assert found.is_cuda and found.is_contiguous() and found.dtype == x.dtype
            equal(found, call(x, gradient, weight, bias, mask))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_gradients_of_norms_have_the_bits_of_the_cpu(dtype):
    torch = torch_with_gpu()
    for seed in range(40):
        of = torch.Generator().manual_seed(seed)
        rows, n = [1, 5, 300, 1000][seed % 4], [1, 3, 64, 100, 1000, 4096, 9000][seed % 7]
        x, gradient, weight, bias = (torch.randn(k, generator=of) for k in ((rows, n), (rows, n), n, n))
        x, gradient, weight = (a.to(getattr(torch, dtype)) for a in (x, gradient, weight))
        if seed % 3 == 0:
            gradient = gradient.t().contiguous().t()
        given = [x, gradient, weight if seed % 5 else None, bias if seed % 2 else None]
        there = [a if a is None else a.cuda() for a in given]
        for backward in (wf.rms_norm_backward, wf.layer_norm_backward):
            for found, expected in zip(backward(*there, weight_offset=1.0), backward(*given, weight_offset=1.0)):
                assert (found is None) == (expected is None)
                if found is not None:
                    assert found.is_cuda and found.dtype == expected.dtype
                    equal(found, expected)


def test_a_class_that_is_none_has_the_loss_nan():
    torch = torch_with_gpu()
    x = torch.zeros(3, 4, device="cuda", requires_grad=True)
    losses = wf.torch.cross_entropy(x, torch.tensor([1, 4, -3], device="cuda"), reduction="none")
    losses.sum().backward()
    assert losses.isnan().tolist() == [False, True, True]
    assert x.grad.isnan().all(1).tolist() == [False, True, True]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_functions_and_their_gradients(dtype):
    torch = torch_with_gpu()
    of, F = torch.Generator().manual_seed(1), wf.torch
    for n in (5, 64, 1000, 32000):
        x = torch.randn(16, n, generator=of).to(getattr(torch, dtype))
        y, weight, bias = (torch.randn(k, generator=of).to(x.dtype) for k in (x.shape, (n,), (n,)))
        classes = torch.randint(0, n, (16,), generator=of)
        classes[3] = -100
        for call in (
            lambda x, y, w, b, c: F.softmax(x, 1) * y,
            lambda x, y, w, b, c: F.log_softmax(x, 1) * y,
            lambda x, y, w, b, c: F.rms_norm(x, [n], w) * y,
            lambda x, y, w, b, c: F.layer_norm(x, [n], w, b) * y,
            lambda x, y, w, b, c: F.cross_entropy(x, c, label_smoothing=0.1),
            lambda x, y, w, b, c: F.cross_entropy(x, c, w.abs().detach(), reduction="sum"),
            lambda x, y, w, b, c: F.cross_entropy(x, c),
            lambda x, y, w, b, c: F.cross_entropy(x, c, w.abs().detach(), reduction="none"),
            lambda x, y, w, b, c: F.mse_loss(x, y),
            lambda x, y, w, b, c: F.huber_loss(x, y, delta=0.5, reduction="sum"),
            lambda x, y, w, b, c: F.l1_loss(x, y, reduction="none") * y,
            lambda x, y, w, b, c: F.smooth_l1_loss(x, y, beta=0.5),
            lambda x, y, w, b, c: F.cosine_similarity(x, y, 1),
            # Gradients of these targets are PyTorch's arithmetic.
            lambda x, y, w, b, c: F.kl_div(x, y.detach().abs(), reduction="batchmean"),
            lambda x, y, w, b, c: F.kl_div(x, y.detach(), reduction="none", log_target=True) * y,
            lambda x, y, w, b, c: F.binary_cross_entropy_with_logits(x, y.detach().abs()),
            lambda x, y, w, b, c: F.binary_cross_entropy_with_logits(x, y.detach().abs(), w.detach(), pos_weight=b.detach()),
            lambda x, y, w, b, c: F.cross_entropy(x, y.detach().abs()),
            lambda x, y, w, b, c: F.cross_entropy(x, y.detach(), w.abs().detach(), reduction="none", label_smoothing=0.2),
            lambda x, y, w, b, c: F.cross_entropy(x.t(), y.detach().t(), reduction="sum"),
            lambda x, y, w, b, c: F.rms_norm(x, [n], w, residual=y, weight_offset=1.0)[0],
            lambda x, y, w, b, c: F.index_add(x, 0, c.abs() % 7, y, alpha=0.5),
            lambda x, y, w, b, c: F.scatter_add(x, 0, (c.abs() % 7).unsqueeze(1).expand(16, n).contiguous(), y),
            lambda x, y, w, b, c: F.embedding(c.abs() % 16, x, padding_idx=3),
        ):
            results = []
            for where in ("cpu", "cuda"):
                given = [a.detach().to(where).requires_grad_(a.is_floating_point()) for a in (x, y, weight, bias)]
                found = call(*given, classes.to(where))
                pulled = torch.autograd.grad(found, given, torch.ones_like(found), allow_unused=True)
                results.append([found, *(g for g in pulled if g is not None)])
            for found, expected in zip(*reversed(results)):
                assert found.is_cuda
                equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_pairs_of_arrays(dtype):
    """Losses of any axes and layouts, as functions of arrays."""
    torch = torch_with_gpu()
    of = torch.Generator().manual_seed(3)
    of_dtype = getattr(torch, dtype)
    for shape, axis in (
        ((5,), None), ((7, 1000), 1), ((1000, 7), 0), ((3, 40, 50), (0, 2)), ((64, 4096), None), ((0, 3), 0), ((2, 0), 0)
    ):
        x, y = (torch.randn(shape, generator=of).to(of_dtype) for _ in range(2))
        layouts = [lambda a: a, lambda a: a.repeat_interleave(2, -1)[..., ::2], lambda a: a.flip(0)]
        if len(shape) > 1:
            layouts.append(lambda a: a.transpose(0, 1).contiguous().transpose(0, 1))
        for layout in layouts:
            pairs = [[layout(a) for a in (x, y)], [layout(a.cuda()) for a in (x, y)]]
            for name in ("mse", "l1", "huber", "kl_div", "bce_with_logits"):
                for reduction in ("mean", "sum", "none"):
                    want, found = (getattr(wf, name)(*pair, axis, reduction=reduction) for pair in pairs)
                    equal(found, want)
                    gradient = torch.randn(want.shape, generator=of).to(of_dtype)
                    want, found = (
                        getattr(wf, f"{name}_backward")(*pair, g, axis, reduction=reduction)
                        for pair, g in zip(pairs, (gradient, gradient.cuda()))
                    )
                    equal(found, want)
            want, found = (wf.dot(*pair, axis) for pair in pairs)
            equal(found, want)
            want, found = (wf.dot_backward(*pair, axis=axis) for pair in pairs)
            equal(found, want)
            want, found = (wf.cosine_similarity(*pair, axis=axis) for pair in pairs)
            equal(found, want)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_cross_entropy_at_once(dtype):
    """The gradient is computed with the loss, for a gradient of the loss of 1, and anew for another one."""
    torch = torch_with_gpu()
    of = torch.Generator().manual_seed(2)
    for n in (5, 1000, 9000, 50257):
        logits = torch.randn(9, n, generator=of).to(getattr(torch, dtype))
        classes = torch.randint(0, n, (9,), generator=of)
        classes[3] = -100
        weight = torch.rand(n, generator=of).to(logits.dtype)
        for reduction in ("mean", "sum"):
            for options in ({}, {"weight": weight}):
                there = {key: of_classes.cuda() for key, of_classes in options.items()}
                x, want = logits.cuda().requires_grad_(), logits.clone().requires_grad_()
                loss = wf.torch.cross_entropy(x, classes.cuda(), reduction=reduction, **there)
                assert type(loss.grad_fn).__name__ == "AtOnceBackward"
                expected = wf.torch.cross_entropy(want, classes, reduction=reduction, **options)
                equal(loss, expected)
                for scale in (1.0, 0.125, 1.0):
                    found = torch.autograd.grad(loss * scale, x, retain_graph=True)[0]
                    equal(found, torch.autograd.grad(expected * scale, want, retain_graph=True)[0])
                # A gradient of another loss first.
                again = wf.torch.cross_entropy(x, classes.cuda(), reduction=reduction, **there)
                again.backward(torch.full_like(again, 3.0))
                equal(x.grad, torch.autograd.grad(expected, want, torch.full_like(expected, 3.0), retain_graph=True)[0])
    x = torch.randn(4, 6, device="cuda", dtype=torch.float64, requires_grad=True)
    classes = torch.tensor([0, 5, 2, 2], device="cuda")
    assert torch.autograd.gradcheck(lambda x: wf.torch.cross_entropy(x, classes), x)
    assert torch.autograd.gradgradcheck(lambda x: wf.torch.cross_entropy(x, classes), x)
    compiled = torch.compile(lambda x: wf.torch.cross_entropy(x, classes), fullgraph=True, backend="aot_eager")
    equal(torch.autograd.grad(compiled(x), x)[0], torch.autograd.grad(wf.torch.cross_entropy(x, classes), x)[0])
    with torch.no_grad():
        assert wf.torch.cross_entropy(x, classes).grad_fn is None
    # Many gradients of one loss, and classes that do not lie side by side, two losses before their gradients.
    loss = wf.torch.cross_entropy(x, classes)
    many = torch.autograd.grad(loss, x, torch.ones(3, device="cuda").double(), is_grads_batched=True)[0]
    equal(many[2], torch.autograd.grad(wf.torch.cross_entropy(x, classes), x)[0])
    two = [torch.randn(4, 6, 7, device="cuda", requires_grad=True) for _ in range(2)]
    classes = torch.randint(0, 6, (4, 7), device="cuda")
    losses = [wf.torch.cross_entropy(x, classes) for x in two]
    for x, loss in zip(two, losses):
        want = x.detach().cpu().requires_grad_()
        expected = torch.autograd.grad(wf.torch.cross_entropy(want, classes.cpu()), want)[0]
        equal(torch.autograd.grad(loss, x)[0], expected)


@pytest.mark.parametrize("training", [True, False])
def test_norms_of_channels_in_the_mode(training):
    torch = torch_with_gpu()
    if not hasattr(torch.library, "get_kernel"):
        pytest.skip("batch_invariant needs torch.library.get_kernel")
    layers = torch.nn.Sequential(torch.nn.BatchNorm2d(6), torch.nn.GroupNorm(3, 6)).train(training)
    x = torch.randn(5, 6, 7, 8, generator=torch.Generator().manual_seed(4))
    results = []
    for where in ("cpu", "cuda"):
        model = torch.nn.Sequential(torch.nn.BatchNorm2d(6), torch.nn.GroupNorm(3, 6)).train(training).to(where)
        model.load_state_dict(layers.state_dict())
        there = x.detach().to(where).requires_grad_()
        with wf.torch.batch_invariant() as report:
            y = model(there)
            y.square().sum().backward()
        assert not report.kept and not report.not_ours, report
        results.append([y, there.grad, *(p.grad for p in model.parameters()), model[0].running_var])
    for found, expected in zip(*reversed(results), strict=True):
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)
    plain = layers(x.detach())
    torch.testing.assert_close(results[1][0].cpu(), plain, rtol=1e-4, atol=1e-4)


def test_an_earlier_gradient_is_not_where_the_logits_are():
    torch = torch_with_gpu()
    from warpfold import _native

    x = torch.randn(4, 6, device="cuda")
    classes, number = torch.tensor([0, 5, 2, 2], device="cuda"), torch.ones((), device="cuda")
    with pytest.raises(ValueError, match="earlier result"):
        _native.cross_entropy_again(x, classes, -1, -100, None, number, number, x)


def test_compiled_and_in_a_graph():
    torch = torch_with_gpu()
    x = torch.randn(64, 4096, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(4096, device="cuda", dtype=torch.bfloat16)

    def call(x):
        return wf.torch.softmax(wf.torch.rms_norm(x, [4096], weight), -1)

    expected = call(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = call(x)
    found.zero_()
    graph.replay()
    torch.cuda.synchronize()
    equal(found, expected)
    torch.library.opcheck(torch.ops.warpfold.softmax, (x, 1))
    torch.library.opcheck(torch.ops.warpfold.rms_norm, (x, weight, None, 1, 1e-5, 0.0))
    equal(torch.compile(call, fullgraph=True, backend="aot_eager")(x), expected)


def test_the_mode():
    torch = torch_with_gpu()
    if not hasattr(torch.library, "get_kernel"):
        pytest.skip("batch_invariant needs torch.library.get_kernel")
    F = torch.nn.functional
    torch.manual_seed(0)
    x = torch.randn(512, 1536)
    weight, bias, classes = torch.randn(1536), torch.randn(1536), torch.randint(0, 1536, (512,))
    calls = [
        lambda x, w, b, c: x.sum(1),
        lambda x, w, b, c: x.mean(1),
        lambda x, w, b, c: x.var(1),
        lambda x, w, b, c: x.amax(1),
        lambda x, w, b, c: x.argmax(1),
        lambda x, w, b, c: x.logsumexp(1),
        lambda x, w, b, c: torch.linalg.vector_norm(x, dim=1),
        lambda x, w, b, c: torch.softmax(x, 1),
        lambda x, w, b, c: F.log_softmax(x, 1),
        lambda x, w, b, c: F.layer_norm(x, [1536], w, b),
        lambda x, w, b, c: F.rms_norm(x, [1536], w),
        lambda x, w, b, c: F.cross_entropy(x, c, reduction="none"),
    ]
    here, there = (x, weight, bias, classes), [a.cuda() for a in (x, weight, bias, classes)]
    plain = [call(*there) for call in calls]
    with wf.torch.batch_invariant() as report:
        for call, other in zip(calls, plain):
            on_cpu, on_gpu = call(*here), call(*there)
            assert on_gpu.is_cuda and on_gpu.dtype == other.dtype and on_gpu.shape == other.shape
            if on_gpu.dtype.is_floating_point:
                torch.testing.assert_close(on_gpu, other, rtol=1e-4, atol=1e-4)
            else:
                assert (on_gpu == other).float().mean() > 0.99
            for rows in (slice(0, 1), slice(3, 300)):
                few = call(there[0][rows], *there[1:3], there[3][rows])
                assert torch.equal(few, on_gpu[rows])
            assert on_cpu.dtype == on_gpu.dtype
        got = x.cuda().requires_grad_()
        F.cross_entropy(F.layer_norm(got, [1536], there[1], there[2]), there[3]).backward()
    assert not report.kept, report
    assert report.replaced["native_layer_norm_backward"] and report.replaced["_softmax"], report
    want = x.cuda().requires_grad_()
    F.cross_entropy(F.layer_norm(want, [1536], there[1], there[2]), there[3]).backward()
    torch.testing.assert_close(got.grad, want.grad, rtol=1e-3, atol=1e-6)


def test_other_libraries():
    cupy = pytest.importorskip("cupy")
    try:
        x = cupy.arange(12, dtype="f4").reshape(3, 4)
    except Exception:  # noqa: BLE001 (CuPy without a GPU)
        pytest.skip("CuPy sees no GPU")
    found = wf.softmax(x)
    assert isinstance(found, cupy.ndarray) and bits(found.get()) == bits(wf.softmax(x.get()))
    found = wf.rms_norm(x.T, axis=0)
    assert bits(found.get()) == bits(wf.rms_norm(x.get().T, axis=0))
