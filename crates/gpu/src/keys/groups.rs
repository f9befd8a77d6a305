//! Labels on a GPU, put in order once for any number of reductions.

use super::sorter::Sorter;
use super::{check_groups, check_labels, count_groups, view};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::origin::{Origin, label_error};
use crate::plan::sort::{Carried, Problem, What, counts};
use crate::stream::Stream;
use crate::view::ArrayView;
use std::sync::Arc;
use warpfold_array::{CudaError, Error, Op};
use warpfold_core::DType;
use warpfold_kernels::group::offsets::OffsetsAt;
use warpfold_kernels::sort::heads::CountsAt;

/// Elements by their labels, in a GPU's memory: as [`warpfold_cpu::keys::Groups`], with the same bits.
///
/// Reductions copy the values in the order of their positions. For a single reduction [`super::group_by`] is faster,
/// which moves values along with labels.
pub struct Groups {
    pub(crate) device: Device,
    labels: usize,
    groups: usize,
    dtype: DType,
    /// `u32` of each label: its position, in the order of labels.
    positions: Buffer<u8>,
    /// `u32`: where each group begins.
    offsets: Buffer<u32>,
    /// What is wrong with a label.
    pub(crate) said: Buffer<u32>,
}

impl Groups {
    /// Sorts labels, of any integer dtype along one axis and side by side, into `groups` groups; label -1 belongs to
    /// none. Without a number, there are as many as the greatest label and one more. Waits until it is done, as most of
    /// the memory for sorting is freed then.
    ///
    /// # Errors
    /// [`warpfold_array::KeyError`] of labels that are no list of integers, of 2^30 labels or more, or of more than
    /// 2^31 groups; without a number, of a label below -1. With one, labels of no group are errors of [`Groups::check`]
    /// and of every result's download. What the driver says.
    pub fn new(labels: ArrayView<'_>, groups: Option<usize>, stream: &Stream) -> Result<Groups, Error> {
        check_labels(&labels)?;
        labels.is_on(stream, "labels")?;
        let groups = groups.map_or_else(|| count_groups(labels, stream), Ok)?;
        check_groups(groups)?;
        let (device, n) = (stream.device(), labels.shape()[0]);
        let problem = problem(labels.dtype(), n, groups, Carried::Positions, &device);
        let mut sorter = Sorter::new(&device, problem)?;
        let offsets = Buffer::new(&device, groups + 1)?;
        let said = Buffer::new(&device, 3)?;
        let launch = device.ready(&problem.offsets(groups))?;
        // SAFETY: the labels are as many as were planned for, and lent until the device is done with them; the rest is
        // this value's, and the sorter's memory is freed when the device is done with it.
        unsafe {
            sorter.queue(stream, labels.address(), 0)?;
            launch.queue(stream, OffsetsAt { labels: sorter.sorted().0, offsets: offsets.address() })?;
            sorter.copy_said(stream, said.address())?;
        }
        let positions = sorter.into_carried();
        Ok(Groups { device, labels: n, groups, dtype: labels.dtype(), positions, offsets, said })
    }

    /// Waits for the sort, and checks that every label is -1 or the number of a group.
    ///
    /// # Errors
    /// [`warpfold_array::KeyError::LabelOutOfRange`] of the first one that is not, or what went wrong on the device.
    pub fn check(&self, stream: &Stream) -> Result<(), Error> {
        self.offsets().is_on(stream, "groups")?;
        let said = self.said.read(stream)?;
        Ok(label_error([said[0], said[1], said[2]], self.dtype, self.groups)?)
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.groups
    }

    /// Whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.groups == 0
    }

    /// The number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// The dtype of the labels.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The positions of each group's elements as u32, ascending, one group after the other; positions of elements of no
    /// group are last.
    pub fn positions(&self) -> ArrayView<'_> {
        // SAFETY: the buffer has as many, and is borrowed.
        let positions = unsafe { view(self.offsets.device_index(), self.positions.address(), DType::U32, self.labels) };
        positions.expect("a list at the start of a buffer")
    }

    /// The offsets of the groups' positions, as u32: the first position of each group, and the end of the last group.
    pub fn offsets(&self) -> ArrayView<'_> {
        // SAFETY: the buffer has one word more than there are groups, and is borrowed.
        let offsets = unsafe { view(self.offsets.device_index(), self.offsets.address(), DType::U32, self.groups + 1) };
        offsets.expect("a list at the start of a buffer")
    }

    /// Queues counting each group's elements (i64).
    ///
    /// # Errors
    /// If the memory does not suffice, or the driver refuses.
    pub fn counts(&self, stream: &Stream) -> Result<Array, Error> {
        self.offsets().is_on(stream, "groups")?;
        let mut out = Array::new(&self.device, DType::I64, &[self.groups])?;
        if self.groups > 0 {
            let launch = self.device.ready(&counts(self.groups, self.device.multiprocessors()))?;
            let at = CountsAt { starts: self.offsets.address(), counts: out.address(), state: 0 };
            // SAFETY: both have a place for each group, and stay until the device is done with them.
            unsafe { launch.queue(stream, at) }?;
        }
        take_said(&self.said, stream, &mut out, Op::CountNonzero, (self.groups, self.dtype), self.labels)?;
        Ok(out)
    }
}

/// A sort of labels.
pub(super) fn problem(dtype: DType, n: usize, groups: usize, carried: Carried, device: &Device) -> Problem {
    let multiprocessors = device.multiprocessors();
    Problem { dtype, n, what: What::Labels { groups }, carried, multiprocessors }
}

/// Queues a copy of the report on labels to the place where a download reads it.
///
/// # Safety
/// The array stays until the device is done with it.
pub(super) unsafe fn copy_said(said: &Buffer<u32>, stream: &Stream, out: &Array) -> Result<(), CudaError> {
    // SAFETY: the words of the buffer; an array has 12 bytes after the word for the status.
    unsafe { stream.copy(out.status_address() + 4, said.address(), 12) }
}

/// Queues a status of zero: every output has a value.
pub(super) fn clear_status(stream: &Stream, out: &mut Array) -> Result<(), CudaError> {
    // SAFETY: an array has a word for the status, and stays until the device is done with it, as a buffer's drop
    // promises.
    unsafe { stream.fill(out.status_address(), 0, 4) }
}

/// Makes the download of a result by labels report labels that are out of range.
pub(super) fn take_said(
    said: &Buffer<u32>,
    stream: &Stream,
    out: &mut Array,
    op: Op,
    groups: (usize, DType),
    labels: usize,
) -> Result<(), CudaError> {
    clear_status(stream, out)?;
    // SAFETY: an array stays until the device is done with it, as a buffer's drop promises.
    unsafe { copy_said(said, stream, out) }?;
    let origin = Origin { groups: Some(groups), ..Origin::of_parts(op, groups.1, &[labels], "group") };
    out.set_origin(Some(Arc::new(origin)));
    Ok(())
}
