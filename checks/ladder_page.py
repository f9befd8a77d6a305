#!/usr/bin/env python3
"""Renders the ladder's page from the emulator and looks at it in headless Chromium, without a network.

    checks/ladder_page.py [page.html]

Without a page, one is made by the `emulate` example. Fails if a rung's section is missing from the rendered document, if
the page loads anything from outside itself (links to its sources it may have), if it is wider than a phone, if code that is
clipped has no cue, if a word's meaning does not open by keyboard and on touch, or if a screenshot is blank. Without Chromium
it says "skipped"; WARPFOLD_REQUIRE_BROWSER=1 makes that a failure. WARPFOLD_SHOTS=folder keeps the screenshots.
"""

import html
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --allow-file-access-from-files""".split()
# Any name that a page might ask for leads nowhere.
OFFLINE = ["--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9"]
PHONE, DESK = (390, 1400), (1300, 1400)


def chromium(browser, url, *more):
    """Standard output of one run of the browser, with a profile of its own."""
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *FLAGS, *OFFLINE, f"--user-data-dir={profile}", *more, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{browser} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def expected(registry):
    """The ids that the page must have, from the ladder's registry: every rung, and every form that is wrong."""
    rungs = re.findall(r'file!\("(\w+)", (?:A|B|C),', registry)
    slots = re.findall(r'Form::Slot,[^\n]*?file!\("(\w+)"', registry)
    wrong = [name.removesuffix("_as_published") for name in rungs if name.endswith("_as_published")]
    return [n for n in rungs if n not in slots and not n.endswith("_as_published")], wrong


def colours(png):
    """How many colours an 8-bit PNG has, and the share of its commonest one."""
    data, at, packed, width, channels = png, 8, b"", 0, 0
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6), "an 8-bit RGB or RGBA image"
            channels = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    raw, stride = zlib.decompress(packed), width * channels
    above, seen, total = bytearray(stride), {}, 0
    for start in range(0, len(raw), stride + 1):
        line, how = bytearray(raw[start + 1 : start + 1 + stride]), raw[start]
        unfilter(line, above, how, channels)
        above = line
        for x in range(0, stride, channels * 3):
            pixel = bytes(line[x : x + 3])
            seen[pixel] = seen.get(pixel, 0) + 1
            total += 1
    return len(seen), max(seen.values()) / total


def unfilter(line, above, how, step):
    """Undoes PNG's filter on one line, in place."""
    if how == 0:
        return
    if how == 2:
        for i, b in enumerate(above):
            line[i] = (line[i] + b) & 255
        return
    for i in range(len(line)):
        a, b = (line[i - step] if i >= step else 0), above[i]
        c = above[i - step] if i >= step else 0
        if how == 1:
            guess = a
        elif how == 3:
            guess = (a + b) // 2
        else:
            p = a + b - c
            da, db, dc = abs(p - a), abs(p - b), abs(p - c)
            guess = a if da <= db and da <= dc else b if db <= dc else c
        line[i] = (line[i] + guess) & 255


# What only a browser can tell of the page in `frame`. Its own document has no script.
PROBE = """
function probe(frame) {
  const page = frame.contentDocument, shown = e => page.defaultView.getComputedStyle(e).display !== 'none';
  page.querySelectorAll('details').forEach(d => d.open = true);
  const clips = [...page.querySelectorAll('.clip')].map(c => [c.querySelector('.cue'), c.querySelector('pre')]);
  const clipped = clips.filter(([cue, pre]) => pre.scrollWidth > pre.clientWidth + 1);
  const word = page.querySelector('button.word'), meaning = page.getElementById(word.getAttribute('popovertarget'));
  word.focus();
  const focused = page.activeElement === word;
  word.click();
  const opened = meaning.matches(':popover-open') && meaning.getBoundingClientRect().height > 20;
  meaning.querySelector('button').click();
  document.title = 'probe ' + JSON.stringify({
    width: page.documentElement.scrollWidth, clips: clips.length, clipped: clipped.length,
    silent: clipped.filter(([cue, pre]) => !shown(cue)).length,
    stuck: clipped.filter(([cue, pre]) => pre.tabIndex < 0).length,
    words: page.querySelectorAll('button.word').length, focused, opened,
    closed: !meaning.matches(':popover-open'),
  });
}"""


def framed(page, width, height):
    """A document that shows the page in a frame, and says in its title what only a browser can tell."""
    return f"""<!doctype html><script>{PROBE}</script><body style="margin:0"><iframe srcdoc="{html.escape(page)}"
style="border:0;width:{width}px;height:{height}px" onload="probe(this)"></iframe></body>"""


def probed(browser, frame, width):
    """Faults of the page in a frame as wide as this."""
    title = re.search(r"<title>probe (.*?)</title>", chromium(browser, frame.as_uri(), "--dump-dom"))
    if title is None:
        return [f"the page did not load in a frame {width} pixels wide"]
    told = json.loads(html.unescape(title[1]))
    print(f"{width} pixels wide: {told['clips']} listings, {told['clipped']} clipped, {told['words']} words")
    faults = []
    if told["width"] > width:
        faults.append(f"is {told['width']} pixels wide on a screen of {width}")
    if told["silent"]:
        faults.append(f"{told['silent']} listings are clipped without a cue on a screen of {width}")
    if told["stuck"]:
        faults.append(f"{told['stuck']} listings are clipped and not to be scrolled by keys")
    if not (told["words"] > 100 and told["focused"] and told["opened"] and told["closed"]):
        faults.append(f"words do not open their meaning: {told}")
    return faults


def main():
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        if os.environ.get("WARPFOLD_REQUIRE_BROWSER") == "1":
            sys.exit("ladder_page: FAILED: no Chromium on PATH, and WARPFOLD_REQUIRE_BROWSER=1")
        print("ladder_page: skipped: no Chromium on PATH")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        page = folder / "page.html"
        if len(sys.argv) > 1:
            shutil.copy(sys.argv[1], page)
        else:
            # Built as `cargo test --workspace --all-features` builds it: after that, nothing is built anew.
            words = ["build", "--quiet", "--workspace", "--all-features", "--example", "emulate"]
            subprocess.run(["cargo", *words], cwd=ROOT, check=True)
            program = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug/examples/emulate"
            subprocess.run([program, "4096", "--html", page], cwd=ROOT, check=True)
        look(browser, page, folder)


def look(browser, page, folder):
    source, faults = page.read_text(), []
    dom = chromium(browser, page.as_uri(), "--dump-dom")
    rungs, wrong = expected((ROOT / "crates/kernels/src/ladder/rungs.rs").read_text())
    assert len(rungs) > 15 and len(wrong) > 5, "the registry is read"
    for name in rungs:
        if f'<section class="rung" id="{name}"' not in dom:
            faults.append(f"no section for {name}")
    for name in wrong:
        if f'id="{name}-published"' not in dom:
            faults.append(f"no published form of {name}")
    loading = re.sub(r'<a href="https://[^"]*">', "<a>", source)
    for outside in re.findall(r"(?:https?:)?//[a-z0-9][\w.-]*\.[a-z]{2,}[^\s\"<]*|\bsrc=|url\(|@import", loading):
        faults.append(f"loads something from outside itself: {outside}")
    desk, frame = folder / "desk.html", folder / "frame.html"
    for path, (width, height) in [(desk, DESK), (frame, PHONE)]:
        path.write_text(framed(source, width, height))
        faults += probed(browser, path, width)
    for what, url, (width, height) in [("desk", page, DESK), ("phone", frame, PHONE)]:
        for scheme, number in [("light", 1), ("dark", 0)]:
            shot = folder / f"{what}-{scheme}.png"
            setting = f"--blink-settings=preferredColorScheme={number}"
            chromium(browser, url.as_uri(), f"--screenshot={shot}", f"--window-size={width},{height}", setting)
            count, most = colours(shot.read_bytes())
            print(f"{what}, {scheme}: {count} colours, {100 * most:.0f} % of one")
            if count < 20 or most > 0.98:
                faults.append(f"the screenshot of {what}, {scheme} is blank")
            if keep := os.environ.get("WARPFOLD_SHOTS"):
                pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
                shutil.copy(shot, keep)
    if faults:
        sys.exit("ladder_page: FAILED:\n  " + "\n  ".join(faults))
    print(f"ladder_page: {len(rungs)} rungs and {len(wrong)} published forms, nothing from outside")


if __name__ == "__main__":
    main()
