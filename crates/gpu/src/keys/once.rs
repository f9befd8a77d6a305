//! One reduction of groups on a GPU: planned, run and forgotten.

use super::{Grouped, count_groups};
use crate::array::Array;
use crate::device::Device;
use crate::options::Options;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::Scalar;
use warpfold_array::{CudaError, Error, Op};

/// Reduces the elements of each label on a GPU, as [`warpfold_cpu::keys::group_by`]. The result stays there:
/// [`Array::download`] says if a label is out of range. Waits until it is done, as the memory for sorting is freed
/// then; [`Grouped`] does not.
///
/// For several reductions by the same labels see [`super::Groups`]; for many of one kind, [`Grouped`] plans and
/// allocates once.
///
/// # Errors
/// As [`Grouped::new`].
pub fn group_by(
    op: Op,
    labels: ArrayView<'_>,
    values: ArrayView<'_>,
    groups: Option<usize>,
    options: &Options<'_>,
    stream: &Stream,
) -> Result<Array, Error> {
    let groups = groups.map_or_else(|| count_groups(labels, stream), Ok)?;
    let mut reduction = Grouped::new(&stream.device(), op, &labels, &values, groups, options, None)?;
    let mut out = reduction.output()?;
    reduction.run(stream, labels, values, &mut out)?;
    Ok(out)
}

/// Reduces the elements of each label of host arrays on a GPU, as [`warpfold_cpu::keys::group_by`]; `fill` is as
/// [`warpfold_cpu::keys::Groups::fill`].
///
/// # Errors
/// As [`Grouped::new`], and what [`warpfold_cpu::keys::Groups::reduce`] says of groups without a result.
pub fn group_by_host(
    op: Op,
    labels: ArrayRef<'_>,
    values: ArrayRef<'_>,
    groups: Option<usize>,
    options: &warpfold_array::Options<'_>,
    fill: Option<Scalar>,
    device: &Device,
) -> Result<warpfold_array::Array, Error> {
    if options.mask.is_some() {
        return Err(CudaError::NoKernel { op, dtype: values.dtype() }.into());
    }
    let stream = Stream::new(device)?;
    let [by, x] = [Array::upload(&stream, labels)?, Array::upload(&stream, values)?];
    let (by, x) = (by.view(), x.view());
    let groups = groups.map_or_else(|| count_groups(by, &stream), Ok)?;
    let mut reduction = Grouped::new(device, op, &by, &x, groups, &Options::of(options, None), fill)?;
    let mut out = reduction.output()?;
    reduction.run(&stream, by, x, &mut out)?;
    match out.download(&stream) {
        // The CPU says which.
        Err(Error::Key(KeyError::SomeEmpty { .. })) => {
            let groups = warpfold_cpu::keys::Groups::new(labels, Some(groups))?;
            fill.into_iter().fold(groups, warpfold_cpu::keys::Groups::fill).reduce(op, values, options)
        }
        said => said,
    }
}
