"""Uses of the package that type checkers must accept: `mypy --strict` and `pyright` (test_types.py runs them)."""

import numpy as np

import warpfold as wf

x = np.arange(6.0).reshape(2, 3)
total = wf.sum(x, axis=(0, 1), dtype="f4", where=x > 1, precision="compensated")
means = wf.mean(x, 0, keepdims=True)
least, greatest = wf.minmax(x, axis=1)
deviation = wf.std(x, ddof=1, device="cpu")
groups = wf.group_by(x, [0, 1], ["mean", "max"])
first = groups["mean"]
one = wf.group_by(x, [0, 1], "sum", 2, fill=0)
stream = wf.Stream("var", np.float64, start=0, correction=1)
stream.push(x[0])
variance = stream.finish()
state = wf.Spans.from_bytes(wf.Spans("sum", x.dtype, (2,)).to_bytes())
state.add(x, axis=1, start=0, total=3)
count: int = stream.count
found = wf.describe(x)
name: str = wf.devices()[0].name
values, counts = wf.unique_counts(x)
wf.set_num_threads(wf.get_num_threads())
plan: str = wf.explain("sum", x)
densities, edges = wf.histogram(x, "auto", density=True)
xp = wf.array_api
standard = xp.sum(xp.asarray([1.0, 2.0]), axis=0, dtype=xp.float32, keepdims=True)
distinct = xp.unique_all(x).values
probabilities = wf.softmax(x, axis=(0, 1), where=x > 1, scale=0.5)
of_norm = wf.rms_norm_backward(x, x, np.ones(3), axis=-1, epsilon=1e-6)
of_weight = of_norm.weight
of_loss = wf.cross_entropy_gradient(x, [0, 1], label_smoothing=0.1, reduction="sum", gradient=2.0)
loss = of_loss.loss
similarity = wf.cosine_similarity(x, x, 1, epsilon=1e-6)
slope = wf.huber_backward(x, x, axis=1, delta=2.0, reduction="none")
drawn = wf.sample(x, x, axis=1, temperature=0.5)
in_place = wf.cross_entropy_gradient(x, [0, 1], out=x).gradient
T = wf.torch
patch: wf.torch.Patch = T.patch_model(object(), norms=True, loss=False, attention=False)
which: dict[str, str] = patch.replaced
mapping = T.kernel_mapping()
layers: list[str] = T.register_vllm()
token = T.sample(x, x, dim=-1, temperature=0.0)
both_norms = T.rms_norm(x, [3], residual=x, weight_offset=1.0)
norm_of_groups = T.GroupNorm(1, 3)(T.group_norm(x, 3))
