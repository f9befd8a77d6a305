#!/usr/bin/env python3
"""Runs the tests of the installed NumPy with Warpfold's reductions in place of NumPy's.

    checks/numpy_check.py [-k EXPRESSION] [-v]

NumPy's test files are copied with two changes: `np` is a namespace that has our functions where NumPy has functions of
the same name, and a method call such as `x.sum()` of an array becomes a call of our function. A function of ours takes
what has a dtype of ours. Arrays of other dtypes (complex, object, longdouble, dates, text) go to NumPy's function.

A test counts if it has called a function of ours. `numpy_differs.txt` beside this file lists the tests that fail, each
under the reason. The exit status is 1 if another test fails, and if one of the list passes.
"""

import argparse
import ast
import pathlib
import sys
import tempfile
import types

import numpy as np
import pytest

import warpfold as wf

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
    ours, theirs = getattr(wf, name), getattr(np, name)

    def call(x, *args, **options):
        global called
        dtype = options.get("dtype", args[1] if len(args) > 1 and name in ("sum", "prod", "mean", "var", "std") else None)
        weights = options.get("weights")
        known = is_ours(x) and all(arg is None or is_ours(np.empty(0, arg)) for arg in [dtype])
        if not known or (weights is not None and not is_ours(weights)):
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
    """A method of an array is our function; of anything else, its own."""
    if type(x) is np.ndarray or isinstance(x, np.generic):
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
    after = [i for i, node in enumerate(tree.body) if isinstance(node, ast.Import) and node.names[0].asname == "np"]
    tree.body[after[0] + 1 : after[0] + 1] = ast.parse("from numpy_check import NAMESPACE as np, method as _method").body
    target = folder / f"{source.parts[-3].strip('_')}_{source.name}"
    target.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    return target


class Recorder:
    """How each test that called a function of ours has ended."""

    def __init__(self):
        self.passed, self.failed, self.others = [], {}, 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        global called
        report = yield
        if call.when == "setup":
            called = 0
        name = item.nodeid.removeprefix("test_").replace("::()", "")
        if call.when == "call":
            if not called:
                self.others += report.failed
            elif report.failed:
                self.failed[name] = str(report.longrepr.reprcrash.message if report.longrepr else "")
            elif report.passed:
                self.passed.append(name)
        return report


NAMESPACE = Namespace()


def listed():
    """The tests that are known to fail, with the reasons: headings in brackets, and a test a line."""
    reasons, reason = {}, None
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            reason = line.strip("[]")
        elif line and not line.startswith("#"):
            reasons[line] = reason
    return reasons


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("-k", metavar="EXPRESSION", help="only these tests; the list is not held against them")
    words.add_argument("-v", action="store_true", help="print why each test fails that is not listed")
    words = words.parse_args()
    sys.modules["numpy_check"] = sys.modules["__main__"]
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(np.__file__).parent
        copies = [str(copy(root / name, pathlib.Path(folder))) for name in FILES]
        options = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "--rootdir", folder, "-c", "/dev/null", "--show-capture=no", "-r", "N"]
        pytest.main([*options, *(["-k", words.k] if words.k else []), *copies], plugins=[recorder])
    for name, why in recorder.failed.items():
        print(name, "|", why.replace("\n", " ")[:300] if words.v else "")
    print(len(recorder.passed), len(recorder.failed), recorder.others)


if __name__ == "__main__":
    main()
