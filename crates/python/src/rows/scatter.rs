//! Sums into places that indices name.

use pyo3::prelude::*;
use warpfold::rows::{self, Embedding};

use super::call::{computed, host, text};
use crate::options::Count;

#[doc = text!(
    "Adds indices of an array to indices of `x` along an axis, by a list: to each element the tree over its own.",
    [places added index alpha],
    "array\n    Of the shape and dtype of `x`, rounded once. Elements to which nothing goes are as they were.",
    ">>> wf.index_add([1.0, 2.0, 3.0], 0, [2, 0, 2], [10.0, 20.0, 30.0])\narray([21.,  2., 43.])\n"
)]
#[pyfunction]
#[pyo3(signature = (x, axis, index, source, *, alpha=1.0))]
fn index_add<'py>(
    x: &Bound<'py, PyAny>,
    axis: isize,
    index: &Bound<'py, PyAny>,
    source: &Bound<'py, PyAny>,
    alpha: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let (input, index, source) = (host(x)?, host(index)?, host(source)?);
    let (x, index, source) = (input.layout()?, index.layout()?, source.layout()?);
    computed(&input, &source, |threads| rows::index_add(x, axis, index, source, alpha, threads))
}

#[doc = text!(
    "Adds elements of an array to elements of `x`, whose index along an axis is given: to each the tree over its own.",
    [places added indices],
    "array\n    Of the shape and dtype of `x`, rounded once. Elements to which nothing goes are as they were.",
    ">>> wf.scatter_add([[1.0, 2.0]], 1, [[1, 1, 0]], [[10.0, 20.0, 30.0]])\narray([[31., 32.]])\n"
)]
#[pyfunction]
#[pyo3(signature = (x, axis, index, source))]
fn scatter_add<'py>(
    x: &Bound<'py, PyAny>,
    axis: isize,
    index: &Bound<'py, PyAny>,
    source: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (input, index, source) = (host(x)?, host(index)?, host(source)?);
    let (x, index, source) = (input.layout()?, index.layout()?, source.layout()?);
    computed(&input, &source, |threads| rows::scatter_add(x, axis, index, source, threads))
}

#[doc = text!(
    "The gradient of a table, from that of the rows that were taken: of each row the tree over its gradients.",
    [taken],
    "array\n    Of shape (num_embeddings, length of a row), in the dtype of `gradient`.",
    ">>> wf.embedding_backward([[1.0], [2.0], [3.0]], [2, 0, 2], 3)\narray([[2.],\n       [0.],\n       [4.]])\n"
)]
#[pyfunction]
#[pyo3(signature = (gradient, indices, num_embeddings, *, padding_idx=None, scale_grad_by_freq=false))]
fn embedding_backward<'py>(
    gradient: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    num_embeddings: Count,
    padding_idx: Option<Count>,
    scale_grad_by_freq: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (input, indices) = (host(gradient)?, host(indices)?);
    let (gradient, indices) = (input.layout()?, indices.layout()?);
    computed(&input, &gradient, |threads| {
        let padding = padding_idx.map(|Count(index)| index);
        let options = Embedding { padding, by_frequency: scale_grad_by_freq, threads };
        rows::embedding_backward(gradient, indices, num_embeddings.0, &options)
    })
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(index_add, module)?)?;
    module.add_function(wrap_pyfunction!(scatter_add, module)?)?;
    module.add_function(wrap_pyfunction!(embedding_backward, module)?)
}
