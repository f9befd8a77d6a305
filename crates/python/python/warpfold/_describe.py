"""Statistics, plans and devices: results that people read."""

from collections import namedtuple

from . import _native

Device = namedtuple("Device", "name description processors memory capability")
Device.__doc__ = """A device that can compute: its name for `device=`, what it is, its processors (cores, or
multiprocessors of a GPU), bytes of memory (0: not asked), compute capability (None of the CPU)."""


class Description:
    """The statistics of an array, or of its slices: each is an attribute.

    `count` is the number of elements of each slice. A minimum, a maximum and their places are None where there are no
    elements.
    """

    NAMES = ("count", "nan_count", "min", "argmin", "max", "argmax", "mean", "std", "sum", "norm")
    __slots__ = (*NAMES, "dtype", "shape")

    def __init__(self, found, dtype, shape):
        for name in self.NAMES:
            setattr(self, name, found.get(name))
        self.dtype = dtype
        self.shape = shape

    def __iter__(self):
        return iter(self.NAMES)

    def __getitem__(self, name):
        if name not in self.NAMES:
            raise KeyError(name)
        return getattr(self, name)

    def keys(self):
        """The names of the statistics, so that `dict(description)` has them all."""
        return self.NAMES

    def __repr__(self):
        rows = [("dtype", self.dtype), ("shape", self.shape), *((name, getattr(self, name)) for name in self.NAMES)]
        return "\n".join(f"{name:10} {_text(value)}" for name, value in rows if value is not None)

    def _repr_html_(self):
        from html import escape

        rows = [("dtype", self.dtype), ("shape", self.shape), *((name, getattr(self, name)) for name in self.NAMES)]
        cells = "".join(
            f"<tr><th style='text-align: left'>{name}</th><td>{escape(_text(value))}</td></tr>"
            for name, value in rows
            if value is not None
        )
        return f"<table>{cells}</table>"


def _text(value):
    return " ".join(str(value).split())


def describe(x, axis=None, *, keepdims=False, where=None, skip_nan=False, device=None):
    """Ten statistics in one read of the data: each has the bits of the reduction of that name.

    Parameters
    ----------
    x : array
        An array of any library.
    axis : int or tuple of int, optional
        The axes to reduce; None: all.
    keepdims : bool
        Whether reduced axes stay, with length 1.
    where : array of bool, optional
        Describe only where it is true.
    skip_nan : bool
        Leave NaNs out.
    device : str, optional
        Where to compute. An array on a GPU is described there: the statistics are arrays of its library on that GPU,
        and of PyTorch and CuPy nothing waits. `where` is not taken there.

    Returns
    -------
    Description
        With `count`, `nan_count`, `min`, `argmin`, `max`, `argmax`, `mean`, `std` (of a population), `sum`, `norm`.

    Raises
    ------
    TypeError, ValueError, numpy.exceptions.AxisError
        As the reductions.

    Examples
    --------
    >>> import warpfold as wf
    >>> found = wf.describe([3.0, 1.0, 2.0])
    >>> found.argmin, found.mean
    (np.int64(1), np.float64(2.0))
    """
    count, found, dtype, shape = _native.describe(x, axis, keepdims, where, skip_nan, device)
    found.setdefault("count", count)
    return Description(found, dtype, shape)


class Plan(str):
    """What a reduction will do, in words."""

    def __repr__(self):
        return str(self)


def explain(op, x, axis=None, *, keepdims=False, dtype=None, precision=None, device=None):
    """What a reduction would do: the canonical problem, the way through memory, the kernels of a GPU. Nothing is computed.

    Parameters
    ----------
    op : str
        The name of a reduction.
    x : array
        An array of any library. Its elements are not read.
    axis, keepdims, dtype, precision
        As those of the reduction.
    device : str, optional
        `"cuda"` shows the plan of a GPU, even if there is none. Of arrays on a GPU it is that GPU's in any case.

    Returns
    -------
    Plan
        A string.

    Raises
    ------
    TypeError, ValueError, numpy.exceptions.AxisError
        As the reduction.

    Examples
    --------
    >>> import warpfold as wf
    >>> "2 outputs of 3 elements" in wf.explain("sum", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], axis=1)
    True
    """
    return Plan(_native.explain(op, x, axis, keepdims, dtype, precision, device))


def devices():
    """The devices that can compute here: the CPU, then each GPU.

    Returns
    -------
    list of Device
        Named tuples: name, description, processors, memory, capability.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.devices()[0].name
    'cpu'
    """
    return [Device(*found) for found in _native.devices()]
