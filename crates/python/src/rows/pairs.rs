//! Losses of elements and their targets, dot products and cosines.

use pyo3::prelude::*;
use warpfold::cuda::rows::Zipped;
use warpfold::rows::{self, Loss, LossReduction, Pairs};
use warpfold::{Array, ArrayRef, Error};

use super::call::{Axes, Object, computed, host, layout, optional, reduction, text};
use crate::gpu::GpuPairs;
use crate::input::Input;

/// Two arrays, and perhaps the gradient of the result.
struct Two<'py> {
    x: Input<'py>,
    y: Input<'py>,
    gradient: Option<Input<'py>>,
}

impl<'py> Two<'py> {
    fn of(x: &Bound<'py, PyAny>, y: &Bound<'py, PyAny>, gradient: Object<'_, 'py>) -> PyResult<Self> {
        Ok(Self { x: host(x)?, y: host(y)?, gradient: optional(gradient)? })
    }

    /// An array that `work` computes of both along some axes.
    fn computed(
        &self,
        axis: Axes,
        work: impl FnOnce(ArrayRef<'_>, ArrayRef<'_>, &Pairs<'_>) -> Result<Array, Error> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (x, y, gradient) = (self.x.layout()?, self.y.layout()?, layout(&self.gradient)?);
        let axes = axis.0.as_deref();
        computed(&self.x, &x, |threads| work(x, y, &Pairs { axes, gradient, threads }))
    }
}

/// What tells losses apart, and what becomes of them.
fn numbers(loss: Loss, by: LossReduction) -> [u64; 2] {
    let (kind, number) = match loss {
        Loss::Huber { delta } => (0, delta),
        Loss::KlDiv { log_target } => (1, f64::from(u8::from(log_target))),
        // The name of the function says which.
        _ => (2, 0.0),
    };
    [kind << 8 | by as u64, number.to_bits()]
}

/// A loss and its gradient: the names, signatures and arguments of both functions, the loss, and what docstrings say.
macro_rules! losses {
    ($(
        $name:ident $signature:tt, $backward:ident $its_signature:tt, { $($arg:ident: $type:ty),* }, $loss:expr,
        [$($section:ident)*], $first:literal, $example:literal, $its_example:literal;
    )*) => {
        $(
            #[doc = text!(
                $first,
                [target some $($section)* reduction],
                "scalar or array\n    In the dtype of `x`. Without a reduction of the shape of `x`, whatever the axes.",
                $example
            )]
            #[pyfunction]
            #[pyo3(signature = $signature)]
            fn $name<'py>(
                x: &Bound<'py, PyAny>,
                y: &Bound<'py, PyAny>,
                axis: Object<'_, 'py>,
                $($arg: $type,)*
                reduction: &str,
            ) -> PyResult<Bound<'py, PyAny>> {
                let by = self::reduction(reduction)?;
                let axes = Axes::some(axis)?;
                if let Some(there) = GpuPairs::of(stringify!($name), x, y, None)? {
                    return there.run(axes.0, numbers($loss, by), |device, x, y, options| {
                        Zipped::loss(device, ($loss, by), [x, y], options)
                    });
                }
                Two::of(x, y, None)?.computed(axes, |x, y, options| rows::loss($loss, x, y, by, options))
            }

            #[doc = text!(
                "The gradient of the elements `x` of the loss of that name.",
                [target of_result some $($section)* reduction],
                "array\n    Of the shape and dtype of `x`.",
                $its_example
            )]
            #[pyfunction]
            #[pyo3(signature = $its_signature)]
            fn $backward<'py>(
                x: &Bound<'py, PyAny>,
                y: &Bound<'py, PyAny>,
                gradient: Object<'_, 'py>,
                axis: Object<'_, 'py>,
                $($arg: $type,)*
                reduction: &str,
            ) -> PyResult<Bound<'py, PyAny>> {
                let by = self::reduction(reduction)?;
                if let Some(there) = GpuPairs::of(stringify!($backward), x, y, gradient)? {
                    return there.run(Axes::some(axis)?.0, numbers($loss, by), |device, x, y, options| {
                        Zipped::loss_backward(device, ($loss, by), [x, y], options)
                    });
                }
                let work = |x: ArrayRef<'_>, y: ArrayRef<'_>, options: &Pairs<'_>| {
                    rows::loss_backward($loss, x, y, by, options)
                };
                Two::of(x, y, gradient)?.computed(Axes::some(axis)?, work)
            }
        )*

        fn add_losses(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(
                module.add_function(wrap_pyfunction!($name, module)?)?;
                module.add_function(wrap_pyfunction!($backward, module)?)?;
            )*
            Ok(())
        }
    };
}

losses! {
    mse (x, y, /, axis=None, *, reduction="mean"),
    mse_backward (x, y, /, gradient=None, axis=None, *, reduction="mean"), {}, Loss::Mse, [],
        "The squared differences of elements and their targets: their mean.",
        ">>> wf.mse([[1.0, 4.0], [3.0, 0.0]], [[1.0, 2.0], [0.0, 0.0]], axis=1)\narray([2. , 4.5])\n",
        ">>> wf.mse_backward([1.0, 4.0], [1.0, 2.0])\narray([0., 2.])\n";
    l1 (x, y, /, axis=None, *, reduction="mean"),
    l1_backward (x, y, /, gradient=None, axis=None, *, reduction="mean"), {}, Loss::L1, [],
        "The absolute differences of elements and their targets: their mean.",
        ">>> wf.l1([1.0, 4.0], [2.0, 1.0])\nnp.float64(2.0)\n",
        ">>> wf.l1_backward([1.0, 4.0], [2.0, 1.0], reduction=\"sum\")\narray([-1.,  1.])\n";
    huber (x, y, /, axis=None, *, delta=1.0, reduction="mean"),
    huber_backward (x, y, /, gradient=None, axis=None, *, delta=1.0, reduction="mean"),
    { delta: f64 }, Loss::Huber { delta }, [delta],
        "Huber's loss: half the square of a small difference, and of a greater one the tangent of that.",
        ">>> wf.huber([0.0, 3.0], [1.0, 0.0], reduction=\"none\")\narray([0.5, 2.5])\n",
        ">>> wf.huber_backward([0.5, 3.0], [0.0, 0.0], reduction=\"sum\")\narray([0.5, 1. ])\n";
    kl_div (x, y, /, axis=None, *, log_target=false, reduction="mean"),
    kl_div_backward (x, y, /, gradient=None, axis=None, *, log_target=false, reduction="mean"),
    { log_target: bool }, Loss::KlDiv { log_target }, [log_target],
        "The divergence of probabilities `y` from others, whose logarithms `x` are: y * (log(y) - x).",
        ">>> wf.kl_div(np.log([0.5, 0.5]), [0.5, 0.5], reduction=\"sum\")\nnp.float64(0.0)\n",
        ">>> wf.kl_div_backward([-1.0, -2.0], [0.25, 0.75], reduction=\"sum\")\narray([-0.25, -0.75])\n";
    bce_with_logits (x, y, /, axis=None, *, reduction="mean"),
    bce_with_logits_backward (x, y, /, gradient=None, axis=None, *, reduction="mean"),
    {}, Loss::BceWithLogits, [],
        "The cross-entropy of targets between 0 and 1, and the logistic function of `x`.",
        ">>> wf.bce_with_logits([1000.0, -1000.0], [1.0, 1.0], reduction=\"none\")\narray([   0., 1000.])\n",
        ">>> wf.bce_with_logits_backward([0.0, 0.0], [1.0, 0.0], reduction=\"sum\")\narray([-0.5,  0.5])\n";
}

#[doc = text!(
    "The sums of the products of two arrays along some axes.",
    [pair some],
    "scalar or array\n    In the dtype of `x`.",
    ">>> wf.dot([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])\nnp.float64(32.0)\n"
)]
#[pyfunction]
#[pyo3(signature = (x, y, /, axis=None))]
fn dot<'py>(x: &Bound<'py, PyAny>, y: &Bound<'py, PyAny>, axis: Object<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(there) = GpuPairs::of("dot", x, y, None)? {
        return there.run(Axes::some(axis)?.0, [0; 2], |device, x, y, options| Zipped::dot(device, [x, y], options));
    }
    Two::of(x, y, None)?.computed(Axes::some(axis)?, rows::dot)
}

#[doc = text!(
    "The gradient of the first array of a dot product; for that of the second, exchange the arrays.",
    [pair of_result some],
    "array\n    Of the shape and dtype of `x`.",
    ">>> wf.dot_backward([1.0, 2.0], [4.0, 5.0], 2.0)\narray([ 8., 10.])\n"
)]
#[pyfunction]
#[pyo3(signature = (x, y, /, gradient=None, axis=None))]
fn dot_backward<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    gradient: Object<'_, 'py>,
    axis: Object<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(there) = GpuPairs::of("dot_backward", x, y, gradient)? {
        return there
            .run(Axes::some(axis)?.0, [0; 2], |device, x, y, options| Zipped::dot_backward(device, [x, y], options));
    }
    Two::of(x, y, gradient)?.computed(Axes::some(axis)?, rows::dot_backward)
}

#[doc = text!(
    "The cosines of the angles between rows: dot(x, y) / (norm(x) * norm(y)).",
    [pair axis least],
    "scalar or array\n    In the dtype of `x`.",
    ">>> wf.cosine_similarity([[3.0, 4.0], [0.0, 2.0]], [[6.0, 8.0], [1.0, 0.0]])\narray([1., 0.])\n"
)]
#[pyfunction]
#[pyo3(signature = (x, y, /, axis=Axes::last(), *, epsilon=1e-8))]
#[pyo3(text_signature = "(x, y, /, axis=-1, *, epsilon=1e-08)")]
fn cosine_similarity<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    axis: Axes,
    epsilon: f64,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(there) = GpuPairs::of("cosine_similarity", x, y, None)? {
        return there.run(axis.0, [0, epsilon.to_bits()], |device, x, y, options| {
            Zipped::cosine_similarity(device, [x, y], epsilon, options)
        });
    }
    Two::of(x, y, None)?.computed(axis, |x, y, options| rows::cosine_similarity(x, y, epsilon, options))
}

#[doc = text!(
    "The gradient of the first array of cosines; for that of the second, exchange the arrays.",
    [pair of_result axis least],
    "array\n    Of the shape and dtype of `x`.",
    ">>> wf.cosine_similarity_backward([0.0, 2.0], [1.0, 0.0])\narray([0.5, 0. ])\n"
)]
#[pyfunction]
#[pyo3(signature = (x, y, /, gradient=None, axis=Axes::last(), *, epsilon=1e-8))]
#[pyo3(text_signature = "(x, y, /, gradient=None, axis=-1, *, epsilon=1e-08)")]
fn cosine_similarity_backward<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    gradient: Object<'_, 'py>,
    axis: Axes,
    epsilon: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let work = |x: ArrayRef<'_>, y: ArrayRef<'_>, options: &Pairs<'_>| {
        rows::cosine_similarity_backward(x, y, epsilon, options)
    };
    Two::of(x, y, gradient)?.computed(axis, work)
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add_losses(module)?;
    module.add_function(wrap_pyfunction!(dot, module)?)?;
    module.add_function(wrap_pyfunction!(dot_backward, module)?)?;
    module.add_function(wrap_pyfunction!(cosine_similarity, module)?)?;
    module.add_function(wrap_pyfunction!(cosine_similarity_backward, module)?)
}
