//! Distinct values, groups, runs and counts on a GPU, by its radix sort. The bits are those of the CPU.

use crate::options::Options;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::KeyError;
use warpfold_array::{CudaError, Error, Op, Order};
use warpfold_core::{Cast, DType};
use warpfold_kernels::sort::MOST;
mod bins;
mod count;
mod describe;
mod ends;
mod grouped;
mod groups;
mod once;
mod runs;
mod sorter;
mod splitter;
mod unique;

pub use bins::{Histogram, histogram, histogram_host};
pub use count::{bincount, bincount_host};
pub use describe::{describe_groups_host, describe_segments_host};
pub use ends::{End, ends_host};
pub use grouped::{GroupReduction, Grouped};
pub use groups::Groups;
pub use once::{group_by, group_by_host};
pub use runs::{Runs, reduce_by_key, reduce_by_key_host};
pub use unique::{Finder, Unique, Wanted, unique, unique_host};

/// The most groups: a label fits 31 bits.
const MOST_GROUPS: usize = 1 << 31;

/// Checks that elements lie side by side in C order, and are not too many.
fn check(what: &'static str, array: &ArrayView<'_>) -> Result<(), Error> {
    side_by_side(what, array)?;
    let n = array.shape().iter().product::<usize>();
    if n > MOST {
        return Err(KeyError::TooMany { what, n, most: MOST }.into());
    }
    Ok(())
}

/// Checks that elements lie side by side in C order.
fn side_by_side(what: &'static str, array: &ArrayView<'_>) -> Result<(), Error> {
    let n = array.shape().iter().product::<usize>();
    let mut step = array.dtype().size() as isize;
    for (&len, &stride) in array.shape().iter().zip(array.strides()).rev() {
        if len > 1 && stride != step && n > 0 {
            let why = format!("{what} must lie side by side in C order, without steps: copy them, or compute on `cpu`");
            return Err(CudaError::Keys { why }.into());
        }
        step = step.saturating_mul(len as isize);
    }
    Ok(())
}

/// Checks that labels are a list of integers.
fn check_labels(labels: &ArrayView<'_>) -> Result<(), Error> {
    if labels.shape().len() != 1 {
        return Err(KeyError::LabelsShape { shape: labels.shape().to_vec() }.into());
    }
    if labels.dtype().is_float() {
        return Err(KeyError::NotIntegers { what: "labels", dtype: labels.dtype() }.into());
    }
    check("labels", labels)
}

/// Checks that the first axis of values has one index for each of `n` labels or keys.
fn check_values(n: usize, values: &ArrayView<'_>) -> Result<(), Error> {
    match values.shape() {
        [] => Err(KeyError::NoAxis.into()),
        [len, ..] if *len != n => Err(KeyError::LabelsLength { labels: n, shape: values.shape().to_vec() }.into()),
        _ => Ok(()),
    }
}

/// Checks that there are not too many groups.
fn check_groups(groups: usize) -> Result<(), KeyError> {
    if groups > MOST_GROUPS {
        return Err(KeyError::TooMany { what: "groups", n: groups, most: MOST_GROUPS });
    }
    Ok(())
}

/// One more than the greatest label. Waits for the labels.
///
/// # Errors
/// [`KeyError::LabelOutOfRange`] of the first label below -1, or beyond all groups; what goes wrong on the device.
fn count_groups(labels: ArrayView<'_>, stream: &Stream) -> Result<usize, Error> {
    check_labels(&labels)?;
    if labels.shape()[0] == 0 {
        return Ok(0);
    }
    let both = super::reduce(Op::MinMax, labels, &Options::default(), stream)?.download(stream)?.values;
    let number = |at: usize| match both.get(at).to_cast() {
        Cast::Signed(x) => i128::from(x),
        Cast::Unsigned(x) => i128::from(x),
        Cast::Float(x) => x as i128,
    };
    let (least, greatest) = (number(0), number(1));
    if least >= -1 && greatest < MOST_GROUPS as i128 {
        return Ok((greatest + 1) as usize);
    }
    // The CPU finds the label.
    let options = Options { axes: Some(vec![]), ..Options::default() };
    let copy = super::reduce(Op::Max, labels, &options, stream)?.download(stream)?;
    let list =
        warpfold_array::ArrayRef::from_bytes(copy.values.as_bytes(), copy.dtype(), &copy.shape, Order::C, false)?;
    warpfold_cpu::keys::Groups::new(list, None).map(|groups| groups.len())
}

/// `len` elements at the start of a buffer, as an array.
///
/// # Safety
/// They are memory of that device, and written before they are read, for as long as the view and what is queued with
/// it.
unsafe fn view<'a>(device: usize, address: u64, dtype: DType, len: usize) -> Result<ArrayView<'a>, Error> {
    // SAFETY: the caller's.
    unsafe { ArrayView::from_raw(device, address, dtype, &[len], &[dtype.size() as isize]) }
}
