#!/usr/bin/env python3
"""Writes the tables of docs/benchmarking.md from the newest record of bench/cpu/compare.py.

    bench/cpu/table.py                 # write them
    bench/cpu/table.py --check         # fail unless they are what would be written
    bench/cpu/table.py RECORD.json     # print those of one record

Times are medians. A peer's column says how many times as long as Warpfold it takes: above 1, Warpfold is ahead.
"""

import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE, RECORDS = ROOT / "docs/benchmarking.md", ROOT / "bench/record/cpu"
BEGIN, END = "<!-- tables: begin (bench/cpu/table.py writes this) -->\n", "<!-- tables: end -->\n"
ABSENT = "No record is committed yet: these tables fill themselves from `bench/record/cpu/*.json`.\n"


def median(case, peer):
    samples = case["samples_ns"].get(peer)
    return statistics.median(samples) if samples else None


def duration(ns):
    for unit, size in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)]:
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.0f} ns"


def compared(case, peer, ours):
    theirs = median(case, peer)
    if theirs is None:
        return "–"
    return f"{theirs / ours:.2f}" + ("" if case["agree"].get(peer, True) else " (another result)")


def row(case, reads):
    ours = median(case, "warpfold")
    samples = case["samples_ns"]["warpfold"]
    spread = (max(samples) - min(samples)) / ours
    read = reads.get(case["threads"])
    cells = [
        case["op"],
        case["dtype"],
        "×".join(map(str, case["shape"])) + (" Fortran" if case.get("order") == "F" else ""),
        ",".join(map(str, case["axes"])),
        case["threads"],
        duration(ours),
        f"{100 * spread:.0f} %",
        f"{case['bytes'] / ours:.1f}",
        f"{100 * case['bytes'] / ours / read:.0f} %" if read and not case["suite"].startswith("cache") else "–",
        compared(case, "numpy", ours),
        compared(case, "torch", ours),
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def tables(record):
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    text = [
        f"{record['machine']}, {record['threads']} threads, {record['date']}; {versions}; revision {record['revision']}; "
        f"`{record['command']}`.\n"
    ]
    reads = {c["threads"]: c["bytes"] / median(c, "warpfold") for c in record["cases"] if c["suite"] == "read"}
    for threads, rate in sorted(reads.items()):
        text.append(f"A plain read of 1 GiB with {threads} thread{'s' * (threads > 1)}: {rate:.1f} GB/s.\n")
    for suite in dict.fromkeys(c["suite"] for c in record["cases"] if c["suite"] != "read"):
        head = "| op | dtype | shape | axes | threads | time | spread | GB/s | of a read | NumPy | PyTorch |"
        rows = [row(c, reads) for c in record["cases"] if c["suite"] == suite and median(c, "warpfold")]
        text.append("\n".join([f"**{suite.capitalize()}**\n", head, "|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|", *rows]) + "\n")
    return "\n".join(text)


def main(words):
    if words and words != ["--check"]:
        return print(tables(json.loads(pathlib.Path(words[0]).read_text())))
    newest = max(RECORDS.glob("*.json"), default=None)
    made = tables(json.loads(newest.read_text())) if newest else ABSENT
    if newest:
        made += f"\nFrom [{newest.name}](../{newest.relative_to(ROOT)}).\n"
    before, rest = PAGE.read_text().split(BEGIN)
    page = before + BEGIN + "\n" + made + "\n" + END + rest.split(END)[1]
    if not words:
        PAGE.write_text(page)
    elif page != PAGE.read_text():
        sys.exit(f"{PAGE.relative_to(ROOT)} is not what {newest or 'no record'} says: run bench/cpu/table.py")


if __name__ == "__main__":
    main(sys.argv[1:])
