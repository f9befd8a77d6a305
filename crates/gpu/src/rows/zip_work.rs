//! What an operation on two arrays launches: its work, and how it is queued.

use warpfold_array::{CudaError, Error};
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::rowwise::arrange::ArrangeAt;
use warpfold_kernels::zip::each::EachAt;

use crate::buffer::Buffer;
use crate::launch::Ready;
use crate::reduce::reduction::Reduction;
use crate::stream::Stream;
use crate::view::ArrayView;

/// What a run does.
pub(super) enum Work {
    /// There are no results.
    Nothing,
    /// There are no elements: the results.
    Empty(Buffer<u8>),
    Rows(Rows),
    Each(Each),
    Terms(Box<Terms>),
}

/// Rows of both arrays.
pub(super) struct Rows {
    /// Copies of arrays that lie otherwise, and where in the workspace they go.
    pub(super) copies: [Option<(Ready<ArrangeAt>, usize)>; 2],
    pub(super) launches: Vec<Ready<CallAt>>,
    /// From the addresses of both arrays and of the result to where kernels start, in bytes.
    pub(super) offsets: [isize; 3],
    pub(super) workspace: usize,
}

/// Every pair of elements by itself.
pub(super) struct Each {
    /// By packs of 16 bytes, if these begin at multiples of 16; by elements else.
    pub(super) packs: Option<Ready<EachAt>>,
    pub(super) elements: Ready<EachAt>,
}

/// Terms, and a reduction of them.
pub(super) struct Terms {
    pub(super) each: Each,
    /// Of all terms, in C order.
    pub(super) view: Vec<usize>,
    pub(super) reduction: Reduction,
    /// The result in the dtype of the elements, if that is another one.
    pub(super) rounded: Option<Ready<ArrangeAt>>,
    /// Where in the workspace terms are, and results before they are rounded.
    pub(super) at: [usize; 2],
    pub(super) workspace: usize,
}

impl Rows {
    /// # Safety
    /// The arrays are like those that were planned for, and at `output` there is room for the results; all stay until
    /// the device is done with them.
    pub(super) unsafe fn queue(&self, stream: &Stream, mut from: [u64; 2], output: u64) -> Result<(), CudaError> {
        let mut scratch = stream.scratch();
        let workspace = scratch.workspace(stream, self.workspace)?;
        for (address, copy) in from.iter_mut().zip(&self.copies) {
            let Some((copy, to)) = copy else { continue };
            let output = workspace + *to as u64;
            // SAFETY: the array is like that which was planned for, and the workspace has room for its elements; it is
            // the stream's, whose lock is held.
            unsafe { copy.queue(stream, ArrangeAt { input: *address, output }) }?;
            *address = output;
        }
        let [x, y, out] = self.offsets;
        let at = CallAt {
            input: from[0].wrapping_add_signed(x as i64),
            mask: from[1].wrapping_add_signed(y as i64),
            output: output.wrapping_add_signed(out as i64),
            workspace,
        };
        for launch in &self.launches {
            // SAFETY: as above; the workspace is as large as the plan asks for, and its counters are zero.
            unsafe { launch.queue(stream, at) }?;
        }
        Ok(())
    }
}

impl Each {
    /// # Safety
    /// As [`Rows::queue`]; `at` are the addresses of elements, targets and gradient.
    pub(super) unsafe fn queue(
        &self,
        stream: &Stream,
        [x, y, gradient]: [u64; 3],
        output: u64,
    ) -> Result<(), CudaError> {
        let lined = (x | y | gradient | output).is_multiple_of(16);
        let launch = self.packs.as_ref().filter(|_| lined).unwrap_or(&self.elements);
        // SAFETY: the caller's.
        unsafe { launch.queue(stream, EachAt { x, y, gradient, output }) }
    }
}

impl Terms {
    /// # Safety
    /// As [`Each::queue`].
    pub(super) unsafe fn queue(&self, stream: &Stream, from: [u64; 3], output: u64) -> Result<(), Error> {
        let mut scratch = stream.scratch();
        let workspace = scratch.workspace(stream, self.workspace)?;
        let [terms, results] = self.at.map(|at| workspace + at as u64);
        // SAFETY: the caller's; the workspace has room for the terms, and its lock is held.
        unsafe { self.each.queue(stream, from, terms) }?;
        // SAFETY: the terms that were just queued, in the workspace.
        let view = unsafe { ArrayView::dense(stream.device().index(), terms, self.reduction.dtype(), &self.view) }?;
        let to = if self.rounded.is_some() { results } else { output };
        // SAFETY: as above; the caller's room, or the workspace's.
        unsafe { self.reduction.run_in(stream, view, to, workspace) }?;
        if let Some(rounded) = &self.rounded {
            // SAFETY: as above.
            unsafe { rounded.queue(stream, ArrangeAt { input: results, output }) }?;
        }
        Ok(())
    }
}
