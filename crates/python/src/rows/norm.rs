//! Root-mean-square norm and layer norm.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpfold::Array;
use warpfold::cuda;
use warpfold::cuda::rows::{RowArrays, RowMap};
use warpfold::rows::{self, Norm};

use super::call::{Axes, Object, computed, host, layout, optional, text};
use crate::gpu::GpuRows;
use crate::input::Input;
use crate::pool;

/// A gradient that there is if the array is given, as an array of that kind.
fn of<'py>(
    py: Python<'py>,
    array: &Option<Input<'py>>,
    gradient: Option<Array>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    array.as_ref().zip(gradient).map(|(array, gradient)| array.result(py, gradient, None)).transpose()
}

/// The two norms and their gradients: names, first lines and examples of each. A gradient's docstring is Python's, in
/// `warpfold._rows`.
macro_rules! functions {
    ($($name:ident, $first:literal, $example:literal, $backward:ident;)*) => {
        $(
            #[doc = text!(
                $first,
                [x weight axis epsilon offset],
                "array\n    Of the shape and dtype of `x`.",
                $example
            )]
            #[pyfunction]
            #[pyo3(signature = (
                x, weight=None, bias=None, axis=Axes::last(), *, epsilon=1e-5, weight_offset=0.0
            ))]
            #[pyo3(text_signature = "(x, weight=None, bias=None, axis=-1, *, epsilon=1e-05, weight_offset=0.0)")]
            fn $name<'py>(
                x: &Bound<'py, PyAny>,
                weight: Object<'_, 'py>,
                bias: Object<'_, 'py>,
                axis: Axes,
                epsilon: f64,
                weight_offset: f64,
            ) -> PyResult<Bound<'py, PyAny>> {
                if let Some(on) = GpuRows::of(stringify!($name), x, [None, weight, bias, None])? {
                    let numbers = [epsilon, weight_offset];
                    return on.run(axis.of_rank(on.rank()), numbers, |device, x, axes, arrays| {
                        let &RowArrays { weight, bias, .. } = arrays;
                        RowMap::$name(device, x, axes, &cuda::rows::Norm { weight, weight_offset, bias, epsilon })
                    });
                }
                let (input, weight, bias) = (host(x)?, optional(weight)?, optional(bias)?);
                let (x, weight, bias) = (input.layout()?, layout(&weight)?, layout(&bias)?);
                let axes = axis.of(&x);
                computed(&input, &x, |threads| {
                    rows::$name(x, &axes, &Norm { weight, weight_offset, bias, epsilon, threads })
                })
            }

            #[pyfunction]
            fn $backward<'py>(
                x: &Bound<'py, PyAny>,
                gradient: &Bound<'py, PyAny>,
                weight: Object<'_, 'py>,
                bias: Object<'_, 'py>,
                axis: Axes,
                epsilon: f64,
                weight_offset: f64,
            ) -> PyResult<Bound<'py, PyTuple>> {
                let py = x.py();
                let (input, gradient) = (host(x)?, host(gradient)?);
                let (weights, biases) = (optional(weight)?, optional(bias)?);
                let (x, gradient) = (input.layout()?, gradient.layout()?);
                let (weight, bias, axes) = (layout(&weights)?, layout(&biases)?, axis.of(&x));
                let found = pool::run(py, x.len(), |how| {
                    let options = Norm { weight, weight_offset, bias, epsilon, threads: how.threads };
                    rows::$backward(x, gradient, &axes, &options)
                })?;
                let of_x = Some(input.result(py, found.x, None)?);
                PyTuple::new(py, [of_x, of(py, &weights, found.weight)?, of(py, &biases, found.bias)?])
            }
        )*

        /// Adds the functions of this file.
        pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(
                module.add_function(wrap_pyfunction!($name, module)?)?;
                module.add_function(wrap_pyfunction!($backward, module)?)?;
            )*
            Ok(())
        }
    };
}

functions! {
    rms_norm,
        "Each row over the root of its mean square: x / sqrt(mean(x * x) + epsilon) * weight + bias.",
        ">>> wf.rms_norm([3.0, -3.0], [1.0, 2.0], epsilon=0)\narray([ 1., -2.])\n",
        rms_norm_backward;
    layer_norm,
        "Each row less its mean, over its deviation: (x - mean) / sqrt(var + epsilon) * weight + bias.",
        ">>> wf.layer_norm([1.0, 3.0], bias=[0.0, 1.0], epsilon=0)\narray([-1.,  2.])\n",
        layer_norm_backward;
}
