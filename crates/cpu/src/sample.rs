//! A class of each row, drawn by noise that is given: the greatest of logit and noise.
#![cfg(feature = "reductions")]

use warpfold_array::problem::normalize_axes;
use warpfold_array::{Array, ArrayRef, Error, Op, Options, RowError, Value};
use warpfold_core::Element;
use warpfold_core::ops::{Arg, Place, Search};
use warpfold_core::rows::Noisy;

use crate::args::ArgScan;
use crate::load::Loaded;
use crate::reduction::{on_threads, reduce};
use crate::rows::call::{Call, with_float};
use crate::zip::{self, Any};

/// The class that is drawn for each row of logits along an axis (from the end if negative): the index of the greatest
/// logit + noise · temperature, the first of equal ones; i64. The noise, an array of floats of the shape of the logits,
/// is Gumbel's: -ln(-ln(u)), of u between 0 and 1. At temperature 0 it is not read: the greatest logit is drawn. NaN is
/// greater than any number; a class whose logit is minus infinity is not drawn before others.
///
/// ```
/// use warpfold::{ArrayRef, select};
///
/// let (logits, noise) = ([1.0f32, 2.0, 3.0], [0.5f32, 4.0, -2.0]);
/// let (logits, noise) = (ArrayRef::flat(&logits), ArrayRef::flat(&noise));
/// assert_eq!(select::sample(logits, noise, 1.0, 0, None)?.into_vec::<i64>().unwrap(), [1]);
/// assert_eq!(select::sample(logits, noise, 0.0, 0, None)?.into_vec::<i64>().unwrap(), [2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`RowError`]: no floats, noise of another shape, a temperature that is negative or not finite; a bad axis; rows
/// without classes: [`Error::Empty`]; [`Error::Memory`], [`Error::Threads`].
pub fn sample(
    logits: ArrayRef<'_>,
    noise: ArrayRef<'_>,
    temperature: f64,
    axis: isize,
    threads: Option<usize>,
) -> Result<Array, Error> {
    let call = Call::new("sample", logits, &[axis], threads)?;
    call.alike("the noise", &noise)?;
    if !(temperature >= 0.0 && temperature.is_finite()) {
        let range = "zero, or a positive number";
        return Err(RowError::Number { op: call.op, what: "temperature", value: temperature, range }.into());
    }
    let axes = normalize_axes(Some(&[axis]), logits.shape().len())?;
    let (rows, classes) = (call.rows, call.len);
    if temperature == 0.0 || classes == 0 || rows == 0 {
        // Rows without classes are the error of the reduction.
        let options = Options { axes: Some(vec![axis]), threads, ..Options::default() };
        return reduce(Op::ArgMax, logits, &options);
    }
    let places = with_float!(logits.dtype(), F => {
        let gather = |x: &ArrayRef<'_>| F::gather(x.dtype(), x.is_swapped(), F::DTYPE);
        let noisy = Noisy { temperature: temperature as F };
        let kernel = ArgScan(Arg::<F> { search: Search::new(true, false) });
        let arrays = ((logits, gather(&logits)), (noise, gather(&noise)));
        // SAFETY: each gather is that of its array.
        on_threads(threads, |threads| unsafe { zip::reduce(call.op, arrays, &axes, Any(noisy), &kernel, threads) })??
    });
    let values = places.into_iter().map(Place::or_minus_one).collect();
    Ok(Array { shape: call.lengths(false), values: i64::wrap(values) })
}
