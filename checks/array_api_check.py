#!/usr/bin/env python3
"""Runs the array API standard's own tests against `warpfold.array_api`.

    checks/array_api_check.py CHECKOUT [--max-examples 300]

CHECKOUT is a clone of https://github.com/data-apis/array-api-tests with its submodule (`git clone --recursive`), whose
requirements.txt is installed beside Warpfold. The tests are those of the statistical, searching, set and utility
functions, of their names and signatures, of empty arrays and NaN: by the version of the standard that NumPy names, and
by 2025.12. No test is expected to fail. The last line counts; the exit status is 1 if one failed or nothing ran.
"""

import argparse
import importlib
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

CATEGORIES = ["statistical", "searching", "set", "utility"]
CASES = ["test_empty_arrays", "test_nan_propagation"]


def names(checkout, version):
    """The functions of the four categories, by the stubs of the standard."""
    sys.path.insert(0, str(checkout / "array-api" / "src"))
    package = f"array_api_stubs._{version.replace('.', '_')}"
    modules = [importlib.import_module(f"{package}.{category}_functions") for category in CATEGORIES]
    return [name for module in modules for name, _ in inspect.getmembers(module, inspect.isfunction)]


def run(checkout, version, examples):
    """The number of tests that passed, and the ids of those that did not."""
    found = names(checkout, version)
    tests = [f"array_api_tests/test_{category}_functions.py" for category in CATEGORIES]
    tests += [f"array_api_tests/test_signatures.py::test_func_signature[{name}]" for name in found]
    tests += [f"array_api_tests/test_special_cases.py::{case}" for case in CASES]
    tests += ["array_api_tests/test_has_names.py"]
    with tempfile.TemporaryDirectory() as room:
        report = pathlib.Path(room, "report.json")
        environment = {
            "ARRAY_API_TESTS_MODULE": "warpfold.array_api",
            "ARRAY_API_TESTS_VERSION": version,
            "HYPOTHESIS_STORAGE_DIRECTORY": room,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        options = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--disable-deadline", f"--max-examples={examples}"]
        report_options = ["--json-report", f"--json-report-file={report}"]
        command = [sys.executable, "-m", "pytest", *options, *report_options, *tests]
        subprocess.run(command, cwd=checkout, env=os.environ | environment)
        results = json.loads(report.read_text())["tests"]
    passed = [test["nodeid"] for test in results if test["outcome"] == "passed"]
    # What the version does not have is skipped.
    other = [test["nodeid"] for test in results if test["outcome"] not in ("passed", "skipped")]
    missing = [name for name in found if not any(name in test for test in passed)]
    return len(passed), other + missing


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("checkout", type=pathlib.Path)
    words.add_argument("--max-examples", type=int, default=300, help="random cases of a test")
    words = words.parse_args()
    if not (words.checkout / "array-api" / "src").exists():
        sys.exit("the checkout lacks its submodule: git submodule update --init")
    total, failed = 0, []
    for version in sorted({np.__array_api_version__, "2025.12"}):
        passed, other = run(words.checkout.resolve(), version, words.max_examples)
        total, failed = total + passed, failed + [f"{version}: {test}" for test in other]
        sys.path.pop(0)
    print(*failed, sep="\n", end="\n" if failed else "")
    print(f"array_api_check: {total} tests passed, {len(failed)} failed")
    sys.exit(1 if failed or not total else 0)


if __name__ == "__main__":
    main()
