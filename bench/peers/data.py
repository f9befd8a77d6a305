"""The data of README.md, for peers in Python: elements, and the offsets and labels that they are taken together by."""

import mmap

CHUNK = 1 << 22
MASK = 0xFFFFFFFF
STEP = 0x9E3779B9


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


def floats(dtype, h):
    """(units, how many of them make 1) of hashes."""
    if dtype == "f16":
        return 2 * (h >> 22) - 1023, 1 << 11
    if dtype == "bf16":
        return (h >> 24) - 96, 1 << 8
    if dtype == "f32":
        return (h >> 8) - (3 << 21), 1 << 24
    return ((h << 20) | (mix((h + STEP) & MASK) >> 12)) - (3 << 49), 1 << 52


def bell(dtype, h):
    """(units, how many of them make 1) of hashes: the sum of eight uniform numbers less its mean."""
    a, b = h, mix((h + STEP) & MASK)
    if dtype in ("f16", "bf16"):
        drop, mean, one = (0, 1020, 1 << 10) if dtype == "f16" else (3, 124, 1 << 7)
        return sum(((word >> at) & 255) >> drop for word in (a, b) for at in (0, 8, 16, 24)) - mean, one
    c = mix((b + STEP) & MASK)
    d = mix((c + STEP) & MASK)
    units = sum((word >> 16) + (word & 0xFFFF) for word in (a, b, c, d)) - 262140
    if dtype == "f64":
        return (units << 32) + mix((d + STEP) & MASK), 1 << 50
    return units, 1 << 18


def about(dtype, centre, h):
    """Three quarters of a centre's units and a quarter of noise."""
    units, one = bell(dtype, h)
    return (3 * centre + units) >> 2, one


def values(arange, case, start, end):
    """(units, how many of them make 1, where NaN) of elements start to end; `arange` gives int64."""
    h = mix((arange(start, end) + case["seed"] * STEP) & MASK)
    kind, dtype = case["kind"], case["dtype"]
    if kind == "rare":
        return h < 4, 1, None
    if kind == "common":
        return h >= 4, 1, None
    if kind == "labels":
        return labels(arange, case, start, end), 1, None
    if kind == "normal":
        return *bell(dtype, h), None
    if kind == "clustered":
        i, d = arange(start, end), case["shape"][1]
        point = i // d
        label = (mix((point + (case["seed"] + 1) * STEP) & MASK) * case["clusters"]) >> 32
        centre = mix((label * d + (i - point * d) + (case["seed"] + 2) * STEP) & MASK)
        return *about(dtype, bell(dtype, centre)[0], h), None
    nan = (h & 63) == 0 if kind == "nan" and dtype in ("f16", "bf16", "f32", "f64") else None
    if dtype in ("f16", "bf16", "f32", "f64"):
        return *floats(dtype, h), nan
    if dtype in ("i64", "u64"):
        return (h << 32) | mix((h + STEP) & MASK), 1, None
    if dtype == "bool":
        return h >> 31, 1, None
    bits = int(dtype[1:])
    k = h >> (32 - bits)
    return (wrapped(k, bits) if dtype[0] == "i" else k), 1, None


def apart(case):
    """How long a row is, and how far it is from one to the next, if there is something between them."""
    words = case["layout"].partition(":")
    if words[0] == "pitch":
        return case["shape"][-1], int(words[2])
    return (1, int(words[2])) if words[0] == "step" else None


def pieces(case):
    """Ranges of elements, which are made one after the other: whole rows, where there is something between them. Dense memory is
    filled to its end."""
    if apart(case):
        n = 1
        for d in case["shape"]:
            n *= d
        row = apart(case)[0]
    else:
        n, row = case["room"] - case["offset"], 1
    chunk = max(CHUNK // row, 1) * row
    for start in range(0, n, chunk):
        yield start, min(start + chunk, n)


def place(memory, case, start, end, part):
    """Puts elements start to end where they belong."""
    rows = apart(case)
    if rows is None:
        memory[case["offset"] + start : case["offset"] + end] = part
    else:
        row, pitch = rows
        memory[start // row * pitch : end // row * pitch].reshape(-1, pitch)[:, :row] = part.reshape(-1, row)


def pages(size):
    """Zeroed memory of large pages, where there are any, as all sides have for their inputs on a CPU."""
    memory = mmap.mmap(-1, max(size, 1))
    if hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # Small ones do.
    return memory


def key(case):
    """Cases of one key have the same memory, which may be kept from one to the next."""
    made_by = (case["groups"], case["clusters"], case["shape"][-1]) if case["kind"] in ("labels", "clustered") else None
    return (case["dtype"], case["kind"], case["seed"], case["offset"], case["room"], apart(case), made_by)


def is_keyed(case):
    return case["op"] == "unique" or any(case[k] is not None for k in ("segments", "groups", "clusters"))


def offsets(np, case):
    """int64: where segments begin, and where the last one ends."""
    n, words = case["shape"][0], case["segments"]
    if words.startswith("uniform:"):
        length = int(words[8:])
        return np.minimum(np.arange(-(-n // length) + 1, dtype=np.int64) * length, n)
    parts, at, first = [np.zeros(1, np.int64)], 0, 0
    while at < n:
        h = mix((np.arange(first, first + CHUNK, dtype=np.int64) + (case["seed"] + 1) * STEP) & MASK)
        if words == "power-law":
            nibbles = sum((h & (16**m - 1) == 0).astype(np.int64) for m in range(1, 8))
            lengths = 1 + (((mix((h + STEP) & MASK) >> 16) << (3 * (nibbles + 1))) >> 16)
        else:
            lengths, longest = h >> 31, n // 512 - first
            if 0 <= longest < CHUNK:
                lengths[longest] = max(n - n // 1024 - at - lengths[:longest].sum(), 0)
        ends = at + np.cumsum(lengths)
        ends = np.minimum(ends[: np.searchsorted(ends, n) + 1], n)
        parts.append(ends)
        at, first = int(ends[-1]), first + CHUNK
    return np.concatenate(parts)


def labels(arange, case, start, end):
    """int64: the labels of elements or points start to end, by any library's arange."""
    count = case["groups"] or case["clusters"]
    return (mix((arange(start, end) + (case["seed"] + 1) * STEP) & MASK) * count) >> 32


def all_labels(np, case):
    """int32, of everything."""
    n = case["shape"][0]
    out = np.empty(n, np.int32)
    for start in range(0, n, CHUNK):
        end = min(start + CHUNK, n)
        out[start:end] = labels(lambda a, b: np.arange(a, b, dtype=np.int64), case, start, end)
    return out


def centroids(np, case):
    """float64 [cluster][coordinate]: what iterations begin with."""
    k, d = case["clusters"], case["shape"][1]
    i = np.arange(k * d, dtype=np.int64)
    units, one = bell(case["dtype"], mix((i + (case["seed"] + 2) * STEP) & MASK))
    if case["kind"] == "clustered":
        units, one = about(case["dtype"], units, mix((i + (case["seed"] + 3) * STEP) & MASK))
    return (units / one).reshape(k, d)
