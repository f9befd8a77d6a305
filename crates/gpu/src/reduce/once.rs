//! Reductions of arrays on a GPU, in one call.

use crate::array::Array;
use crate::options::Options;
use crate::reduce::reduction::Reduction;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::{Error, Op};

/// Reduces an array on a GPU. The work is queued, and the result stays there: [`Array::download`] waits for it.
///
/// For many reductions of one kind, [`Reduction`] plans and allocates once.
///
/// # Errors
/// What [`warpfold_cpu::reduce`] refuses, or what the driver says. An output without a value is an error of
/// [`Array::download`].
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
