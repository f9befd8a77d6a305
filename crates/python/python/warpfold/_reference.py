"""The tree, in Python: what a result is, to read and to compare with. It is slow on purpose."""

import numpy as np


def tree_reference(x, op="sum"):
    """A reduction of all elements by the tree's definition: combine neighbours, leave an odd last one, repeat.

    The result has the bits of `getattr(warpfold, op)(x)`.

    Parameters
    ----------
    x : array
        Of floats; elements are taken in row-major order.
    op : {"sum", "mean", "prod", "var", "std"}
        The reduction.

    Returns
    -------
    scalar
        Of the dtype of `x`.

    Raises
    ------
    TypeError
        For elements that are no floats.
    ValueError
        For another reduction.

    Examples
    --------
    >>> import numpy as np, warpfold as wf
    >>> x = np.random.default_rng(0).random(1001, "f4")
    >>> bool(wf.tree_reference(x) == wf.sum(x))
    True
    """
    if op not in ("sum", "mean", "prod", "var", "std"):
        raise ValueError(f"the reference has sum, mean, prod, var and std, not {op!r}")
    x = np.asarray(x)
    kinds = {"float16": np.float32, "bfloat16": np.float32, "float32": np.float32, "float64": np.float64}
    if x.dtype.name not in kinds:
        raise TypeError(f"the reference is of floats, not of {x.dtype}: sums of integers have no rounding to define")
    real = kinds[x.dtype.name]
    leaves, n = [real(element) for element in x.ravel().tolist()], x.size
    with np.errstate(all="ignore"):
        if op in ("sum", "mean", "prod"):
            root = _tree(leaves, (lambda a, b: a * b) if op == "prod" else (lambda a, b: a + b))
            nothing = real(1 if op == "prod" else 0)
            result = nothing if root is None else root
            result = result / real(n) if op == "mean" else result
        else:
            root = _tree([(1, mean, mean - mean) for mean in leaves], lambda a, b: _deviations(a, b, real))
            result = real("nan") if root is None else root[2] / real(n)
            result = np.sqrt(result) if op == "std" else result
        result = real("nan") if np.isnan(result) else result
        return x.dtype.type(result)


def _tree(nodes, combine):
    """The root of the tree over a list of nodes; None if there are none."""
    while len(nodes) > 1:
        pairs = [combine(a, b) for a, b in zip(nodes[0::2], nodes[1::2])]
        nodes = pairs + nodes[len(pairs) * 2 :]
    return nodes[0] if nodes else None


def _deviations(left, right, real):
    """The node above two: the number of elements, their mean, the sum of their squared deviations from it."""
    (m, mean, m2), (n, other, other2) = left, right
    d = other - mean
    if m == n:
        step, weight = d * real(0.5), real(m) * real(0.5)
    else:
        share = real(n) / (real(m) + real(n))
        step, weight = d * share, real(m) * share
    return m + n, mean + step, (m2 + other2) + (d * d) * weight
