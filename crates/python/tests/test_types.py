"""The stubs, by the type checkers that are installed."""

import subprocess
import sys
from pathlib import Path

import pytest

TYPED = str(Path(__file__).parent / "typed.py")


@pytest.mark.parametrize("words", [["mypy", "--strict"], ["pyright"]])
def test_type_checkers_accept_the_examples(words, tmp_path):
    pytest.importorskip(words[0])
    said = subprocess.run([sys.executable, "-m", *words, TYPED], capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr
