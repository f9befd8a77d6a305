//! Root-mean-square norm and layer norm.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpfold::cuda::rows::{RowArrays, RowMap};
use warpfold::cuda::{self, ArrayView, Device};
use warpfold::rows::{self, Norm, NormGradients};
use warpfold::{Array, Error};

use super::call::{Axes, Object, computed, host, layout, optional, text};
use crate::gpu::{GpuRows, Wanted};
use crate::input::Input;
use crate::pool;

/// The gradients of a norm, each as an array of the kind that was given.
pub fn gradients<'py>(
    x: &Input<'py>,
    weight: &Option<Input<'py>>,
    bias: &Option<Input<'py>>,
    found: NormGradients,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = x.py();
    let of = |array: &Option<Input<'py>>, gradient: Option<Array>| {
        array.as_ref().zip(gradient).map(|(array, gradient)| array.result(py, gradient, None)).transpose()
    };
    PyTuple::new(py, [Some(x.result(py, found.x, None)?), of(weight, found.weight)?, of(bias, found.bias)?])
}

/// The gradients of layer norm of rows whose means, and one over their deviations, are given: for `warpfold.torch`.
#[pyfunction]
fn layer_norm_backward_given<'py>(
    x: &Bound<'py, PyAny>,
    gradient: &Bound<'py, PyAny>,
    mean: &Bound<'py, PyAny>,
    inverse: &Bound<'py, PyAny>,
    weight: Object<'_, 'py>,
    bias: Object<'_, 'py>,
    axis: Axes,
) -> PyResult<Bound<'py, PyTuple>> {
    let (input, gradient, mean, inverse) = (host(x)?, host(gradient)?, host(mean)?, host(inverse)?);
    let (weights, biases) = (optional(weight)?, optional(bias)?);
    let (x, gradient, statistics) = (input.layout()?, gradient.layout()?, [mean.layout()?, inverse.layout()?]);
    let (weight, bias, axes) = (layout(&weights)?, layout(&biases)?, axis.of(&x));
    let found = pool::run(input.py(), x.len(), |how| {
        let options = Norm { weight, bias, threads: how.threads, ..Norm::default() };
        rows::layer_norm_backward_given(x, gradient, statistics, &axes, &options)
    })?;
    gradients(&input, &weights, &biases, found)
}

/// What prepares a norm on a GPU.
type Plan = fn(&Device, &ArrayView<'_>, &[isize], &cuda::rows::Norm<'_>) -> Result<RowMap, Error>;

/// The wanted results of a norm, if its elements are on a GPU. The last numbers are `epsilon` and `weight_offset`.
fn on_gpu<'py, const N: usize>(
    (op, plan): (&'static str, Plan),
    [x, weight, bias]: [Object<'_, 'py>; 3],
    axis: &Axes,
    numbers: [f64; 2],
    wanted: [Wanted; N],
) -> PyResult<Option<[Option<Bound<'py, PyAny>>; N]>> {
    let x = x.expect("elements");
    let Some(on) = GpuRows::of(op, x, [None, weight, bias, None])? else { return Ok(None) };
    let found = on.results(axis.clone().of_rank(on.rank()), numbers, wanted.map(Some), |device, x, axes, arrays| {
        let (&RowArrays { weight, bias, .. }, [epsilon, weight_offset]) = (arrays, numbers);
        plan(device, x, axes, &cuda::rows::Norm { weight, weight_offset, bias, epsilon, noted: None })
    })?;
    Ok(Some(found))
}

/// The two norms and their gradients: names, first lines and examples of each. A gradient's docstring is Python's, in
/// `warpfold._rows`.
macro_rules! functions {
    ($($name:ident, $residual:ident, $first:literal, $example:literal, $noted:ident, $backward:ident;)*) => {
        $(
            #[doc = text!(
                $first,
                [x weight axis residual epsilon offset],
                "array, or a tuple of two arrays\n    Of the shape and dtype of `x`: the norm, and if there are \
                 residuals the sums, rounded to that dtype,\n    which were normalised.",
                $example
            )]
            #[pyfunction]
            #[pyo3(signature = (
                x, weight=None, bias=None, axis=Axes::last(), *, residual=None, epsilon=1e-5, weight_offset=0.0
            ))]
            #[pyo3(text_signature =
                "(x, weight=None, bias=None, axis=-1, *, residual=None, epsilon=1e-05, weight_offset=0.0)"
            )]
            fn $name<'py>(
                x: &Bound<'py, PyAny>,
                weight: Object<'_, 'py>,
                bias: Object<'_, 'py>,
                axis: Axes,
                residual: Object<'_, 'py>,
                epsilon: f64,
                weight_offset: f64,
            ) -> PyResult<Bound<'py, PyAny>> {
                if residual.is_none() {
                    let (of, arrays) = ((stringify!($name), RowMap::$name as Plan), [Some(x), weight, bias]);
                    let found = on_gpu(of, arrays, &axis, [epsilon, weight_offset], [Wanted::Elements])?;
                    if let Some([found]) = found {
                        return Ok(found.expect("it was asked for"));
                    }
                }
                let (py, input, residual) = (x.py(), host(x)?, optional(residual)?);
                let (weight, bias) = (optional(weight)?, optional(bias)?);
                let (x, weight, bias) = (input.layout()?, layout(&weight)?, layout(&bias)?);
                let axes = axis.of(&x);
                let options = |threads| Norm { weight, weight_offset, bias, epsilon, frozen: false, threads };
                match layout(&residual)? {
                    None => computed(&input, &x, |threads| rows::$name(x, &axes, &options(threads))),
                    Some(residual) => {
                        let found = pool::run(py, x.len(), |how| {
                            rows::$residual(x, residual, &axes, &options(how.threads))
                        })?;
                        let found = [found.y, found.sum].map(|array| input.result(py, array, None));
                        let [y, sum] = found;
                        Ok(PyTuple::new(py, [y?, sum?])?.into_any())
                    }
                }
            }

            /// The norm, and on a GPU what it has noted of rows for its gradients, else nothing.
            #[pyfunction]
            fn $noted<'py>(
                x: &Bound<'py, PyAny>,
                weight: Object<'_, 'py>,
                bias: Object<'_, 'py>,
                axis: Axes,
                epsilon: f64,
                weight_offset: f64,
            ) -> PyResult<Bound<'py, PyTuple>> {
                let (of, arrays) = ((stringify!($name), RowMap::$name as Plan), [Some(x), weight, bias]);
                let wanted = [Wanted::Elements, Wanted::Noted];
                match on_gpu(of, arrays, &axis, [epsilon, weight_offset], wanted)? {
                    Some(found) => PyTuple::new(x.py(), found),
                    None => {
                        let y = $name(x, weight, bias, axis, None, epsilon, weight_offset)?;
                        PyTuple::new(x.py(), [Some(y), None])
                    }
                }
            }

            #[pyfunction]
            #[pyo3(signature = (x, gradient, weight, bias, axis, epsilon, weight_offset, frozen=false, noted=None))]
            #[allow(clippy::too_many_arguments)]
            fn $backward<'py>(
                x: &Bound<'py, PyAny>,
                gradient: &Bound<'py, PyAny>,
                weight: Object<'_, 'py>,
                bias: Object<'_, 'py>,
                axis: Axes,
                epsilon: f64,
                weight_offset: f64,
                frozen: bool,
                noted: Object<'_, 'py>,
            ) -> PyResult<Bound<'py, PyTuple>> {
                let py = x.py();
                let others = [None, weight, bias, Some(gradient), None, None, noted];
                if let Some(on) = GpuRows::of(stringify!($backward), x, others)? {
                    let of_weight = (!frozen).then_some(Wanted::Weight);
                    let wanted = [Some(Wanted::Elements), of_weight, Some(Wanted::Bias)];
                    let axes = axis.of_rank(on.rank());
                    let found = on.results(axes, [epsilon, weight_offset], wanted, |device, x, axes, arrays| {
                        let &RowArrays { weight, bias, noted, .. } = arrays;
                        let gradient = arrays.gradient.expect("it was given");
                        let options = cuda::rows::Norm { weight, weight_offset, bias, epsilon, noted };
                        RowMap::$backward(device, x, &gradient, axes, &options)
                    })?;
                    return PyTuple::new(py, found);
                }
                let (input, gradient) = (host(x)?, host(gradient)?);
                let (weights, biases) = (optional(weight)?, optional(bias)?);
                let (x, gradient) = (input.layout()?, gradient.layout()?);
                let (weight, bias, axes) = (layout(&weights)?, layout(&biases)?, axis.of(&x));
                let found = pool::run(py, x.len(), |how| {
                    let options = Norm { weight, weight_offset, bias, epsilon, frozen, threads: how.threads };
                    rows::$backward(x, gradient, &axes, &options)
                })?;
                gradients(&input, &weights, &biases, found)
            }
        )*

        /// Adds the functions of this file.
        pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(
                module.add_function(wrap_pyfunction!($name, module)?)?;
                module.add_function(wrap_pyfunction!($noted, module)?)?;
                module.add_function(wrap_pyfunction!($backward, module)?)?;
            )*
            module.add_function(wrap_pyfunction!(layer_norm_backward_given, module)?)
        }
    };
}

functions! {
    rms_norm, rms_norm_residual,
        "Each row over the root of its mean square: x / sqrt(mean(x * x) + epsilon) * weight + bias.",
        ">>> wf.rms_norm([3.0, -3.0], [1.0, 2.0], epsilon=0)\narray([ 1., -2.])\n\
         >>> wf.rms_norm([1.0, 7.0], residual=[2.0, -10.0], epsilon=0)\n(array([ 1., -1.]), array([ 3., -3.]))\n",
        rms_norm_noted, rms_norm_backward;
    layer_norm, layer_norm_residual,
        "Each row less its mean, over its deviation: (x - mean) / sqrt(var + epsilon) * weight + bias.",
        ">>> wf.layer_norm([1.0, 3.0], bias=[0.0, 1.0], epsilon=0)\narray([-1.,  2.])\n",
        layer_norm_noted, layer_norm_backward;
}
