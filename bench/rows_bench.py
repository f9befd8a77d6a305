#!/usr/bin/env python3
"""Times operations on rows of tensors through `wf.torch` beside PyTorch's own, and checks their bits.

    pip install warpfold torch
    bench/rows_bench.py [--device cuda|cpu] [--samples 15] [--filter WORDS] [--random SEED [--windows] [--cases 100]]
                        [--names FILE] [--compile [N]] [--json FILE]

Softmax, norms, losses, pooling and top_k, forward and backward, bfloat16 and float32; with a seed, random ones of them, of
rows of 64 to 262144 elements (a third powers of two, a third as models have them, a third any), 64 to 256 MiB, or with
`--windows` pooling of random windows in planes of 5 to 224 elements a side, 32 to 128 MiB. Sides take turns, all
tensors were made before. On a GPU a sample is the time between two events of the stream, which sleeps
before the first, so that what the function queues is there when the GPU comes to it: a sample is the GPU's time, not
the host's. On a CPU it is the time of the eleventh call in a row. If liger-kernel is installed it is a side, too, of
softmax, norms and cross-entropy (whose gradient it writes over a copy of the logits, which are its logits the next
time); with `--compile` so is PyTorch compiled, gradients, too. The results of Warpfold are compared bit by bit with
the CPU's of the first 64 rows by themselves: a row's result does not depend on the others. (Gradients of weights are
sums over all rows, and are not compared here.) The line of a case has the median of Warpfold and of a copy of as many
bytes as must be read and written, how many times as long each peer takes, and how long the host is busy with a call.
The exit status is 1 after a difference.
"""

import argparse
import json
import os
import platform
import random as numbers
import re
import statistics
import subprocess
import sys
import time as clock

import torch
import torch._functorch.config as functorch
import torch.nn.functional as F

import warpfold as wf

try:
    from liger_kernel.transformers import functional as liger
except ImportError:
    liger = None

SHAPES = [(32768, 4096), (65536, 1536), (524288, 128), (32768, 2880), (8192, 32768), (1024, 262144)]
LOGITS = [(8192, 32000), (8192, 50257), (4096, 152064), (8192, 128256)]
# On a CPU.
SMALLER = [(4096, 4096), (65536, 128), (128, 32000)]
DEVICE = "cuda"


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--filter", default="", help="only cases whose names have all of these words")
    parser.add_argument("--names", metavar="FILE", help="the rows that it names, one to a line as in records")
    parser.add_argument("--random", type=int, metavar="SEED", help="random rows in place of those named here")
    parser.add_argument("--windows", action="store_true", help="with --random: random pooling in place of rows")
    parser.add_argument("--cases", type=int, default=100, help="how many random ones")
    parser.add_argument("--seconds", type=float, default=1e9, help="after so many no other case is begun")
    parser.add_argument(
        "--compile", type=int, nargs="?", const=10**9, default=0, metavar="N",
        help="PyTorch compiled, too, of the first N cases: half a minute for each",
    )
    parser.add_argument("--json", help="where all samples are written")
    args = parser.parse_args()
    if args.windows and args.random is None:
        parser.error("--windows are random ones: give --random SEED, too")
    return args


def cases():
    """The name of each case, the bytes that it reads and writes over those of its result, and what makes its sides."""
    if DEVICE == "cpu":
        yield from smaller_cases()
        return
    for dtype in (torch.bfloat16, torch.float32):
        for shape in SHAPES:
            if dtype == torch.float32 and shape not in (SHAPES[0], SHAPES[4]):
                continue
            of = f"{str(dtype)[6:]} {shape}"
            yield f"softmax {of}", 2, lambda s=shape, d=dtype: softmax(s, d)
            yield f"rms_norm {of}", 2, lambda s=shape, d=dtype: norm(s, d, "rms_norm", False)
            yield f"layer_norm {of}", 2, lambda s=shape, d=dtype: norm(s, d, "layer_norm", False)
            yield f"softmax backward {of}", 3, lambda s=shape, d=dtype: pulled(s, d, "softmax")
            yield f"rms_norm backward {of}", 3, lambda s=shape, d=dtype: norm(s, d, "rms_norm", True)
            yield f"layer_norm backward {of}", 3, lambda s=shape, d=dtype: norm(s, d, "layer_norm", True)
    for shape in LOGITS:
        yield f"cross_entropy and gradient bfloat16 {shape}", 2, lambda s=shape: cross_entropy(s, torch.bfloat16)
    for dtype in (torch.bfloat16, torch.float32):
        for shape, name, windows in WINDOWS:
            # Bytes of the elements over those of the results.
            wide = (windows.get("stride") or windows["kernel_size"]) ** 2
            of = f"{str(dtype)[6:]} {shape} {windows}"
            make = lambda s=shape, d=dtype, n=name, w=windows, **k: pooling(s, d, n, w, **k)  # noqa: E731
            yield f"{name} {of}", 1 + wide, make
            # The gradient's results are the elements; of the greatest ones there are indices of 8 bytes, too.
            own = (1 + 8 / dtype.itemsize if name == "max_pool2d" else 1) / wide
            yield f"{name} backward {of}", 1 + own, lambda make=make: make(backward=True)
        for shape in NORMED:
            for name in ("group_norm", "batch_norm"):
                of = f"{name} {str(dtype)[6:]} {shape}"
                make = lambda s=shape, d=dtype, n=name, **k: channels(s, d, n, **k)  # noqa: E731
                yield of, 2, make
                yield f"{of} backward", 3, lambda make=make: make(backward=True)
            yield f"{of} given", 2, lambda make=make: make(given=True)
        shape = (32768, 4096)
        of = f"{str(dtype)[6:]} {shape}"
        for name in ("mse_loss", "huber_loss", "kl_div", "binary_cross_entropy_with_logits"):
            both = 2 * shape[0] * shape[1]
            yield f"{name} {of}", both, lambda s=shape, d=dtype, n=name: loss(s, d, n)
            yield f"{name} backward {of}", 3, lambda s=shape, d=dtype, n=name: loss(s, d, n, backward=True)
        yield f"cosine_similarity {of}", 2 * shape[1], lambda s=shape, d=dtype: cosine(s, d)
        for shape, k in CHOSEN:
            yield f"topk {str(dtype)[6:]} {shape} {k}", shape[1] / k, lambda s=shape, d=dtype, k=k: topk(s, d, k)


def smaller_cases():
    """As [`cases`], of every operation of rows, on a CPU."""
    for shape in SMALLER:
        for dtype in (torch.float32, torch.bfloat16):
            of = f"{str(dtype)[6:]} {shape}"
            for name in ("softmax", "log_softmax"):
                yield f"{name} {of}", 2, lambda s=shape, d=dtype, n=name: softmax(s, d, n)
                yield f"{name} backward {of}", 3, lambda s=shape, d=dtype, n=name: pulled(s, d, n)
            for name in ("rms_norm", "layer_norm"):
                yield f"{name} {of}", 2, lambda s=shape, d=dtype, n=name: norm(s, d, n, False)
                yield f"{name} backward {of}", 3, lambda s=shape, d=dtype, n=name: norm(s, d, n, True)
            yield f"cross_entropy and gradient {of}", 2, lambda s=shape, d=dtype: cross_entropy(s, d)
            for name in ("mse_loss", "l1_loss", "huber_loss", "kl_div", "binary_cross_entropy_with_logits"):
                yield f"{name} {of}", 2 * shape[0] * shape[1], lambda s=shape, d=dtype, n=name: loss(s, d, n)
                yield f"{name} backward {of}", 3, lambda s=shape, d=dtype, n=name: loss(s, d, n, backward=True)
            yield f"cosine_similarity {of}", 2 * shape[1], lambda s=shape, d=dtype: cosine(s, d)
            yield f"topk {of} 50", shape[1] / 50, lambda s=shape, d=dtype: topk(s, d, 50)


# Lengths of rows in models: hidden sizes, and vocabularies.
USED = [96, 192, 384, 768, 1152, 1280, 1536, 2560, 2880, 3072, 5120, 7168, 11008, 13824, 14336, 28672, 32000, 50257, 50304,
        128256, 151936, 152064]


def random_cases(seed, count):
    """As [`cases`], of random rows."""
    of = numbers.Random(seed)
    for _ in range(count):
        dtype = of.choice([torch.bfloat16, torch.bfloat16, torch.float32])
        length = of.choice([2 ** of.randint(6, 18), of.choice(USED), int(2 ** of.uniform(6, 18))])
        shape = (max(1, (of.choice([64, 128, 256]) << 20) // dtype.itemsize // length), length)
        names = ["softmax", "log_softmax", "rms_norm", "layer_norm", "cross_entropy", "topk"]
        name, backward = of.choice(names), of.random() < 0.5
        title = f"{str(dtype)[6:]} {shape}"
        if name == "topk":
            k = min(length, of.choice([1, of.randint(1, 64), of.randint(1, 1024), int(2 ** of.uniform(0, 14))]))
            yield case(f"{name} {title} {k}")
        elif name == "cross_entropy":
            yield case(f"{name} and gradient {title}")
        else:
            yield case(f"{name}{' backward' if backward else ''} {title}")


def case(title):
    """As one of [`cases`], of its name: softmax, log_softmax, rms_norm, layer_norm, with or without ` backward`,
    `cross_entropy and gradient`, or `topk` with how many are chosen at the end."""
    names, dtypes = "softmax|log_softmax|rms_norm|layer_norm|cross_entropy|topk", "bfloat16|float16|float32|float64"
    parts = re.fullmatch(rf"({names})( backward| and gradient)? ({dtypes}) \((\d+), ?(\d+)\)(?: (\d+))?", title)
    name, after, dtype, count, length, k = parts.groups() if parts else [None] * 6
    after_of = {"cross_entropy": [" and gradient"], "topk": [None]}
    if parts is None or after not in after_of.get(name, [None, " backward"]) or (k is None) == (name == "topk"):
        sys.exit(f"{title!r} is none of the rows timed here: 'softmax backward bfloat16 (4096, 32000)' is one")
    shape, backward, dtype = (int(count), int(length)), after is not None, getattr(torch, dtype)
    if name == "topk":
        return title, shape[1] / int(k), lambda: topk(shape, dtype, int(k))
    if name == "cross_entropy":
        return title, 2, lambda: cross_entropy(shape, dtype)
    if name.endswith("norm"):
        return title, 2 + backward, lambda: norm(shape, dtype, name, backward)
    return title, 2 + backward, lambda: (pulled if backward else softmax)(shape, dtype, name)


def random_windows(seed, count):
    """As [`cases`], of random windows of two axes: of 1 to 13 elements a side, mostly of 2 or 3, overlapping or not."""
    of = numbers.Random(seed)
    for _ in range(count):
        dtype = of.choice([torch.bfloat16, torch.bfloat16, torch.float32])
        height = of.choice([7, 14, 28, 56, 112, 224, of.randint(5, 224)])
        width = of.choice([height, height, of.randint(5, 224)])
        size = of.choice([2, 3, 3, of.randint(1, 5), of.randint(1, min(height, width, 13))])
        windows = {"kernel_size": size, "stride": of.choice([size, 1, 2, of.randint(1, size)])}
        windows["padding"] = of.choice([0, size // 2])
        planes = (of.choice([32, 64, 128]) << 20) // dtype.itemsize // height // width
        channels = of.choice([3, 64, 256])
        shape = (max(1, planes // channels), channels, height, width)
        name, backward = of.choice(["avg_pool2d", "max_pool2d"]), of.random() < 0.5
        wide = windows["stride"] ** 2
        own = (1 + 8 / dtype.itemsize if name == "max_pool2d" else 1) / wide
        title = f"{name}{' backward' if backward else ''} {str(dtype)[6:]} {shape} {windows}"
        make = lambda s=shape, d=dtype, n=name, w=windows, b=backward: pooling(s, d, n, w, backward=b)  # noqa: E731
        yield title, 1 + (own if backward else wide), make


# Rows, and how many of each are chosen.
CHOSEN = [
    ((8192, 32000), 50),
    ((8192, 32000), 1000),
    ((8192, 32000), 4000),
    ((524288, 128), 8),
    ((65536, 1536), 8),
    ((64, 128256), 50),
    ((1, 1 << 26), 50),
]

WINDOWS = [
    ((256, 64, 112, 112), "max_pool2d", {"kernel_size": 3, "stride": 2, "padding": 1}),
    ((256, 64, 112, 112), "max_pool2d", {"kernel_size": 2}),
    ((256, 64, 112, 112), "avg_pool2d", {"kernel_size": 3, "stride": 1, "padding": 1}),
    ((256, 64, 112, 112), "avg_pool2d", {"kernel_size": 2}),
    ((256, 2048, 7, 7), "avg_pool2d", {"kernel_size": 7}),
    ((64, 512, 32, 32), "avg_pool2d", {"kernel_size": 13, "stride": 1, "padding": 6}),
]


def random(shape, dtype, seed=0):
    return torch.randn(shape, generator=torch.Generator(DEVICE).manual_seed(seed), device=DEVICE, dtype=dtype)


def unary(shape, dtype, ours, theirs, rest, **others):
    x = random(shape, dtype)
    few = x[:64].cpu()
    sides = {"warpfold": lambda: ours(x, *rest), "torch": lambda: theirs(x, *rest)}
    return sides | {name: lambda f=f: f(x) for name, f in others.items()}, lambda: ours(few, *rest)


def compiled(f):
    """A side of a function that PyTorch compiles when it is first called, with its gradient."""
    return torch.compile(f, dynamic=False)


def softmax(shape, dtype, name="softmax"):
    others = {"liger": liger.liger_softmax} if liger and name == "softmax" else {}
    return unary(shape, dtype, getattr(wf.torch, name), getattr(F, name), (-1,), **others)


def norms(name, width, dtype):
    """The function of each side, with PyTorch's arguments."""
    sides = {"warpfold": getattr(wf.torch, name), "torch": getattr(F, name)}
    if liger and name == "rms_norm":
        sides["liger"] = lambda x, _, weight, eps: liger.liger_rms_norm(x, weight, eps, in_place=False)
    elif liger:
        bias = torch.zeros(width, dtype=dtype, device=DEVICE, requires_grad=True)
        sides["liger"] = lambda x, _, weight, eps: liger.liger_layer_norm(x, weight, bias, eps)
    return sides


def norm(shape, dtype, name, backward):
    x, weight = random(shape, dtype), random(shape[1:], dtype, 1)
    eps = {"eps": 1e-5}
    functions = norms(name, shape[1:], dtype)
    ours, few = functions["warpfold"], x[:64].cpu()
    if not backward:
        sides = {k: lambda f=f: f(x, shape[1:], weight, **eps) for k, f in functions.items()}
        return sides, lambda: ours(few, shape[1:], weight.cpu(), **eps)
    gradient = random(shape, dtype, 2)

    def gradients(f, x, weight, gradient):
        x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
        y = f(x, list(shape[1:]), weight, **eps)
        return lambda: torch.autograd.grad(y, (x, weight), gradient, retain_graph=True)[0]

    sides = {k: gradients(f, x, weight, gradient) for k, f in functions.items()}
    sides["compiled"] = lambda: gradients(compiled(functions["torch"]), x, weight, gradient)
    return sides, lambda: gradients(ours, few, weight.cpu(), gradient[:64].cpu())()


# Of samples and channels.
NORMED = [(32, 256, 64, 64), (64, 64, 56, 56), (256, 64, 112, 112), (256, 256, 14, 14), (256, 2048, 7, 7), (1048576, 64)]


def channels(shape, dtype, name, backward=False, given=False):
    """Group norm, of eight channels each, or batch norm, in training or by statistics that are given. Weights of batch
    norm are of float32, as those of a module under autocast: cuDNN takes no others."""
    wide = shape[1:2], torch.float32 if name == "batch_norm" else dtype
    x, weight, bias, gradient = random(shape, dtype), random(*wide, 1), random(*wide, 2), random(shape, dtype, 3)
    mean, var = random(*wide, 4), random(*wide, 5).abs()

    def side(f):
        if name == "group_norm":
            return lambda x, weight, bias, mean, var: f(x, shape[1] // 8, weight, bias)
        if given:
            return lambda x, weight, bias, mean, var: f(x, mean, var, weight, bias)
        return lambda x, weight, bias, mean, var: f(x, None, None, weight, bias, True)

    def made(f, *tensors):
        if not backward:
            return lambda: f(*tensors[:5])
        asked = [tensor.detach().requires_grad_() for tensor in tensors[:3]]
        y = f(*asked, *tensors[3:5])
        return lambda: torch.autograd.grad(y, asked, tensors[5], retain_graph=True)[0]

    ours, theirs = side(getattr(wf.torch, name)), side(getattr(F, name))
    tensors = x, weight, bias, mean, var, gradient
    sides = {"warpfold": made(ours, *tensors), "torch": made(theirs, *tensors)}
    sides["compiled"] = lambda: made(compiled(theirs), *tensors)
    # A channel's statistics are of all samples.
    few = 64 if name == "group_norm" or given else len(x)
    return sides, lambda: made(ours, *(t[:few].cpu() if t.shape == shape else t.cpu() for t in tensors))()


def topk(shape, dtype, k):
    return unary(shape, dtype, lambda x: wf.torch.topk(x, k)[0], lambda x: torch.topk(x, k)[0], ())


def pulled(shape, dtype, name):
    x, gradient = random(shape, dtype), random(shape, dtype, 2)

    def gradients(f, x, gradient):
        x = x.detach().requires_grad_()
        y = f(x, -1)
        return lambda: torch.autograd.grad(y, x, gradient, retain_graph=True)[0]

    ours, theirs = getattr(wf.torch, name), getattr(F, name)
    sides = {"warpfold": gradients(ours, x, gradient), "torch": gradients(theirs, x, gradient)}
    sides["compiled"] = lambda: gradients(compiled(theirs), x, gradient)
    if liger and name == "softmax":
        sides["liger"] = gradients(lambda x, _: liger.liger_softmax(x), x, gradient)
    return sides, lambda: gradients(ours, x[:64].cpu(), gradient[:64].cpu())()


def pooling(shape, dtype, name, windows, backward=False):
    x = random(shape, dtype)
    ours, theirs = getattr(wf.torch, name), getattr(F, name)
    if not backward:
        sides = {"warpfold": lambda: ours(x, **windows), "torch": lambda: theirs(x, **windows)}
        return sides, lambda: ours(x[:64].cpu(), **windows)

    def gradients(f, x):
        x = x.detach().requires_grad_()
        y = f(x, **windows)
        gradient = torch.ones(y.shape, dtype=dtype, device=y.device)
        return lambda: torch.autograd.grad(y, x, gradient, retain_graph=True)[0]

    sides = {"warpfold": gradients(ours, x), "torch": gradients(theirs, x)}
    sides["compiled"] = lambda: gradients(compiled(theirs), x)
    return sides, lambda: gradients(ours, x[:64].cpu())()


def loss(shape, dtype, name, backward=False):
    x, y = random(shape, dtype), random(shape, dtype, 1).sigmoid()
    ours, theirs = getattr(wf.torch, name), getattr(F, name)
    options = {"reduction": "batchmean"} if name == "kl_div" else {}
    if not backward:
        sides = {"warpfold": lambda: ours(x, y, **options).reshape(1), "torch": lambda: theirs(x, y, **options).reshape(1)}
        return sides, lambda: ours(x.cpu(), y.cpu(), **options).reshape(1)

    def gradients(f, x, y):
        x = x.detach().requires_grad_()
        # The sum, whose gradients do not depend on the number of rows.
        of = f(x, y, reduction="sum")
        return lambda: torch.autograd.grad(of, x, retain_graph=True)[0]

    sides = {"warpfold": gradients(ours, x, y), "torch": gradients(theirs, x, y)}
    sides["compiled"] = lambda: gradients(compiled(theirs), x, y)
    return sides, lambda: gradients(ours, x[:64].cpu(), y[:64].cpu())()


def cosine(shape, dtype):
    x, y = random(shape, dtype), random(shape, dtype, 1)
    sides = {"warpfold": lambda: wf.torch.cosine_similarity(x, y), "torch": lambda: F.cosine_similarity(x, y)}
    return sides, lambda: wf.torch.cosine_similarity(x[:64].cpu(), y[:64].cpu())


def cross_entropy(shape, dtype):
    x = random(shape, dtype)
    target = torch.randint(0, shape[1], shape[:1], device=DEVICE)

    def gradients(f, x, target):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(f(x, target, reduction="sum"), x)[0]

    sides = {
        "warpfold": lambda: gradients(wf.torch.cross_entropy, x, target),
        "torch": lambda: gradients(F.cross_entropy, x, target),
    }
    own = compiled(F.cross_entropy)
    sides["compiled"] = lambda: lambda: gradients(own, x, target)
    if liger:
        own = x.clone()
        sides["liger"] = lambda: gradients(liger.liger_cross_entropy, own, target)
    return sides, lambda: gradients(wf.torch.cross_entropy, x[:64].cpu(), target[:64].cpu())


def time(sides, samples):
    """Microseconds of each sample of each side, of the GPU and of the host. The first round does not count."""
    found, host = ({name: [] for name in sides} for _ in "gh")
    for round in range(samples + 2):
        for name, call in sides.items():
            if DEVICE == "cpu":
                # For some milliseconds the threads of the side before spin, and the system moves those of this one.
                for _ in range(10):
                    call()
                begin = clock.perf_counter()
                call()
                if round > 1:
                    found[name].append((clock.perf_counter() - begin) * 1e6)
                    host[name].append(found[name][-1])
                continue
            start, end = (torch.cuda.Event(enable_timing=True) for _ in "se")
            # Some milliseconds: longer than the host is busy with the slowest call.
            torch.cuda._sleep(8_000_000)
            start.record()
            begin = clock.perf_counter()
            call()
            busy = clock.perf_counter() - begin
            end.record()
            end.synchronize()
            if round > 1:
                found[name].append(start.elapsed_time(end) * 1e3)
                host[name].append(busy * 1e6)
    return found, host


def summary(record):
    """The shares of a copy's speed of kinds of cases, and how many are behind PyTorch as it is, and compiled."""
    kinds = {"forward": [], "backward": [], "cross_entropy": []}
    for case in record["cases"]:
        median = {side: statistics.median(us) for side, us in case["us"].items()}
        host = {side: statistics.median(us) for side, us in case["host"].items()}
        ours, copy = median.pop("warpfold"), median.pop("copy")
        kind = "cross_entropy" if "cross" in case["case"] else "backward" if "backward" in case["case"] else "forward"
        compiled = ours / median["compiled"] if "compiled" in median else None
        kinds[kind].append((copy / ours, ours / median["torch"], host["warpfold"] / host["torch"], compiled))
    for kind, all in kinds.items():
        if all:
            shares, behind, host = (sorted(of) for of in list(zip(*all))[:3])
            compiled = [times for *_, times in all if times is not None]
            print(
                f"{kind}, {len(all)} cases: of a copy's speed worst {shares[0]:.0%}, 5th percentile "
                f"{shares[len(all) // 20]:.0%}, median {statistics.median(shares):.0%}; behind PyTorch by more than "
                f"5 % in {sum(times > 1.05 for times in behind)}, at most {behind[-1]:.2f} times; behind it compiled in "
                f"{sum(times > 1.05 for times in compiled)} of {len(compiled)}; the host is busy "
                f"{statistics.median(host):.2f} times as long as with PyTorch's"
            )


def main():
    global DEVICE
    args, failed = options(), 0
    DEVICE = args.device
    # A compiled gradient is asked for again and again.
    functorch.donated_buffer = False
    words = ["git", "describe", "--always", "--dirty"]
    own = subprocess.run(words, capture_output=True, text=True).stdout.strip()
    # Of a copy that is no clone of its sources, say which.
    revision = os.environ.get("WARPFOLD_REVISION", own)
    if DEVICE == "cpu":
        device = {"cpu": platform.processor() or platform.machine(), "threads": torch.get_num_threads()}
    else:
        device = {"gpu": torch.cuda.get_device_name()}
    about = device | {"torch": torch.__version__, "revision": revision}
    record = {**about, "warpfold": wf.__version__, "cases": []}
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    end = clock.monotonic() + args.seconds
    if args.names:
        with open(args.names) as file:
            asked = [case(line.strip()) for line in file if line.strip()]
    elif args.random is None:
        asked = cases()
    else:
        asked = (random_windows if args.windows else random_cases)(args.random, args.cases)
    for name, passes, make in asked:
        if not all(word in name for word in args.filter.split()):
            continue
        if clock.monotonic() > end:
            print("no other case is begun: its time is over")
            break
        sides, few = make()
        same = torch.equal(sides["warpfold"]()[:64].cpu().view(torch.int8), few()[:64].view(torch.int8))
        failed += not same
        size = sides["warpfold"]().numel() * sides["warpfold"]().element_size()
        # A copy reads and writes each of its bytes.
        block = torch.ones(int(passes * size) // 2, dtype=torch.uint8, device=DEVICE)
        to = torch.empty_like(block)
        sides["copy"] = lambda block=block, to=to: to.copy_(block)
        if "liger" in sides:
            try:
                sides["liger"]()
            except RuntimeError as error:
                # It refuses rows of more than 65 536 elements.
                print(f"{name}: {error}")
                del sides["liger"]
        make = sides.pop("compiled", lambda sides=sides: compiled(sides["torch"]))
        if len(record["cases"]) < args.compile:
            torch._dynamo.reset()
            sides["compiled"] = make()
        found, host = time(sides, args.samples)
        busy = "  ".join(f"{side} {statistics.median(host[side]):.0f}" for side in ("warpfold", "torch"))
        median = {side: statistics.median(samples) for side, samples in found.items()}
        ours, copy = median.pop("warpfold"), median.pop("copy")
        peers = "  ".join(f"{side} {us:.0f} ({us / ours:.2f})" for side, us in median.items())
        print(f"{name}: warpfold {ours:.0f} us  copy {copy:.0f} ({copy / ours:.2f})  {peers}  host {busy}")
        if not same:
            print("  OTHER BITS")
        record["cases"].append({"case": name, "us": found, "host": host, "same": same})
        if args.json:
            with open(args.json, "w") as file:
                json.dump(record, file)
        del sides, block, to
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
    summary(record)
    print(f"{len(record['cases'])} cases, {failed} with other bits")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
