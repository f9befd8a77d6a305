"""Every public name is documented and typed, and its examples hold."""

import doctest
import re
from pathlib import Path

import pytest

import warpfold as wf


@pytest.mark.parametrize("name", wf.__all__)
def test_examples(name):
    text = getattr(wf, name).__doc__
    assert text, name
    if not isinstance(getattr(wf, name), type):
        assert ">>>" in text, name
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0


def test_module_docs():
    assert doctest.testmod(wf).failed == 0


def test_the_readme():
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    for block in blocks:
        names = {}
        for line in block.splitlines():
            code, _, want = line.partition("  # ")
            if want:
                assert repr(eval(code, names)) == want.strip(), line
            else:
                exec(line, names)


def test_stubs_have_every_name():
    stubs = (Path(wf.__file__).parent / "__init__.pyi").read_text()
    for name in wf.__all__:
        assert re.search(rf"^(def|class) {name}\b|^from .* import .*\b{name}\b|^    {name},$", stubs, re.M), name
