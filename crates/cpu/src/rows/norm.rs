//! Root-mean-square norm and layer norm, and their gradients.

use warpfold_array::{Array, ArrayRef, Error};
use warpfold_core::DType;
use warpfold_core::rows::Norm as Row;

use super::call::{Call, Want, floats, rounded, with_float};
use super::layer::{Backward, Forward, OfElements, Statistics};
use super::lines::RowFloat;

/// The options of [`rms_norm`] and [`layer_norm`].
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, weight) = ([3.0f64, -3.0], [1.0f64, 2.0]);
/// let options = rows::Norm { weight: Some(ArrayRef::flat(&weight)), epsilon: 0.0, ..rows::Norm::default() };
/// let y = rows::rms_norm(ArrayRef::flat(&x), &[0], &options)?;
/// assert_eq!(y.into_vec::<f64>().unwrap(), [1.0, -2.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Norm<'a> {
    /// Factors of the normalised elements, an array of the shape of a row, of any float dtype. `None`: 1.
    pub weight: Option<ArrayRef<'a>>,
    /// Added to each weight, 1 for weights that are stored as their distance from 1. Default 0.
    pub weight_offset: f64,
    /// Addends after that, an array of the shape of a row, of any float dtype. `None`: 0.
    pub bias: Option<ArrayRef<'a>>,
    /// Added to the mean square, or to the variance, before its root is taken. Default 1e-5.
    pub epsilon: f64,
    /// Whether gradients leave out that of the weights. Default false.
    pub frozen: bool,
    /// How many threads; `None`: as many as rayon's current pool has.
    pub threads: Option<usize>,
}

impl Default for Norm<'_> {
    fn default() -> Self {
        Self { weight: None, weight_offset: 0.0, bias: None, epsilon: 1e-5, frozen: false, threads: None }
    }
}

/// The gradients of a norm.
#[derive(Clone, Debug, PartialEq)]
pub struct NormGradients {
    /// Of the elements: an array of their shape and dtype.
    pub x: Array,
    /// Of the weights, if there are any and they are not frozen: a tree over the rows, rounded to their dtype.
    pub weight: Option<Array>,
    /// Of the biases, if there are any.
    pub bias: Option<Array>,
}

/// A norm of sums, and the sums.
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualNorm {
    /// The norm: an array of the shape and dtype of the elements.
    pub y: Array,
    /// The sums of elements and residuals, rounded to their dtype: what was normalised.
    pub sum: Array,
}

/// A norm and its gradients as public functions: a row has the documentation and the name of each, and whether the norm
/// is layer norm.
macro_rules! norms {
    ($(
        $(#[$of_norm:meta])* $norm:ident,
        $(#[$of_residual:meta])* $residual:ident,
        $(#[$of_gradients:meta])* $gradients:ident,
        layer $layer:literal;
    )*) => {$(
        $(#[$of_norm])*
        pub fn $norm(x: ArrayRef<'_>, axes: &[isize], options: &Norm<'_>) -> Result<Array, Error> {
            Ok(forward((stringify!($norm), $layer), x, None, axes, options)?.0)
        }

        $(#[$of_residual])*
        pub fn $residual(
            x: ArrayRef<'_>,
            residual: ArrayRef<'_>,
            axes: &[isize],
            options: &Norm<'_>,
        ) -> Result<ResidualNorm, Error> {
            let (y, sum) = forward((stringify!($residual), $layer), x, Some(residual), axes, options)?;
            Ok(ResidualNorm { y, sum: sum.expect("the sums are kept") })
        }

        $(#[$of_gradients])*
        pub fn $gradients(
            x: ArrayRef<'_>,
            gradient: ArrayRef<'_>,
            axes: &[isize],
            options: &Norm<'_>,
        ) -> Result<NormGradients, Error> {
            backward((stringify!($gradients), $layer), [x, gradient], None, axes, options)
        }
    )*};
}

norms! {
    /// Each row over the root of its mean square: x / √(Σx²/n + ε) · weight + bias, an array of the shape and dtype of
    /// `x`, in C order. A row lies along some axes, and the weights have the shape of a row.
    ///
    /// ```
    /// use warpfold::{ArrayRef, rows};
    ///
    /// let x = [1.0f64, 7.0, 5.0, -5.0];
    /// let x = ArrayRef::from_slice(&x, &[2, 2])?;
    /// let y = rows::rms_norm(x, &[1], &rows::Norm { epsilon: 0.0, ..rows::Norm::default() })?;
    /// assert_eq!(y.into_vec::<f64>().unwrap(), [0.2, 1.4000000000000001, 1.0, -1.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`warpfold_array::RowError`]: no floats, or weights of another shape; bad axes; [`Error::Memory`].
    rms_norm,
    /// The [`rms_norm`] of the sums of two arrays of the same shape, and these sums in the dtype of `x`, in which they
    /// are normalised. The gradient of either array is that of the sum: [`rms_norm_backward`] of `sum`, plus the
    /// gradient that `sum` has from elsewhere.
    ///
    /// ```
    /// use warpfold::{ArrayRef, rows};
    ///
    /// let (x, residual) = ([1.0f32, 7.0], [2.0f32, -10.0]);
    /// let options = rows::Norm { epsilon: 0.0, ..rows::Norm::default() };
    /// let found = rows::rms_norm_residual(ArrayRef::flat(&x), ArrayRef::flat(&residual), &[0], &options)?;
    /// assert_eq!(found.sum.into_vec::<f32>().unwrap(), [3.0, -3.0]);
    /// assert_eq!(found.y.into_vec::<f32>().unwrap(), [1.0, -1.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rms_norm`]; residuals of another shape.
    rms_norm_residual,
    /// The gradients of [`rms_norm`] of the elements `x`, from that of its result.
    ///
    /// ```
    /// use warpfold::{ArrayRef, rows};
    ///
    /// let (x, weight, gradient) = ([3.0f64, -3.0], [1.0f64, 2.0], [1.0f64, 0.0]);
    /// let options = rows::Norm { weight: Some(ArrayRef::flat(&weight)), epsilon: 0.0, ..rows::Norm::default() };
    /// let of = rows::rms_norm_backward(ArrayRef::flat(&x), ArrayRef::flat(&gradient), &[0], &options)?;
    /// assert_eq!(of.weight.unwrap().into_vec::<f64>().unwrap(), [1.0, 0.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rms_norm`]; a gradient of another shape.
    rms_norm_backward, layer false;
    /// Each row less its mean, over its deviation: (x - mean) / √(variance + ε) · weight + bias, as [`rms_norm`].
    ///
    /// ```
    /// use warpfold::{ArrayRef, rows};
    ///
    /// let x = [1.0f32, 3.0];
    /// let y = rows::layer_norm(ArrayRef::flat(&x), &[0], &rows::Norm { epsilon: 0.0, ..rows::Norm::default() })?;
    /// assert_eq!(y.into_vec::<f32>().unwrap(), [-1.0, 1.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rms_norm`].
    layer_norm,
    /// The [`layer_norm`] of the sums of two arrays, as [`rms_norm_residual`].
    ///
    /// # Errors
    /// As [`rms_norm_residual`].
    layer_norm_residual,
    /// The gradients of [`layer_norm`], as [`rms_norm_backward`].
    ///
    /// ```
    /// use warpfold::{ArrayRef, rows};
    ///
    /// let (x, gradient) = ([1.0f64, 3.0], [1.0f64, 1.0]);
    /// let options = rows::Norm::default();
    /// let of = rows::layer_norm_backward(ArrayRef::flat(&x), ArrayRef::flat(&gradient), &[0], &options)?;
    /// assert_eq!(of.x.into_vec::<f64>().unwrap(), [0.0, 0.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rms_norm_backward`].
    layer_norm_backward, layer true;
}

/// A function's name, and whether the norm is layer norm.
type Named = (&'static str, bool);

/// The norm, and the sums if there are residuals.
fn forward(
    (name, layer): Named,
    x: ArrayRef<'_>,
    residual: Option<ArrayRef<'_>>,
    axes: &[isize],
    options: &Norm<'_>,
) -> Result<(Array, Option<Array>), Error> {
    let call = Call::new(name, x, axes, options.threads)?;
    check(&call, options)?;
    with_float!(x.dtype(), F => {
        let mut inputs = vec![call.input::<F>(x)];
        if let Some(residual) = residual {
            call.alike("the residuals", &residual)?;
            inputs.push(call.input(residual));
        }
        let op = of::<F>(layer, &call, options, residual.map(|_| x.dtype()))?;
        let results = call.run(&op, &inputs, None, Want { stats: false, array: true })?;
        Ok((results.array.expect("the array was asked for"), results.prepared))
    })
}

/// [`layer_norm_backward`] of rows whose means, and one over their deviations, are given: arrays of floats of the
/// shape of the other axes. ε is not read. The gradients are those of statistics that depend on the elements.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, gradient) = ([1.0f64, 3.0], [1.0f64, 2.0]);
/// let (x, gradient) = (ArrayRef::flat(&x), ArrayRef::flat(&gradient));
/// let (mean, inverse) = (ArrayRef::from_slice(&[2.0f64], &[])?, ArrayRef::from_slice(&[1.0f64], &[])?);
/// let options = rows::Norm { epsilon: 0.0, ..rows::Norm::default() };
/// let of = rows::layer_norm_backward_given(x, gradient, [mean, inverse], &[0], &options)?;
/// assert_eq!(of, rows::layer_norm_backward(x, gradient, &[0], &options)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`layer_norm_backward`]; statistics of another shape.
pub fn layer_norm_backward_given(
    x: ArrayRef<'_>,
    gradient: ArrayRef<'_>,
    statistics: [ArrayRef<'_>; 2],
    axes: &[isize],
    options: &Norm<'_>,
) -> Result<NormGradients, Error> {
    backward(("layer_norm_backward_given", true), [x, gradient], Some(statistics), axes, options)
}

fn backward(
    (name, layer): Named,
    [x, gradient]: [ArrayRef<'_>; 2],
    statistics: Option<[ArrayRef<'_>; 2]>,
    axes: &[isize],
    options: &Norm<'_>,
) -> Result<NormGradients, Error> {
    let call = Call::new(name, x, axes, options.threads)?;
    check(&call, options)?;
    call.alike("the gradients", &gradient)?;
    with_float!(x.dtype(), F => {
        let of_weight = options.weight.filter(|_| !options.frozen);
        let (weight, bias) = (of_weight.is_some(), options.bias.is_some());
        let rows = statistics.map(|given| rows::<F>(&call, given)).transpose()?;
        let op = Backward { forward: of::<F>(layer, &call, options, None)?, rows, weight, bias };
        let inputs = [call.input(x), call.input(gradient)];
        let results = call.run(&op, &inputs, None, Want { stats: false, array: true })?;
        let mut columns = results.columns.into_iter();
        let mut sums = |array: &Option<ArrayRef<'_>>| {
            let mut of = |dtype: DType| {
                let sums = columns.next().expect("weights and biases have sums");
                rounded(&sums, dtype, call.lengths(true))
            };
            array.map(|array| of(array.dtype())).transpose()
        };
        let (weight, bias) = (sums(&of_weight)?, sums(&options.bias)?);
        Ok(NormGradients { x: results.array.expect("the array was asked for"), weight, bias })
    })
}

/// What the rows were reduced to.
fn rows<F: RowFloat>(call: &Call<'_>, statistics: [ArrayRef<'_>; 2]) -> Result<Vec<Row<F>>, Error> {
    for (what, array) in ["the means", "the inverses of deviations"].into_iter().zip(&statistics) {
        call.floats(what, array.dtype())?;
        call.shape(what, array, &call.lengths(false))?;
    }
    let [mean, inverse] = [floats::<F>(&statistics[0])?, floats::<F>(&statistics[1])?];
    Ok(mean.into_iter().zip(inverse).map(|(mean, inverse)| Row { mean, inverse }).collect())
}

/// Checks weights and biases.
fn check(call: &Call<'_>, options: &Norm<'_>) -> Result<(), Error> {
    for (what, array) in [("the weights", &options.weight), ("the biases", &options.bias)] {
        if let Some(array) = array {
            call.floats(what, array.dtype())?;
            call.shape(what, array, &call.lengths(true))?;
        }
    }
    Ok(())
}

/// The norm of rows with these weights. `sums`: the dtype of the sums, if there are residuals.
fn of<F: RowFloat>(
    layer: bool,
    call: &Call<'_>,
    options: &Norm<'_>,
    sums: Option<DType>,
) -> Result<Forward<F, OfElements<F>>, Error> {
    let statistics = Statistics { layer, len: call.len as u64, epsilon: F::from_f64(options.epsilon) };
    let weight = weights(options)?.unwrap_or_else(|| vec![F::ONE; call.len]);
    let bias = options.bias.map(|bias| floats(&bias)).transpose()?;
    let affine = OfElements { weight, bias };
    Ok(Forward { statistics, sums, affine })
}

/// The weights with their offset, if there are any.
pub fn weights<F: RowFloat>(options: &Norm<'_>) -> Result<Option<Vec<F>>, Error> {
    let offset = F::from_f64(options.weight_offset);
    let mut weight = options.weight.map(|weight| floats::<F>(&weight)).transpose()?;
    if options.weight_offset != 0.0 {
        weight.iter_mut().flatten().for_each(|weight| *weight = weight.add(offset));
    }
    Ok(weight)
}
