//! Softmax and its logarithm.

use pyo3::prelude::*;
use warpfold::cuda::{self, rows::RowMap};
use warpfold::rows::{self, Softmax};

use super::call::{Axes, Object, computed, host, text};
use crate::gpu::GpuRows;
use crate::input::Input;
use crate::reduce::mask;

/// The two functions and their gradients: names, first lines and examples of each.
macro_rules! functions {
    ($(
        $name:ident, $first:literal, $returns:literal, $example:literal,
        $backward:ident, $of_gradient:literal, $its_example:literal;
    )*) => {
        $(
            #[doc = text!($first, [x axis mask scale], $returns, $example)]
            #[pyfunction]
            #[pyo3(signature = (x, /, axis=Axes::last(), *, r#where=None, scale=1.0))]
            #[pyo3(text_signature = "(x, /, axis=-1, *, where=None, scale=1.0)")]
            fn $name<'py>(
                x: &Bound<'py, PyAny>,
                axis: Axes,
                r#where: Object<'_, 'py>,
                scale: f64,
            ) -> PyResult<Bound<'py, PyAny>> {
                if let Some(on) = GpuRows::of(stringify!($name), x, [r#where, None, None, None])? {
                    return on.run(axis.of_rank(on.rank()), [scale, 0.0], |device, x, axes, arrays| {
                        RowMap::$name(device, x, axes, &cuda::rows::Softmax { scale, mask: arrays.mask })
                    });
                }
                let input = host(x)?;
                let (x, mask) = (input.layout()?, mask(&input, r#where)?);
                let (axes, mask) = (axis.of(&x), mask.as_ref().map(Input::layout).transpose()?);
                computed(&input, &x, |threads| rows::$name(x, &axes, &Softmax { scale, mask, threads }))
            }

            #[doc = text!(
                $of_gradient,
                [y gradient axis scale],
                "array\n    The gradient of the elements, of the shape and dtype of `y`.",
                $its_example
            )]
            #[pyfunction]
            #[pyo3(signature = (y, gradient, /, axis=Axes::last(), *, scale=1.0))]
            #[pyo3(text_signature = "(y, gradient, /, axis=-1, *, scale=1.0)")]
            fn $backward<'py>(
                y: &Bound<'py, PyAny>,
                gradient: &Bound<'py, PyAny>,
                axis: Axes,
                scale: f64,
            ) -> PyResult<Bound<'py, PyAny>> {
                if let Some(on) = GpuRows::of(stringify!($backward), y, [None, None, None, Some(gradient)])? {
                    return on.run(axis.of_rank(on.rank()), [scale, 0.0], |device, y, axes, arrays| {
                        let gradient = arrays.gradient.expect("it was given");
                        RowMap::$backward(device, y, &gradient, axes, &cuda::rows::Softmax { scale, mask: None })
                    });
                }
                let (input, gradient) = (host(y)?, host(gradient)?);
                let (y, gradient) = (input.layout()?, gradient.layout()?);
                let axes = axis.of(&y);
                computed(&input, &y, |threads| {
                    rows::$backward(y, gradient, &axes, &Softmax { scale, mask: None, threads })
                })
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
    softmax,
        "The softmax of each row: exp(x) / sum(exp(x)).",
        "array\n    Of the shape and dtype of `x`. 0 where an element takes no part. Rows with NaN or infinity, and \
         rows of\n    minus infinity alone, are NaN.",
        ">>> wf.softmax([[0.0, 0.0], [1000.0, -1000.0]])\narray([[0.5, 0.5],\n       [1. , 0. ]])\n\
         >>> wf.softmax([1.0, 1.0, 9.0], where=[True, True, False])\narray([0.5, 0.5, 0. ])\n",
    softmax_backward,
        "The gradient of the elements before a softmax, from its result and the gradient of that.",
        ">>> wf.softmax_backward([0.5, 0.5], [1.0, 0.0])\narray([ 0.25, -0.25])\n";
    log_softmax,
        "The logarithm of the softmax of each row, without its loss of digits.",
        "array\n    Of the shape and dtype of `x`. Minus infinity where an element takes no part.",
        ">>> wf.log_softmax([0.0, -1000.0])\narray([    0., -1000.])\n",
    log_softmax_backward,
        "The gradient of the elements before a log_softmax, from its result and the gradient of that.",
        ">>> wf.log_softmax_backward(np.log([0.5, 0.5]), [1.0, 0.0])\narray([ 0.5, -0.5])\n";
}
