"""The protocol of README.md, for peers in Python: each brings a library, this file does the rest.

A peer defines a class with
    name, version, device       who it is
    prepare(case)               makes the data; returns (a function that computes the result, a description of the cache);
                                raises Skip(why) for what the library does not have
    time(f, calls)              nanoseconds of that many calls, one after the other
    numpy(result)               the result as a NumPy array of its own dtype
    labels(result)              of an iteration of k-means: the labels as a NumPy array
    poison(result)              overwrites the result with nonsense
    release()                   the case is over; data may be kept in case the next has the same key()
and calls serve(Class).
"""

import json
import sys

from data import is_keyed

PROTOCOL = 3
LEAST_NS = 1_000_000
MOST_CALLS = 100_000
# What takes longer is not called once more before each sample.
LONG_NS = 20_000_000
POISON = 0xA5


class Skip(Exception):
    """The library does not have this case."""


def calibrated(time, f):
    """(calls that last a millisecond, nanoseconds of one)."""
    time(f, 1)
    calls, ns = 1, 0
    while calls < MOST_CALLS:
        ns = time(f, calls)
        if ns >= LEAST_NS:
            break
        calls = min(MOST_CALLS, max(2 * calls, int(calls * 1.2 * LEAST_NS / max(ns, 1))))
    return calls, ns // calls


def fastest(time, candidates):
    """The name of the function that is the fastest: where a library has several ways, it takes part with its best."""
    if len(candidates) == 1:
        return next(iter(candidates))

    def best_of_three(f):
        f()
        return min(time(f, 1) for _ in range(3))

    return min(candidates, key=lambda name: best_of_three(candidates[name]))


def answer(array, positions, outputs):
    """Values in text, exact."""
    import numpy as np

    array = np.ascontiguousarray(array)
    flat = array.reshape(outputs, -1)
    chosen = flat if positions is None else flat[np.asarray(positions, dtype=np.int64)]
    kind = array.dtype.kind
    dtype = {"b": "bool", "i": f"i{8 * array.itemsize}", "u": f"u{8 * array.itemsize}", "f": f"f{8 * array.itemsize}"}[kind]
    if kind == "f":
        texts = [repr(float(x)) for x in chosen.ravel()]
    else:
        texts = [str(int(x)) for x in chosen.ravel()]
    return dict(dtype=dtype, outputs=outputs, values=texts)


def serve(make):
    """Answers until standard input ends. `make(device)` gives the peer, or raises why it is absent."""
    replies = sys.stdout
    # What libraries print must not come between.
    sys.stdout = sys.stderr
    peer, case, f, calls, ns = None, None, None, 1, 0

    def reply(**words):
        print(json.dumps(words), file=replies, flush=True)

    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked["do"] == "hello":
                try:
                    peer = make(asked["device"])
                except Exception as why:
                    reply(absent=f"{type(why).__name__}: {why}")
                    return
                reply(protocol=PROTOCOL, name=peer.name, version=peer.version, device=peer.device)
            elif asked["do"] == "prepare":
                case = asked["case"]
                try:
                    f, cache = peer.prepare(case)
                except Skip as why:
                    peer.release()
                    reply(skip=str(why))
                    continue
                calls, ns = calibrated(peer.time, f)
                reply(calls=calls, cache=cache)
            elif asked["do"] == "sample":
                samples = []
                for _ in range(asked["samples"]):
                    if ns < LONG_NS:
                        peer.time(f, 1)
                    samples.append(peer.time(f, calls) // calls)
                reply(ns=samples)
            elif asked["do"] == "poison":
                peer.poison(peer.result)
                reply(poisoned=True)
            elif asked["do"] == "labels":
                peer.labels(peer.result).astype("<i4").tofile(asked["to"])
                reply(written=True)
            elif asked["do"] == "result":
                outputs = 1
                for axis, d in enumerate(case["shape"]):
                    outputs *= 1 if axis in case["axes"] else d
                array, dtype = peer.numpy(peer.result)
                # By key, every value is an output.
                outputs = array.size if is_keyed(case) else outputs
                words = answer(array, asked["positions"], outputs)
                reply(**(words | (dict(dtype=dtype) if dtype else {})))
            elif asked["do"] == "release":
                f = None
                peer.release()
                reply(released=True)
            else:
                reply(error=f"unknown word {asked['do']}")
        except Exception as why:
            reply(error=f"{type(why).__name__}: {why}")
