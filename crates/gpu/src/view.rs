//! Arrays in a GPU's memory that somebody else owns.

use std::marker::PhantomData;
use std::ops::Range;

use warpfold_array::{ArrayRef, CudaError, Error};
use warpfold_core::DType;

use crate::queue::Queue;

/// An array in a GPU's memory that somebody else owns: any dtype, shape and strides.
///
/// It holds an address that the host cannot read, and no safe code can make it try.
#[derive(Clone, Copy, Debug)]
pub struct ArrayView<'a> {
    layout: ArrayRef<'a>,
    device: usize,
    life: PhantomData<&'a [u8]>,
}

impl<'a> ArrayView<'a> {
    /// An array that another library has put on the device: the address of the element with all indices 0, and the step
    /// of each axis in bytes. Steps may be negative, or 0 to repeat. Elements lie at multiples of their size; rows and
    /// columns may start anywhere.
    ///
    /// # Safety
    /// Every element that `shape` and `strides` reach from `address` is memory of that device, readable by kernels for
    /// `'a` and until whatever was queued with it is done.
    ///
    /// # Errors
    /// If there are too many axes or elements, not one stride per axis, or elements at other places.
    pub unsafe fn from_raw(
        device: usize,
        address: u64,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<ArrayView<'a>, Error> {
        if shape.len() != strides.len() {
            let (shape, expected, found) = (shape.to_vec(), shape.len(), strides.len());
            return Err(Error::Strides { shape, expected, found });
        }
        let size = dtype.size();
        let stays = |(&len, &stride): (&usize, &isize)| len < 2 || stride % size as isize == 0;
        if !address.is_multiple_of(size as u64) || !shape.iter().zip(strides).all(stays) {
            return Err(CudaError::Misaligned { dtype, address, strides: strides.to_vec() }.into());
        }
        let address = std::ptr::without_provenance(address as usize);
        // SAFETY: this type lends the layout only to code of this crate that computes with the address, and does not
        // read.
        let layout = unsafe { ArrayRef::from_raw(address, dtype, shape, strides)? };
        Ok(ArrayView { layout, device, life: PhantomData })
    }

    /// A view, as [`ArrayView::from_raw`], of an array in C order.
    ///
    /// # Safety
    /// As [`ArrayView::from_raw`].
    ///
    /// # Errors
    /// As [`ArrayView::from_raw`].
    pub unsafe fn dense(device: usize, address: u64, dtype: DType, shape: &[usize]) -> Result<Self, Error> {
        let mut strides = vec![0; shape.len()];
        let mut step = dtype.size() as isize;
        for (stride, &len) in strides.iter_mut().zip(shape).rev() {
            *stride = step;
            step *= len.max(1) as isize;
        }
        // SAFETY: the caller's.
        unsafe { ArrayView::from_raw(device, address, dtype, shape, &strides) }
    }

    /// The part of an axis in `range`.
    ///
    /// # Errors
    /// If there is no such axis, or it is shorter.
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Result<ArrayView<'a>, CudaError> {
        let fits = self.shape().get(axis).is_some_and(|&len| range.start <= range.end && range.end <= len);
        if !fits {
            return Err(self.outside(format!("{range:?} of axis {axis}")));
        }
        Ok(ArrayView { layout: self.layout.narrow(axis, range.start, range.len()), ..*self })
    }

    /// Every `step`th element of an axis, backwards if the step is negative.
    ///
    /// # Errors
    /// If there is no such axis, or the step is 0.
    pub fn step(&self, axis: usize, step: isize) -> Result<ArrayView<'a>, CudaError> {
        let too_far = self.strides().get(axis).is_none_or(|stride| stride.checked_mul(step).is_none());
        if step == 0 || too_far {
            return Err(self.outside(format!("step {step} along axis {axis}")));
        }
        Ok(ArrayView { layout: self.layout.stepped(axis, step), ..*self })
    }

    /// The axes in another order: `permute(&[1, 0])` is a transposed matrix.
    ///
    /// # Errors
    /// If an axis is missing or named twice.
    pub fn permute(&self, axes: &[usize]) -> Result<ArrayView<'a>, CudaError> {
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..self.shape().len()) {
            return Err(self.outside(format!("the order of axes {axes:?}")));
        }
        Ok(ArrayView { layout: self.layout.permuted(axes), ..*self })
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.layout.dtype()
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The step of each axis, in bytes.
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// Where the element with all indices 0 is, as kernels see it.
    pub fn address(&self) -> u64 {
        self.layout.base().addr() as u64
    }

    /// The index of its device, as in `cuda:1`.
    pub fn device(&self) -> usize {
        self.device
    }

    /// For code that computes with addresses, and reads nothing.
    pub(crate) fn layout(&self) -> &ArrayRef<'a> {
        &self.layout
    }

    pub(crate) fn is_on(&self, stream: &Queue, what: &'static str) -> Result<(), CudaError> {
        stream.is_on(what, self.device)
    }

    fn outside(&self, what: String) -> CudaError {
        CudaError::Outside { what, shape: self.shape().to_vec() }
    }
}
