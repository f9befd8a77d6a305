#!/usr/bin/env python3
"""What `wf.torch.batch_invariant()` gives and costs on this machine's CPU, beside PyTorch's own operators.

    pip install warpfold torch
    bench/batch_invariance_bench.py [--rounds 15] [--out FILE]

First how many of the numbers of a batch's rows change if these rows are a batch of their own, and how many gradients of
weights change with the number of threads: without and within the mode. Then the time of a call without and within the
mode, forward, or forward and backward; sides take turns, and the least of all rounds counts. The last cases are of a
transformer of two layers, with the products of PyTorch, and with `wf.torch.TreeLinear`.
"""

import argparse
import contextlib
import platform
import time

import torch
import torch.nn.functional as F

import warpfold as wf

WIDTH, HEADS, WORDS = 256, 4, 1000


def random(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


# Of a batch: what becomes of each of its rows.
ROWS = {
    "sum of rows": lambda x: x.sum(1),
    "softmax of rows": lambda x: x.softmax(1),
    "layer_norm of rows": lambda x: F.layer_norm(x, x.shape[1:]),
    "sum of columns, rows in Fortran order": lambda x: x.t().contiguous().sum(0),
    "softmax of columns, rows in Fortran order": lambda x: x.t().softmax(0).t(),
    "linear": lambda x: F.linear(x, random(x.shape[1], x.shape[1], seed=1)),
}


def changed(of, x, few):
    whole, part = of(x)[:few], of(x[:few])
    return f"{(whole != part).sum().item()} of {part.numel()}"


def weight_gradient(threads, x):
    torch.set_num_threads(threads)
    weight = torch.ones(x.shape[1], requires_grad=True)
    (F.layer_norm(x, x.shape[1:], weight) * random(*x.shape, seed=2)).sum().backward()
    return weight.grad


def shown(mode):
    x = random(64, 1536)
    with mode():
        found = {name: changed(of, x, 3) for name, of in ROWS.items()}
        one, two = (weight_gradient(threads, x) for threads in (1, 2))
    found["weights' gradients of layer_norm, 1 and 2 threads"] = f"{(one != two).sum().item()} of {one.numel()}"
    return found


def cases():
    """The name of each case, and what is timed."""
    for shape in ((4096, 4096), (65536, 128)):
        for dtype in (torch.float32, torch.bfloat16):
            x, weight = random(*shape, dtype=dtype), torch.ones(shape[1], dtype=dtype)
            of = f"{str(dtype)[6:]} {shape}"
            yield f"sum {of}", lambda x=x: x.sum(1)
            yield f"softmax {of}", lambda x=x: x.softmax(1)
            yield f"layer_norm {of}", lambda x=x, w=weight: F.layer_norm(x, w.shape, w)
            yield f"rms_norm {of}", lambda x=x, w=weight: F.rms_norm(x, w.shape, w)
            yield f"layer_norm and gradients {of}", lambda x=x, w=weight: pulled(x, w)
    logits, target = random(512, 32000).requires_grad_(), torch.arange(512)
    yield "cross_entropy and gradient float32 (512, 32000)", lambda: F.cross_entropy(logits, target).backward()
    for linear in (torch.nn.Linear, wf.torch.TreeLinear):
        torch.manual_seed(0)
        model, tokens = Transformer(linear), torch.arange(8 * 64).view(8, 64) % WORDS
        of = f"transformer of {linear.__name__}, 8 rows of 64 words"
        yield f"{of}: logits", lambda model=model: model(tokens)
        yield f"{of}: a step", lambda model=model: stepped(model, tokens)


def stepped(model, tokens):
    F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()


def pulled(x, weight):
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    F.layer_norm(x, weight.shape, weight).backward(x.detach())


class Transformer(torch.nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.blocks = torch.nn.ModuleList(
            torch.nn.ModuleDict(
                {
                    "first": torch.nn.LayerNorm(WIDTH),
                    "mixed": linear(WIDTH, 3 * WIDTH),
                    "joined": linear(WIDTH, WIDTH),
                    "second": torch.nn.LayerNorm(WIDTH),
                    "wide": linear(WIDTH, 4 * WIDTH),
                    "narrow": linear(4 * WIDTH, WIDTH),
                }
            )
            for _ in range(2)
        )
        self.out = linear(WIDTH, WORDS)

    def forward(self, tokens):
        x = self.words(tokens)
        for of in self.blocks:
            q, k, v = of["mixed"](of["first"](x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
            mask = torch.full((q.shape[2], q.shape[2]), -torch.inf).triu(1)
            weights = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5 + mask).softmax(-1)
            x = x + of["joined"]((weights @ v).transpose(1, 2).flatten(2))
            x = x + of["narrow"](F.gelu(of["wide"](of["second"](x))))
        return self.out(x)


def least(call, mode, rounds):
    """The least time of a call without and within the mode: sides take turns."""
    times = {False: [], True: []}
    for _ in range(rounds):
        for within, found in times.items():
            with mode() if within else contextlib.nullcontext():
                begun = time.perf_counter_ns()
                call()
                found.append(time.perf_counter_ns() - begun)
    return [min(found) / 1e6 for found in times.values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--filter", default="", help="only cases whose names have all of these words")
    parser.add_argument("--out", help="where the text is written, too")
    given = parser.parse_args()
    lines = [f"PyTorch {torch.__version__}, Warpfold {wf.__version__}, {platform.machine()}"]
    lines += ["", f"{'numbers that change, of 3 rows of (64, 1536) alone':58} {'without':>14} {'within':>14}"]
    without, within = shown(contextlib.nullcontext), shown(wf.torch.batch_invariant)
    lines += [f"{name:58} {without[name]:>14} {within[name]:>14}" for name in without]
    print("\n".join(lines), flush=True)
    head = f"\n{'ms, the least of ' + str(given.rounds):68} {'without':>9} {'within':>9} {'times':>6}"
    print(head)
    lines.append(head)
    for name, call in cases():
        if all(word in name for word in given.filter.split()):
            before, after = least(call, wf.torch.batch_invariant, given.rounds)
            lines.append(f"{name:68} {before:9.2f} {after:9.2f} {after / before:6.2f}")
            print(lines[-1], flush=True)
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
