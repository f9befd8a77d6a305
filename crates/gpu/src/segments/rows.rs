//! Segments of rows, and of values with steps between them: taken apart into columns, which are segments of one list.
//!
//! Columns lie one after the other, with an element between them, and so do their offsets; between the results of two
//! columns there is then one of what lies between, which nobody reads. The bits are those of each column by itself, as
//! a reduction's do not depend on where it lies.

use crate::device::Device;
use crate::launch::Ready;
use crate::plan::rows::Rows;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::CudaError;
use warpfold_core::DType;
use warpfold_kernels::group::turn::{RepeatAt, TurnAt};
use warpfold_kernels::segment::call::SegmentsAt;

/// Where parts of the workspace begin.
const ALIGNED: usize = 256;

/// The steps of rows: the first axis, and all others as one. None if these are not one.
pub(crate) fn steps(values: &ArrayView<'_>) -> Option<Rows> {
    let size = values.dtype().size();
    let (&rows, trailing) = values.shape().split_first()?;
    let (mut across, mut next) = (size as isize, None);
    for (&len, &stride) in trailing.iter().zip(&values.strides()[1..]).rev().filter(|(len, _)| **len != 1) {
        if next.is_some_and(|next| next != stride) {
            return None;
        }
        if next.is_none() {
            across = stride;
        }
        next = Some(stride * len as isize);
    }
    let along = if rows > 1 { values.strides()[0] } else { size as isize };
    Some(Rows { rows, columns: trailing.iter().product(), along, across, size })
}

/// Whether they are a list of elements that lie side by side.
pub(crate) fn is_list(rows: &Rows) -> bool {
    rows.columns == 1 && (rows.rows < 2 || rows.along == rows.size as isize)
}

/// The launches before and after a reduction of segments of columns, and where in the workspace they put what.
pub(crate) struct Apart {
    turn: Option<Ready<TurnAt>>,
    repeat: Ready<RepeatAt>,
    back: Vec<Ready<TurnAt>>,
    /// Bytes of an element of a result.
    result: u64,
    values: u64,
    offsets: u64,
    results: u64,
    /// Bytes of all of the workspace.
    pub workspace: usize,
}

impl Apart {
    /// Of `segments` segments, whose results are `pair` elements of `dtype`, behind so many bytes of a workspace.
    pub fn new(
        device: &Device,
        rows: &Rows,
        segments: usize,
        offsets: DType,
        (dtype, pair): (DType, usize),
        workspace: usize,
    ) -> Result<Apart, CudaError> {
        let (size, columns, cuts) = (dtype.size(), rows.columns, segments + 1);
        let found = Rows {
            rows: columns,
            columns: segments,
            along: (cuts * pair * size) as isize,
            across: (pair * size) as isize,
            size,
        };
        let multiprocessors = device.multiprocessors();
        let values = workspace.next_multiple_of(ALIGNED);
        let repeated = (values + rows.pitch() * columns * rows.size).next_multiple_of(ALIGNED);
        let results = (repeated + cuts * columns * 8).next_multiple_of(ALIGNED);
        let back = (0..pair).filter_map(|_| found.back(pair));
        Ok(Apart {
            turn: rows.turn().map(|launch| device.ready(&launch)).transpose()?,
            repeat: device.ready(&rows.repeat(cuts, offsets.size(), offsets == DType::I32, multiprocessors))?,
            back: back.map(|launch| device.ready(&launch)).collect::<Result<_, _>>()?,
            result: size as u64,
            values: values as u64,
            offsets: repeated as u64,
            results: results as u64,
            workspace: results + cuts * columns * pair * size,
        })
    }

    /// The kernels, those before and those after.
    pub fn kernels(&self) -> [Vec<&str>; 2] {
        let before = self.turn.iter().map(Ready::entry).chain([self.repeat.entry()]).collect();
        [before, self.back.iter().map(Ready::entry).collect()]
    }

    /// Queues taking rows apart, in the order of positions if their address is not 0. Returns where values, offsets and
    /// results of columns are.
    ///
    /// # Safety
    /// Rows, positions and offsets are like those that were planned for, and the workspace is as large as that, until
    /// the device is done with them.
    pub unsafe fn queue(&self, stream: &Stream, at: SegmentsAt, positions: u64) -> Result<SegmentsAt, CudaError> {
        let workspace = at.workspace;
        let to = SegmentsAt {
            input: workspace + self.values,
            offsets: workspace + self.offsets,
            output: workspace + self.results,
            workspace,
            only: at.only,
        };
        // SAFETY: the caller's; columns and offsets have room.
        unsafe {
            if let Some(turn) = &self.turn {
                turn.queue(stream, TurnAt { input: at.input, positions, output: to.input })?;
            }
            self.repeat.queue(stream, RepeatAt { input: at.offsets, output: to.offsets })?;
        }
        Ok(to)
    }

    /// Queues putting results where they belong.
    ///
    /// # Safety
    /// As [`Apart::queue`], which was before; the output has room.
    pub unsafe fn queue_back(&self, stream: &Stream, results: u64, output: u64) -> Result<(), CudaError> {
        for (i, back) in self.back.iter().enumerate() {
            let at = i as u64 * self.result;
            // SAFETY: the caller's.
            unsafe { back.queue(stream, TurnAt { input: results + at, positions: 0, output: output + at }) }?;
        }
        Ok(())
    }
}
