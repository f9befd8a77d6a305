//! The dtype, shape and strides of arrays for which something was prepared.

use crate::view::ArrayView;
use std::fmt;
use warpfold_array::{ArrayRef, CudaError, MAX_RANK};
use warpfold_core::DType;

/// What a reduction was prepared for.
#[derive(PartialEq)]
pub(crate) struct Layout {
    dtype: DType,
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [isize; MAX_RANK],
}

impl Layout {
    pub(crate) fn of(array: &ArrayRef<'_>) -> Layout {
        let rank = array.shape().len();
        let mut layout = Layout { dtype: array.dtype(), rank, shape: [0; MAX_RANK], strides: [0; MAX_RANK] };
        layout.shape[..rank].copy_from_slice(array.shape());
        layout.strides[..rank].copy_from_slice(array.strides());
        layout
    }

    pub(crate) fn check(&self, what: &'static str, view: &ArrayView<'_>) -> Result<(), CudaError> {
        let is_same = view.dtype() == self.dtype
            && view.shape() == &self.shape[..self.rank]
            && view.strides() == &self.strides[..self.rank];
        if is_same {
            return Ok(());
        }
        let found = Layout::of(view.layout()).to_string();
        Err(CudaError::Layout { what, found, expected: self.to_string() })
    }

    /// Checks an array that there may be, if there was one when something was prepared.
    pub(crate) fn check_both(
        prepared: Option<&Layout>,
        what: &'static str,
        view: Option<&ArrayView<'_>>,
    ) -> Result<(), CudaError> {
        match (prepared, view) {
            (None, None) => Ok(()),
            (Some(layout), Some(view)) => layout.check(what, view),
            (layout, view) => {
                let absent = || "absent".to_owned();
                let found = view.map_or_else(absent, |view| Layout::of(view.layout()).to_string());
                Err(CudaError::Layout { what, found, expected: layout.map_or_else(absent, Layout::to_string) })
            }
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { dtype, rank, shape, strides } = self;
        write!(f, "{dtype} {:?} with steps of {:?} bytes", &shape[..*rank], &strides[..*rank])
    }
}
