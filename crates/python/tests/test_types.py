"""The stubs, by the type checkers that are installed."""

import subprocess
import sys
from pathlib import Path

import pytest

FILES = ["typed.py", "typed_peers.py"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("words", [["mypy", "--strict"], ["pyright", "--pythonpath", sys.executable]])
def test_type_checkers_accept_the_examples(words, file, tmp_path):
    pytest.importorskip(words[0])
    command = [sys.executable, "-m", *words, str(Path(__file__).parent / file)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr
