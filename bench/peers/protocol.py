"""The protocol of README.md, for peers in Python: each brings a library, this file does the rest.

A peer defines a class with
    name, version, device       who it is
    prepare(case)               makes the data; returns (a function that computes the result, a description of the cache);
                                raises Skip(why) for what the library does not have
    time(f, calls)              nanoseconds of that many calls, one after the other
    numpy(result)               the result as a NumPy array of its own dtype
    release()                   the case is over; data may be kept in case the next has the same key()
and calls serve(Class).
"""

import json
import sys

PROTOCOL = 1
LEAST_NS = 1_000_000
MOST_CALLS = 100_000
CHUNK = 1 << 22
MASK = 0xFFFFFFFF


class Skip(Exception):
    """The library does not have this case."""


def mix(h):
    """32 bits in, 32 bits out, held in 64."""
    h = h ^ (h >> 16)
    h = (h * 0x85EBCA6B) & MASK
    h = h ^ (h >> 13)
    h = (h * 0xC2B2AE35) & MASK
    return h ^ (h >> 16)


def wrapped(k, bits):
    """The low bits as a signed integer."""
    return k - ((k >> (bits - 1)) << bits)


def values(arange, case, start, end):
    """(units, how many of them make 1, where NaN) of elements start to end; `arange` gives int64."""
    h = mix((arange(start, end) + case["seed"] * 0x9E3779B9) & MASK)
    kind, dtype = case["kind"], case["dtype"]
    if kind == "rare":
        return h < 4, 1, None
    if kind == "common":
        return h >= 4, 1, None
    nan = (h & 63) == 0 if kind == "nan" and dtype in ("f16", "bf16", "f32", "f64") else None
    if dtype == "f16":
        return 2 * (h >> 22) - 1023, 1 << 11, nan
    if dtype == "bf16":
        return (h >> 24) - 96, 1 << 8, nan
    if dtype == "f32":
        return (h >> 8) - (3 << 21), 1 << 24, nan
    if dtype == "f64":
        return ((h << 20) | (mix((h + 0x9E3779B9) & MASK) >> 12)) - (3 << 49), 1 << 52, nan
    if dtype in ("i64", "u64"):
        return (h << 32) | mix((h + 0x9E3779B9) & MASK), 1, None
    if dtype == "bool":
        return h >> 31, 1, None
    bits = int(dtype[1:])
    k = h >> (32 - bits)
    return (wrapped(k, bits) if dtype[0] == "i" else k), 1, None


def pieces(case):
    """Ranges of elements, and where each begins in memory: rows where there is padding."""
    n = 1
    for d in case["shape"]:
        n *= d
    row = case["shape"][-1]
    pitch = int(case["layout"][6:]) if case["layout"].startswith("pitch:") else row
    if pitch == row:
        for start in range(0, n, CHUNK):
            yield start, min(start + CHUNK, n), case["offset"] + start
    else:
        for i in range(n // row):
            yield i * row, (i + 1) * row, i * pitch


def key(case):
    """Cases of one key have the same memory, which may be kept from one to the next."""
    pitch = (case["layout"], case["shape"][-1]) if case["layout"].startswith("pitch:") else None
    return (case["dtype"], case["kind"], case["seed"], case["offset"], case["room"], pitch)


def calibrated(time, f, case):
    """Calls that last a millisecond."""
    time(f, 1)
    calls = 1
    if case["measure"] == "latency":
        return calls
    while calls < MOST_CALLS:
        ns = time(f, calls)
        if ns >= LEAST_NS:
            break
        calls = min(MOST_CALLS, max(2 * calls, int(calls * 1.2 * LEAST_NS / max(ns, 1))))
    return calls


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
    peer, case, f, calls, result = None, None, None, 1, None

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
                result = None
                try:
                    f, cache = peer.prepare(case)
                except Skip as why:
                    peer.release()
                    reply(skip=str(why))
                    continue
                calls = calibrated(peer.time, f, case)
                reply(calls=calls, cache=cache)
            elif asked["do"] == "sample":
                reply(ns=[peer.time(f, calls) // calls for _ in range(asked["samples"])])
            elif asked["do"] == "result":
                outputs = 1
                for axis, d in enumerate(case["shape"]):
                    outputs *= 1 if axis in case["axes"] else d
                array, dtype = peer.numpy(peer.result)
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
