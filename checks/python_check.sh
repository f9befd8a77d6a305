#!/usr/bin/env bash
# Builds the Python package's wheel as a user would, installs it into a fresh environment, and runs its tests there.
# PYTHON names the interpreter; EXTRAS more packages to install, whose arrays the tests then take, too. BUILD replaces
# the release profile by arguments of maturin's.
set -euo pipefail
cd "$(dirname "$0")/.."
room="$(mktemp -d)"
trap 'rm -rf "$room"' EXIT

"${PYTHON:-python3}" -m venv "$room/venv"
pip() { "$room/venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
settings=()
if [ -n "${BUILD-}" ]; then
    settings=(--config-settings "build-args=$BUILD")
fi
pip wheel --no-deps "${settings[@]}" --wheel-dir "$room" ./crates/python
wheel="$(echo "$room"/warpfold-*.whl)"
size="$(stat -c %s "$wheel")"
echo "$(basename "$wheel"): $size bytes"
if [ "$size" -gt $((25 << 20)) ]; then
    echo "the wheel is larger than 25 MB" >&2
    exit 1
fi
pip install "$wheel[test]"
if [ -n "${EXTRAS-}" ]; then
    # Most of their modules are never imported, so none is compiled before it is.
    # shellcheck disable=SC2086 # several words
    pip install --no-compile $EXTRAS
fi
# From a copy, so that nothing but the wheel can be imported.
mkdir -p "$room/crates/python" "$room/docs"
cp -r crates/python/{tests,pyproject.toml,README.md} "$room/crates/python"
cp README.md "$room"
cp docs/{python-*,batch-invariance}.md "$room/docs"
# The rows of README's table whose libraries are installed.
"$room/venv/bin/python" checks/cures.py --check
cd "$room/crates/python/tests"
"$room/venv/bin/python" -X dev -m pytest -q -p no:cacheprovider -rs
