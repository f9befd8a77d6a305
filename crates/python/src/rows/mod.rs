//! Operations on rows: softmax, norms, cross-entropy, losses of two arrays, pooling, sums by index, and their
//! gradients.

mod call;
mod channels;
mod class;
mod norm;
mod pairs;
mod scatter;
mod softmax;
mod windows;

use pyo3::prelude::*;

/// Adds the functions of this folder.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    softmax::add(module)?;
    norm::add(module)?;
    channels::add(module)?;
    class::add(module)?;
    pairs::add(module)?;
    scatter::add(module)?;
    windows::add(module)
}
