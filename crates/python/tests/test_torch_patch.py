"""Warpfold in models that exist: `patch_model`, and the kernel hooks of Hugging Face and vLLM.

Models of `transformers` are built from small configs, with random weights: nothing is downloaded. vLLM is a stand-in of
its documented interface.
"""

import copy
import importlib.metadata
import sys
import types

import pytest
from conftest import bits

import warpfold as wf

torch = pytest.importorskip("torch")
F = torch.nn.functional
SIZES = {
    "vocab_size": 61,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}


@pytest.fixture
def tokens():
    return torch.randint(61, (3, 9), generator=torch.Generator().manual_seed(0))


def built(name, **options):
    """A causal language model of `transformers`."""
    transformers = pytest.importorskip("transformers")
    config = getattr(transformers, f"{name}Config")(**{**SIZES, **options})
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 1:
                weight.copy_(torch.linspace(0.5, 1.5, weight.numel()))
    return model.eval()


def test_a_llama_has_warpfolds_norms_and_loss(tokens):
    model = built("Llama")
    labels = tokens.masked_fill(tokens % 7 == 3, -100)
    want = model(tokens, labels=labels)
    before = dict(model.state_dict())
    patch = wf.torch.patch_model(model)
    norms = {f"model.layers.{i}.{which}_layernorm" for i in range(2) for which in ("input", "post_attention")}
    assert {name for name, by in patch.replaced.items() if by == "rms_norm"} == {*norms, "model.norm"}
    assert patch.replaced["loss_function"] == "cross_entropy" and not patch.kept
    assert "model.norm: rms_norm" in repr(patch)
    with wf.torch.batch_invariant() as report:
        found = model(tokens, labels=labels)
    # The norms call Warpfold, and not the operators of which the library makes them.
    assert "mean.dim" not in report.replaced and "nll_loss_forward" not in report.replaced
    torch.testing.assert_close(found.logits, want.logits)
    torch.testing.assert_close(found.loss, want.loss)
    shifted = F.pad(labels, (0, 1), value=-100)[:, 1:]
    assert bits(found.loss.detach()) == bits(wf.cross_entropy(found.logits.detach().flatten(0, 1), shifted.flatten()))
    assert model.state_dict().keys() == before.keys()
    patch.undo()
    patch.undo()
    assert bits(model(tokens, labels=labels).logits.detach()) == bits(want.logits.detach())
    assert "forward" not in vars(model.model.norm) and "_loss_function" not in vars(model)


def test_a_norm_of_a_llama_has_the_bits_of_the_library(tokens):
    model = built("Llama")
    x = torch.randn(5, 32)
    norm = model.model.norm
    with wf.torch.patch_model(model):
        found = norm(x)
    assert bits(found.detach()) == bits(wf.rms_norm(x, norm.weight.detach(), epsilon=norm.variance_epsilon))


def test_gradients_of_a_patched_model(tokens):
    model = built("Llama")
    weights = list(model.parameters())
    want = torch.autograd.grad(model(tokens, labels=tokens).loss, weights)
    with wf.torch.patch_model(model, attention=True):
        found = torch.autograd.grad(model(tokens, labels=tokens).loss, weights)
    for of, expected in zip(found, want):
        torch.testing.assert_close(of, expected, rtol=1e-4, atol=1e-5)


def test_the_loss_over_a_count_of_items(tokens):
    model = built("Llama")
    want = [model(tokens, labels=tokens, num_items_in_batch=count).loss for count in (17, torch.tensor(17))]
    with wf.torch.patch_model(model):
        found = [model(tokens, labels=tokens, num_items_in_batch=count).loss for count in (17, torch.tensor(17))]
    torch.testing.assert_close(found, want)


@pytest.mark.parametrize("name", ["Llama", "Mistral", "Qwen2"])
def test_the_softmax_of_attention(name, tokens):
    model = built(name)
    mask = torch.ones_like(tokens)
    mask[1, :4] = 0
    want = model(tokens, attention_mask=mask).logits
    before = model.config._attn_implementation
    with wf.torch.patch_model(model, attention=True) as patch, wf.torch.batch_invariant() as report:
        found = model(tokens, attention_mask=mask).logits
    assert patch.replaced["attention"] == "softmax" and model.config._attn_implementation == before
    assert "bmm" in report.not_ours and not [op for op in report.not_ours if "attention" in op]
    seen = mask.bool()
    torch.testing.assert_close(found[seen], want[seen])


def test_an_attention_with_more_than_scores_is_refused(tokens):
    model = built("Gemma2", head_dim=8, attn_implementation="eager")
    with wf.torch.patch_model(model, attention=True), pytest.raises(NotImplementedError, match="softcap"):
        model(tokens)


@pytest.mark.parametrize(
    ("name", "by"),
    [("Gemma", "rms_norm of weights + 1"), ("Qwen3", "rms_norm"), ("Olmo2", "rms_norm"), ("Phi3", "rms_norm")],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms_of_other_models(name, by, dtype, tokens):
    model = built(name, **({"head_dim": 8} if name in ("Gemma", "Qwen3") else {})).to(dtype)
    x = torch.randn(4, 32).to(dtype)
    want = [model.model.norm(x), model.model.norm(x.float())]
    with wf.torch.patch_model(model) as patch:
        found = [model.model.norm(x), model.model.norm(x.float())]
        model(tokens)
    assert {*patch.replaced.values()} == {by, "cross_entropy"} and not patch.kept
    for of, expected in zip(found, want):
        assert of.dtype == expected.dtype
        torch.testing.assert_close(of, expected)


def test_what_is_no_such_norm_is_kept():
    cohere = built("Cohere")
    with wf.torch.patch_model(cohere) as patch:
        assert patch.kept["model.norm"] == "CohereLayerNorm is no RMS norm by what it computes"
        assert "kept, CohereLayerNorm" in repr(patch)

    class OddRMSNorm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.eps = torch.nn.Parameter(torch.ones(4)), 1e-6

        def forward(self, x):
            return x / (x.square().mean(-1, keepdim=True).sqrt() + 0.01) * self.weight

    class GatedRMSNorm(OddRMSNorm):
        def forward(self, x, gate):
            return gate * super().forward(x)

    model = torch.nn.Sequential(OddRMSNorm(), GatedRMSNorm(), torch.nn.BatchNorm1d(4), wf.torch.LayerNorm(4))
    with wf.torch.patch_model(model, attention=True) as patch:
        assert not patch.replaced and set(patch.kept) == {"0", "1", "2", "attention"}


def test_plain_modules(rng):
    model = torch.nn.Sequential(
        torch.nn.LayerNorm(6), torch.nn.RMSNorm(6, eps=1e-3), torch.nn.LogSoftmax(-1), torch.nn.Softmax(-1)
    )
    loss = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    x, target = torch.randn(5, 6), torch.tensor([0, 5, 2, -100, 1])
    both = torch.nn.ModuleList([model, loss])
    want = model(x), loss(x, target)
    with wf.torch.patch_model(both) as patch:
        assert list(patch.replaced.values()) == ["layer_norm", "rms_norm", "log_softmax", "softmax", "cross_entropy"]
        torch.testing.assert_close((model(x), loss(x, target)), want)
        assert bits(model[0](x).detach()) == bits(wf.layer_norm(x, torch.ones(6), torch.zeros(6)))
        twin = copy.deepcopy(model)
        assert twin[0].forward.__self__ is twin[0] and bits(twin(x).detach()) == bits(model(x).detach())
        with wf.torch.patch_model(both) as again:
            assert not again.replaced and set(again.kept) == {"0.0", "0.1", "0.2", "0.3"}
        assert "forward" in vars(model[0])
    assert not any("forward" in vars(module) for module in both.modules())
    assert repr(wf.torch.patch_model(torch.nn.Linear(2, 2))) == "nothing to replace"


def test_a_patched_model_compiles():
    model = built("Llama").model.norm
    x = torch.randn(3, 32)
    want = model(x)
    with wf.torch.patch_model(model):
        found = torch.compile(model, fullgraph=True, backend="aot_eager")(x)
        assert bits(found.detach()) == bits(model(x).detach())
    torch.testing.assert_close(found, want)


# Hugging Face's `kernels`.


def test_the_layers_of_kernels():
    kernels = pytest.importorskip("kernels")
    torch.manual_seed(0)
    x, weight, mapping = torch.randn(5, 6), torch.linspace(-1, 1, 6), wf.torch.kernel_mapping()
    for layer, offset in (("RMSNorm", 0.0), ("RMSNormZeroCentered", 1.0)):

        @kernels.use_kernel_forward_from_hub(layer)
        class Norm(torch.nn.Module):
            def __init__(self, epsilon):
                super().__init__()
                self.weight = torch.nn.Parameter(weight.clone())
                setattr(self, epsilon, 1e-4)

            def forward(self, hidden_states):
                raise AssertionError("the forward of the library")

        for mode in (kernels.Mode.INFERENCE, kernels.Mode.TRAINING | kernels.Mode.TORCH_COMPILE):
            norm = torch.nn.Sequential(Norm("variance_epsilon"), Norm("eps"))
            with kernels.use_kernel_mapping(mapping, inherit_mapping=False):
                kernels.kernelize(norm, mode=mode, device="cpu")
            found = norm(x)
            want = wf.rms_norm(x, weight, epsilon=1e-4, weight_offset=offset)
            assert bits(found.detach()) == bits(wf.rms_norm(want, weight, epsilon=1e-4, weight_offset=offset))
            found.sum().backward()
            assert norm[0].weight.grad is not None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["Llama", "Qwen3"])
def test_use_kernels_of_transformers(name, tokens):
    kernels, model = pytest.importorskip("kernels"), built(name, head_dim=8)
    if not hasattr(type(model.model.norm), "kernel_layer_name"):
        pytest.skip("this transformers is not for this kernels")
    x, norm = torch.randn(5, 32), model.model.norm
    want = model(tokens).logits
    with kernels.use_kernel_mapping(wf.torch.kernel_mapping()):
        model.set_use_kernels(True)
    assert bits(norm(x).detach()) == bits(wf.rms_norm(x, norm.weight.detach(), epsilon=norm.variance_epsilon))
    torch.testing.assert_close(model(tokens).logits, want)


def test_a_layer_of_centred_weights():
    module = torch.nn.Module()
    module.weight, module.eps = torch.nn.Parameter(torch.linspace(-1, 1, 6)), 1e-4
    layer = wf.torch.kernel_mapping()["RMSNormZeroCentered"]["cpu"].load()
    x = torch.randn(3, 6)
    found = layer.forward(module, x).detach()
    assert bits(found) == bits(wf.rms_norm(x, module.weight.detach(), epsilon=1e-4, weight_offset=1.0))


# vLLM.


@pytest.fixture
def vllm(monkeypatch):
    """What vLLM's documents say of its custom ops: others in place of classes, by name; a forward for each platform."""

    class CustomOp(torch.nn.Module):
        op_registry_oot = {}

        def __new__(cls, *arguments, **options):
            return super().__new__(cls.op_registry_oot.get(cls.__name__, cls))

        @classmethod
        def register_oot(cls, op=None, name=None):
            assert name not in cls.op_registry_oot
            op.name = name
            cls.op_registry_oot[name] = op
            return op

        def forward(self, *arguments):
            return getattr(self, f"forward_{self.platform}")(*arguments)

        def forward_cpu(self, *arguments):
            return self.forward_cuda(*arguments)

        def forward_oot(self, *arguments):
            return self.forward_native(*arguments)

        def forward_cuda(self, *arguments):
            raise AssertionError("a kernel of vLLM's own")

    class RMSNorm(CustomOp):
        def __init__(self, hidden_size, eps=1e-6, var_hidden_size=None, has_weight=True):
            super().__init__()
            self.variance_epsilon, self.has_weight = eps, has_weight
            self.variance_size_override = None if var_hidden_size == hidden_size else var_hidden_size
            weight = torch.linspace(0, 2, hidden_size)
            self.weight = torch.nn.Parameter(weight) if has_weight else weight

        def forward_native(self, x, residual=None):
            return "theirs"

    class GemmaRMSNorm(CustomOp):
        def __init__(self, hidden_size, eps=1e-6):
            super().__init__()
            self.weight, self.variance_epsilon = torch.nn.Parameter(torch.linspace(-1, 1, hidden_size)), eps

    modules = {
        "vllm": {},
        "vllm.model_executor": {},
        "vllm.model_executor.custom_op": {"CustomOp": CustomOp},
        "vllm.model_executor.layers": {},
        "vllm.model_executor.layers.layernorm": {"RMSNorm": RMSNorm, "GemmaRMSNorm": GemmaRMSNorm},
    }
    for name, members in modules.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)
    return types.SimpleNamespace(CustomOp=CustomOp, RMSNorm=RMSNorm, GemmaRMSNorm=GemmaRMSNorm)


def test_the_layers_of_vllm(vllm, monkeypatch):
    (entry,) = importlib.metadata.entry_points(group="vllm.general_plugins", name="warpfold")
    plugin = entry.load()
    monkeypatch.delenv("WARPFOLD_VLLM", raising=False)
    plugin()
    assert not vllm.CustomOp.op_registry_oot
    monkeypatch.setenv("WARPFOLD_VLLM", "1")
    plugin()
    assert wf.torch.register_vllm() == ["RMSNorm", "GemmaRMSNorm"]
    x, residual = torch.randn(2, 3, 8).bfloat16()
    for norm, offset in ((vllm.RMSNorm(8), 0.0), (vllm.GemmaRMSNorm(8), 1.0)):
        options = {"epsilon": norm.variance_epsilon, "weight_offset": offset}
        weight = norm.weight.detach()
        for norm.platform in ("native", "cpu", "cuda", "oot"):
            assert bits(norm(x).detach().float()) == bits(wf.rms_norm(x, weight, **options).float())
            found, total = norm(x, residual)
            assert bits(total.detach().float()) == bits((x + residual).float())
            assert bits(found.detach().float()) == bits(wf.rms_norm(total.detach(), weight, **options).float())
    bare = vllm.RMSNorm(8, has_weight=False)
    bare.platform = "cuda"
    assert bits(bare(x.float())) == bits(wf.rms_norm(x.float(), epsilon=1e-6))
    part = vllm.RMSNorm(8, var_hidden_size=4)
    part.platform = "cuda"
    assert part(x) == "theirs"


def test_another_layer_of_vllm_stays(vllm):
    class Other(vllm.RMSNorm):
        pass

    vllm.CustomOp.register_oot(Other, name="RMSNorm")
    assert wf.torch.register_vllm() == ["GemmaRMSNorm"]
    assert type(vllm.RMSNorm(4)) is Other
