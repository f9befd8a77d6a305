"""The code of the guides in docs, and of README's Python part, runs. `test_guide.py` has that of xarray's."""

import re
from pathlib import Path

import numpy as np
import pytest

LIBRARIES = {
    "batch-invariance.md": ["torch"],
    "python-numpy.md": [],
    "python-pytorch.md": ["torch", "jax"],
    "python-transformers.md": ["torch", "transformers"],
}


def page(name):
    """A page that is in a folder above the tests."""
    found = [up / name for up in Path(__file__).parents if (up / name).exists()]
    if not found:
        pytest.skip(f"{name} is not beside the tests")
    return found[0]


def run(path, text):
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert blocks
    names = {"__name__": "guide"}
    for block in blocks:
        before = text[: text.index(block)].count("\n")
        exec(compile("\n" * before + block, str(path), "exec"), names)
    return names


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_code_of_the_guide(name):
    path = page(f"docs/{name}")
    if not hasattr(np, "unstack"):
        pytest.skip("wf.array_api needs NumPy 2.1")
    for library in LIBRARIES[name]:
        pytest.importorskip(library)
    run(path, path.read_text(encoding="utf-8"))


def test_the_code_of_the_readme():
    path = page("docs/python-numpy.md").parent.parent / "README.md"
    text = path.read_text(encoding="utf-8")
    run(path, text.partition("## Python\n")[2].partition("\n## ")[0])
