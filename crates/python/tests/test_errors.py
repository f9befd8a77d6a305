"""What is refused, and by which exception."""

import numpy as np
import pytest

import warpfold as wf

X = np.ones((2, 3), "f4")

REFUSED = [
    (np.exceptions.AxisError, lambda: wf.sum(X, axis=2)),
    (np.exceptions.AxisError, lambda: wf.sum(X, axis=(0, -3))),
    (np.exceptions.AxisError, lambda: wf.sum(1.0, axis=0)),
    (ValueError, lambda: wf.sum(X, axis=(0, 0))),
    (TypeError, lambda: wf.sum(X, axis=1.5)),
    (TypeError, lambda: wf.sum(X, axis="0")),
    (TypeError, lambda: wf.sum(X, axis=True)),
    (TypeError, lambda: wf.sum()),
    (TypeError, lambda: wf.sum(X, nonsense=1)),
    (TypeError, lambda: wf.sum("abc")),
    (TypeError, lambda: wf.sum(b"abc")),
    (TypeError, lambda: wf.sum(None)),
    (TypeError, lambda: wf.sum(object())),
    (TypeError, lambda: wf.sum([[1], [2, 3]])),
    (TypeError, lambda: wf.sum(np.zeros(3, complex))),
    (TypeError, lambda: wf.sum(np.zeros(3, "M8[s]"))),
    (TypeError, lambda: wf.sum(np.zeros(3, "f4,f4"))),
    (TypeError, lambda: wf.sum(np.zeros(3, np.longdouble))),
    (TypeError, lambda: wf.sum(X, where=X)),
    (ValueError, lambda: wf.sum(X, where=np.ones(2, bool))),
    (ValueError, lambda: wf.sum(X, where=np.ones((4, 2, 3), bool))),
    (TypeError, lambda: wf.sum(X, dtype="i4")),
    (TypeError, lambda: wf.sum(X, dtype="nonsense")),
    (TypeError, lambda: wf.sum(X, dtype=complex)),
    (TypeError, lambda: wf.sum([1, 2], initial=0.5)),
    (TypeError, lambda: wf.sum([1, 2], initial="a")),
    (ValueError, lambda: wf.max(np.zeros(2, "u1"), initial=-1)),
    (ValueError, lambda: wf.max(np.zeros(2, "u1"), initial=300)),
    (ValueError, lambda: wf.sum(np.zeros(2, "u1"), initial=-1)),
    (ValueError, lambda: wf.sum([1, 2], initial=2**70)),
    (ValueError, lambda: wf.group_by(np.zeros(2, "u1"), [0, 2], "max", fill=-1)),
    (TypeError, lambda: wf.group_by([1, 2], [0, 2], "max", fill=np.nan)),
    (TypeError, lambda: wf.segmented([1, 2], [0, 0, 2], "argmax", fill=0.5)),
    (ValueError, lambda: wf.Spans("sum", "f8", (-1,))),
    (ValueError, lambda: wf.Spans("sum", "f8").finish(-1)),
    (ValueError, lambda: wf.Stream("sum", "f8", start=-1)),
    (ValueError, lambda: wf.Stream("sum", "f8", start=2**63)),
    (ValueError, lambda: wf.min(np.zeros(0))),
    (ValueError, lambda: wf.argmax(np.zeros((2, 0)), axis=1)),
    (ValueError, lambda: wf.nanargmin([np.nan])),
    (ValueError, lambda: wf.min([1, 2], where=[False, False])),
    (ValueError, lambda: wf.var(X, ddof=1, correction=1)),
    (ValueError, lambda: wf.var(X, ddof=np.inf)),
    (TypeError, lambda: wf.var(X, ddof="1")),
    (ValueError, lambda: wf.norm(X, ord=3)),
    (ValueError, lambda: wf.sum(X, precision="double")),
    (TypeError, lambda: wf.sum(X, precision=2)),
    (ValueError, lambda: wf.sum(X, axis=0, out=np.zeros(2, "f4"))),
    (TypeError, lambda: wf.sum(X, axis=0, out=[0, 0, 0])),
    (TypeError, lambda: wf.sum(X, axis=0, out=np.zeros(3, "i4"))),
    (ValueError, lambda: wf.sum(np.zeros((1,) * 17))),
    (wf.Error, lambda: wf.sum(X, device="tpu")),
    (wf.Error, lambda: wf.sum(X, device="cuda:77")),
    (ValueError, lambda: wf.set_num_threads(0)),
    (ValueError, lambda: wf.set_num_threads(-1)),
    (MemoryError, lambda: wf.sum(np.broadcast_to(np.float32(0), (1 << 50, 1)), axis=1)),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_is_refused(number):
    kind, call = REFUSED[number]
    with pytest.raises(kind) as said:
        call()
    assert str(said.value)
    assert issubclass(wf.Error, RuntimeError)
