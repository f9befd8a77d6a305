"""Arrays of other libraries: values without a copy, nulls as masks, results of the same kind. What is not installed is
skipped."""

import numpy as np
import pytest
from conftest import bits

import warpfold as wf

VALUES = [1.5, 2.0, -3.0, 4.0]


def test_masked_arrays():
    x = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 1]])
    assert wf.sum(x) == 4 and wf.max(x) == 3 and wf.argmax(x) == 2
    found = wf.sum(x, axis=0)
    assert isinstance(found, np.ma.MaskedArray) and found.mask.tolist() == [False, True] and found[0] == 4
    assert wf.mean(x, axis=1).tolist() == [1, 3]
    assert wf.sum(np.ma.array([1.0], mask=[True])) is np.ma.masked
    assert wf.sum(np.ma.array([1.0, 2.0])) == 3
    assert wf.sum(x, where=[[True, True], [False, True]]) == 1


def test_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array(VALUES, ml_dtypes.bfloat16)
    assert wf.sum(x).dtype == x.dtype and float(wf.sum(x)) == 4.5
    assert wf.sum(x.reshape(2, 2), axis=0).dtype == x.dtype
    assert wf.sum(x, dtype="f4").dtype == np.float32
    assert wf.sum(np.array(VALUES, "f4"), dtype=ml_dtypes.bfloat16).dtype == x.dtype
    assert bits(wf.tree_reference(x)) == bits(wf.sum(x))
    with pytest.raises(TypeError):
        wf.sum(np.array(VALUES, ml_dtypes.float8_e4m3fn))


def test_pandas():
    pd = pytest.importorskip("pandas")
    assert wf.sum(pd.Series(VALUES)) == 4.5
    assert wf.sum(pd.Series([1, None, 3], dtype="Int64")) == 4
    assert wf.mean(pd.Series([1.0, None, 3.0], dtype="Float64")) == 2
    assert wf.max(pd.Series([1, 2], dtype="int8")).dtype == np.int8
    assert wf.sum(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), axis=0).tolist() == [3, 7]
    assert wf.group_by(pd.Series(VALUES), pd.Series([0, 1, 0, 1]), "sum").tolist() == [-1.5, 6]
    with pytest.raises(TypeError):
        wf.sum(pd.Series(["a"]))


def test_polars():
    pl = pytest.importorskip("polars")
    assert wf.sum(pl.Series(VALUES)) == 4.5
    assert wf.sum(pl.Series([1, None, 3])) == 4
    assert wf.var(pl.Series([1.0, None, 3.0])) == 1
    with pytest.raises(TypeError):
        wf.sum(pl.Series(["a"]))


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    assert wf.sum(pa.array(VALUES)) == 4.5
    assert wf.sum(pa.array([1, None, 3])) == 4
    assert wf.sum(pa.array([9, 1, None, 3])[1:]) == 4
    assert wf.any(pa.array([False, None, True])) and not wf.all(pa.array([False, None, True]))
    assert wf.mean(pa.chunked_array([[1.0], [3.0, None]])) == 2
    assert wf.sum(pa.array([], pa.float32())) == 0
    assert wf.sum(pa.array([1.5, 2.5], pa.float16())).dtype == np.float16
    for wrong in (pa.array(["a"]), pa.table({"a": [1]}), pa.array([1], pa.timestamp("s"))):
        with pytest.raises(TypeError):
            wf.sum(wrong)


def test_dlpack_of_another_kind():
    class Lender:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **options):
            return self.x.__dlpack__()

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = np.arange(12, dtype="f4").reshape(3, 4)
    assert bits(wf.sum(Lender(x.T), axis=0)) == bits(wf.sum(x.T, axis=0))
    assert wf.sum(Lender(x[::-1, ::2])) == wf.sum(x[::-1, ::2])
    with pytest.raises(TypeError):
        wf.sum(Lender(x.astype(complex)))

    class Liar(Lender):
        def __dlpack__(self, **options):
            return 3

    with pytest.raises(TypeError):
        wf.sum(Liar(x))


def test_torch():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.bool):
        x = torch.tensor([[1, 2, 3], [4, 5, 6]]).to(dtype)
        found = wf.max(x, axis=0)
        assert isinstance(found, torch.Tensor) and found.dtype == dtype and found.tolist() == x[1].tolist()
        assert bits(wf.sum(x.T, axis=0).float().numpy()) == bits(wf.sum(x, axis=1).float().numpy())
        total = wf.sum(x)
        assert isinstance(total, torch.Tensor) and total.shape == () and total.item() == x.sum().item()
    x = torch.arange(6.0).reshape(2, 3)
    assert wf.sum(x, where=x > 2).item() == 12
    assert wf.mean(x, dtype=torch.float64).dtype == torch.float64
    out = torch.zeros(3)
    assert wf.sum(x, 0, out=out) is out and out.tolist() == [3, 5, 7]
    assert wf.group_by(x, torch.tensor([1, 0]), "sum").tolist() == [[3, 4, 5], [0, 1, 2]]
    assert isinstance(wf.unique_values(x), torch.Tensor)
    least, greatest = wf.minmax(x)
    assert (least.item(), greatest.item()) == (0, 5)
    negative = torch.complex(torch.zeros(2), torch.arange(2.0) + 1).conj().imag
    assert negative.is_neg() and wf.sum(negative).item() == -3
    large = torch.rand(1000, 1000)
    assert wf.sum(large, 0).shape == (1000,) and wf.sum(large.T, 0).shape == (1000,)
    assert wf.sum(large).numpy() == wf.sum(large.numpy())
    x.requires_grad_()
    with pytest.raises(TypeError, match="detach"):
        wf.sum(x)
    with torch.no_grad():
        assert wf.sum(x).item() == 15
    assert wf.sum(x.detach()).item() == 15
    with pytest.raises(TypeError):
        wf.sum(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(TypeError):
        wf.sum(torch.eye(3).to_sparse())
    with pytest.raises((TypeError, ValueError, wf.Error)):
        wf.sum(torch.zeros(3, device="meta"))


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(6, dtype=jax.numpy.float32).reshape(2, 3)
    found = wf.sum(x, axis=0)
    assert isinstance(found, jax.Array) and found.tolist() == [3, 5, 7]
    assert wf.mean(x.astype(jax.numpy.bfloat16)).dtype == jax.numpy.bfloat16
    assert wf.sum(x, dtype=jax.numpy.float16).dtype == jax.numpy.float16
