#!/usr/bin/env python3
"""Runs the tests of the installed NumPy with Warpfold's reductions in place of NumPy's.

    checks/numpy_check.py [-k EXPRESSION]

NumPy's test files are copied with two changes: `np` is a namespace that has our functions where NumPy has functions of
the same name, and a method call such as `x.sum()` of an array becomes a call of our function. A function of ours takes
what has a dtype of ours. Arrays of other dtypes (complex, object, longdouble, dates, text) go to NumPy's function.

A test counts if it has called a function of ours. `numpy_differs.txt` beside this file lists the tests that fail, each
under the reason. Brackets hold a regular expression of cases; a name without them stands for all cases. The exit status
is 1 if another test fails, and if one of the list passes.
"""

import argparse
import ast
import pathlib
import re
import sys
import tempfile
import types

import numpy as np
import pytest

import warpfold as wf
import warpfold.array_api

LIST = pathlib.Path(__file__).with_name("numpy_differs.txt")
FILES = [
    "_core/tests/test_numeric.py",
    "_core/tests/test_multiarray.py",
    "_core/tests/test_umath.py",
    "_core/tests/test_regression.py",
    "_core/tests/test_half.py",
    "lib/tests/test_nanfunctions.py",
    "lib/tests/test_function_base.py",
    "lib/tests/test_histograms.py",
    "lib/tests/test_arraysetops.py",
]
METHODS = ["sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax"]
NAMES = METHODS + ["count_nonzero", "bincount", "histogram"] + [
    "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "nanargmin", "nanargmax",
    "unique_all", "unique_counts", "unique_inverse", "unique_values",
]
ALIASES = {"amin": "min", "amax": "max"}
OURS = [np.dtype(name) for name in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()]

called = 0


def is_ours(x):
    """Whether a function of ours has the dtype of an argument."""
    try:
        return np.asarray(x).dtype.newbyteorder("=") in OURS
    except Exception:
        # What is no array for NumPy either: ours has to refuse it, too.
        return True


def function(name):
    """A function of ours, or NumPy's for what has another dtype."""
    # NumPy's `unique_…` are the standard's.
    ours, theirs = getattr(wf.array_api if name.startswith("unique") else wf, name), getattr(np, name)

    def call(x, *args, **options):
        global called
        has_dtype = len(args) > 1 and name in ("sum", "prod", "mean", "var", "std")
        dtype = options.get("dtype", args[1] if has_dtype else None)
        weights = options.get("weights")
        cast = dtype is None or is_ours(np.empty(0, dtype))
        if not (is_ours(x) and cast and (weights is None or is_ours(weights))):
            return theirs(x, *args, **options)
        called += 1
        return ours(x, *args, **options)

    call.__name__ = call.__qualname__ = name
    return call


FUNCTIONS = {name: function(name) for name in NAMES}
FUNCTIONS.update({alias: FUNCTIONS[name] for alias, name in ALIASES.items()})


class Namespace(types.ModuleType):
    """NumPy with our functions."""

    def __init__(self):
        super().__init__("numpy")
        self.__dict__.update(FUNCTIONS)

    def __getattr__(self, name):
        return getattr(np, name)


def method(x, name):
    """A method of an array of our dtypes is our function; of anything else, its own."""
    if (type(x) is np.ndarray or isinstance(x, np.generic)) and is_ours(x):
        return lambda *args, **options: FUNCTIONS[name](x, *args, **options)
    return getattr(x, name)


class Calls(ast.NodeTransformer):
    """`x.sum(…)` becomes `_method(x, "sum")(…)`."""

    def visit_Call(self, node):
        self.generic_visit(node)
        of = node.func
        if isinstance(of, ast.Attribute) and of.attr in METHODS:
            arguments = [of.value, ast.Constant(of.attr)]
            node.func = ast.Call(ast.Name("_method", ast.Load()), arguments, [])
        return node


def copy(source, folder):
    """A copy of a test file, with our functions."""
    tree = Calls().visit(ast.parse(source.read_text(encoding="utf-8")))
    imports = [i for i, node in enumerate(tree.body) if isinstance(node, ast.Import) and node.names[0].asname == "np"]
    after = imports[0] + 1
    tree.body[after:after] = ast.parse("from numpy_check import NAMESPACE as np, method as _method").body
    target = folder / f"{source.parts[-3].strip('_')}_{source.name}"
    target.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    return target


class Recorder:
    """How each test that called a function of ours has ended, and which others have failed."""

    def __init__(self):
        self.passed, self.failed, self.others = set(), {}, []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        global called
        report = yield
        if call.when == "setup":
            called = 0
        elif call.when == "call" and not called:
            self.others += [item.nodeid] * report.failed
        elif call.when == "call" and report.failed:
            self.failed[item.nodeid] = " ".join(report.longrepr.reprcrash.message.split())[:200]
        elif call.when == "call" and report.passed:
            self.passed.add(item.nodeid)
        return report


NAMESPACE = Namespace()


def listed():
    """The tests that are known to fail, each with its reason: a line that ends with a colon, then a test a line."""
    reasons, reason = {}, None
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.endswith(":"):
            reason = line[:-1]
        elif line and not line.startswith("#"):
            reasons[line] = reason
    return reasons


def stands_for(entry, test):
    """Whether an entry of the list has a test."""
    (name, _, cases), (found, _, case) = entry.partition("["), test.partition("[")
    return name == found and (not cases or re.fullmatch(cases.removesuffix("]"), case.removesuffix("]")) is not None)


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("-k", metavar="EXPRESSION", default="", help="only these tests of NumPy's")
    words = words.parse_args()
    # The copies import this module by its name.
    sys.modules["numpy_check"] = sys.modules["__main__"]
    recorder, root = Recorder(), pathlib.Path(np.__file__).parent
    if not all((root / name).exists() for name in FILES):
        sys.exit("the installed NumPy has no tests: install it from its sdist")
    with tempfile.TemporaryDirectory() as folder:
        copies = [str(copy(root / name, pathlib.Path(folder))) for name in FILES]
        options = ["-q", "--tb=native", "--show-capture=no", "-r", "N", "-p", "no:cacheprovider"]
        pytest.main([*options, "--rootdir", folder, "-c", "/dev/null", "-k", words.k, *copies], plugins=[recorder])

    known, wrong = listed(), 0
    for test, why in recorder.failed.items():
        if not any(stands_for(entry, test) for entry in known):
            wrong += 1
            print(f"differs: {test}\n    {why}")
    for entry in known:
        passing = [test for test in recorder.passed if stands_for(entry, test)]
        failing = [test for test in recorder.failed if stands_for(entry, test)]
        if passing or not (failing or words.k):
            wrong += 1
            print("no longer differs:", *(passing or [entry]), sep="\n    ")
    for test in recorder.others:
        print(f"fails, but calls nothing of ours: {test}")
    done, failed = len(recorder.passed), len(recorder.failed)
    print(f"numpy_check: NumPy {np.__version__}: {done} tests passed, {failed} differ, {wrong} not as listed")
    sys.exit(1 if wrong or not done else 0)


if __name__ == "__main__":
    main()
