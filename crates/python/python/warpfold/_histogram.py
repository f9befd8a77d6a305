"""`histogram`: the arguments that NumPy's has, on top of counting between edges."""

import operator

import numpy as np

from . import _native


def histogram(x, bins=10, range=None, density=None, weights=None, *, device=None):
    """The number of elements between edges, or the sum of their weights.

    Parameters
    ----------
    x : array
        Of any shape. NaN and what is outside of all bins is not counted.
    bins : int, sequence of number, or str
        The number of bins of one width, or their edges, which do not decrease, or the name of a rule by which
        `numpy.histogram_bin_edges` chooses the edges: "auto", "fd", "sturges"…
    range : tuple of number, optional
        The first and the last edge; by default the least and the greatest element.
    density : bool, optional
        Divide by the total and by the widths, so that the integral over the bins is 1.
    weights : array, optional
        Of the shape of `x`.
    device : str, optional
        Where to compute. Arrays on a GPU are computed there, and the call waits until it is done.

    Returns
    -------
    tuple of array
        Counts (int64), sums or densities, and the edges: those of `numpy.histogram`, bit for bit; given
        ones as float64.

    Raises
    ------
    TypeError
        For `bins` that are neither, and for what is no array.
    ValueError
        For no bins, edges that decrease, a range that is not finite.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.histogram([1.0, 2.0, 2.5, 4.0], bins=3)
    (array([1, 2, 1]), array([1., 2., 3., 4.]))
    >>> wf.histogram([1.0, 2.0, 2.5, 4.0], bins=[0, 2, 4], density=True)[0]
    array([0.125, 0.375])
    """
    if range is not None:
        if np.shape(range) != (2,):
            raise ValueError("range must be two numbers, the first and the last edge")
        range = (float(range[0]), float(range[1]))
    if isinstance(bins, str):
        bins, range = np.histogram_bin_edges(np.asarray(x), bins, range, weights), None
    bins = _bins(10 if bins is None else bins)
    if range is not None and not isinstance(bins, int):
        raise ValueError("give edges, or a range, not both")
    counts, edges = _native.histogram(x, bins, range, weights, device)
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / _native.sum(counts)
    return counts, edges


def _bins(bins):
    """A number of bins, or a list of edges."""
    shape = np.shape(bins)
    if len(shape) > 1:
        raise ValueError(f"edges must be 1d, these have shape {shape}")
    try:
        if shape == ():
            bins = operator.index(bins)
        else:
            return [float(edge) for edge in bins]
    except TypeError as error:
        raise TypeError("bins must be a number of bins, a sequence of edges, or the name of a rule") from error
    if bins < 1:
        raise ValueError(f"there must be at least one bin, not {bins}")
    return bins
