//! Reductions of arrays on a GPU, in one call.

use super::{Array, ArrayView, Options, Reduction, Stream};
use crate::describe::Description;
use crate::problem::{normalize_axes, result_shape};
use crate::values::Values;
use crate::{Error, Op, Scalar};

/// Reduces an array on a GPU. The work is queued, and the result stays there: [`Array::download`] waits for it.
///
/// For many reductions of one kind, [`Reduction`] plans and allocates once.
///
/// # Errors
/// What [`crate::reduce`] refuses, or what the driver says. An output without a value is an error of [`Array::download`].
pub fn reduce(op: Op, input: ArrayView<'_>, options: &Options<'_>, stream: &Stream) -> Result<Array, Error> {
    let reduction = Reduction::new(&stream.device(), op, &input, options)?;
    let mut out = reduction.output()?;
    reduction.run(stream, input, options.mask, &mut out)?;
    Ok(out)
}

/// Reduces an array on a GPU into an array that is already there.
///
/// # Errors
/// As [`reduce`]; and if `out` has not the dtype and the shape of the result.
pub fn reduce_into(
    op: Op,
    input: ArrayView<'_>,
    options: &Options<'_>,
    stream: &Stream,
    out: &mut Array,
) -> Result<(), Error> {
    Reduction::new(&stream.device(), op, &input, options)?.run(stream, input, options.mask, out)
}

/// Count, NaN count, min, argmin, max, argmax, mean, std (population), sum and 2-norm of an array on a GPU, with the bits
/// of [`crate::describe`]. Each statistic is a reduction of its own.
///
/// Of the options it takes `axes` and `keepdims`.
///
/// # Errors
/// As [`crate::describe`], or what the driver says.
pub fn describe(input: ArrayView<'_>, options: &Options<'_>, stream: &Stream) -> Result<Description, Error> {
    let layouts = options.with_layout(options.mask.map(|mask| *mask.layout()));
    crate::describe::check(input.dtype(), &layouts)?;
    let axes = normalize_axes(options.axes.as_deref(), input.shape().len())?;
    let count: usize = axes.iter().map(|&a| input.shape()[a]).product();
    let shape = result_shape(input.shape(), &axes, options.keepdims);
    if count == 0 || shape.contains(&0) {
        // No element is read, for there is none.
        return crate::describe(*input.layout(), &layouts);
    }
    let plain = Options { axes: options.axes.clone(), keepdims: options.keepdims, ..Options::default() };
    let of = |op: Op, options: &Options<'_>| reduce(op, input, options, stream);
    let ops = [Op::Min, Op::ArgMin, Op::Max, Op::ArgMax, Op::Mean, Op::Std, Op::Sum, Op::Norm];
    // All are queued before the first is waited for.
    let queued = ops.map(|op| of(op, &plain));
    let nans = match input.dtype().is_float() {
        true => {
            let numbers = Options { skip_nan: true, ..plain.clone() };
            Some([of(Op::CountNonzero, &plain)?, of(Op::CountNonzero, &numbers)?])
        }
        false => None,
    };
    let outputs: usize = shape.iter().product();
    let nan_count = match nans {
        None => Values::I64(vec![0; outputs]),
        // A NaN counts as not zero, unless it is skipped.
        Some([with, without]) => {
            let (with, without) = (with.download(stream)?.values, without.download(stream)?.values);
            Values::I64((0..outputs).map(|i| integer(with.get(i)) - integer(without.get(i))).collect())
        }
    };
    let mut stats = vec![("nan_count", nan_count)];
    for (op, array) in ops.iter().zip(queued) {
        stats.push((op.name(), array?.download(stream)?.values));
    }
    Ok(Description { shape, count: count as u64, stats })
}

fn integer(count: Scalar) -> i64 {
    match count {
        Scalar::I64(n) => n,
        other => other.to_f64() as i64,
    }
}
