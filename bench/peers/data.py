"""The data of README.md, for peers in Python: elements, and the offsets and labels that they are taken together by."""

CHUNK = 1 << 22
MASK = 0xFFFFFFFF
STEP = 0x9E3779B9
CENTRE = 0xFC000000


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
    if kind == "clusters":
        h = points(arange, case, h, start, end)
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
    made_by = (case["groups"], case["clusters"], case["shape"][-1]) if case["kind"] in ("labels", "clusters") else None
    return (case["dtype"], case["kind"], case["seed"], case["offset"], case["room"], pitch, made_by)


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
    """float64 [cluster][coordinate]: what points are made about, and iterations begin with."""
    k, d = case["clusters"], case["shape"][1]
    cluster, coordinate = (x.ravel() for x in np.meshgrid(np.arange(k), np.arange(d), indexing="ij"))
    units, one = floats(case["dtype"], centres(case, cluster.astype(np.int64), coordinate.astype(np.int64)))
    return (units / one).reshape(k, d)


def centres(case, cluster, coordinate):
    """The hash of a cluster's coordinate, of int64 arrays of any library."""
    k, d = case["clusters"], case["shape"][1]
    h = mix((cluster * d + coordinate + (case["seed"] + 2) * STEP) & MASK)
    if k <= 64:
        is_first = (coordinate == 0) * 1
        h = h * (1 - is_first) + ((cluster << 32) // k) * is_first
    return h & CENTRE


def points(arange, case, h, start, end):
    """The hashes of coordinates start to end, from those of their indices."""
    i, d = arange(start, end), case["shape"][1]
    point = i // d
    label = (mix((point + (case["seed"] + 1) * STEP) & MASK) * case["clusters"]) >> 32
    return centres(case, label, i - point * d) | (h & ~CENTRE)
