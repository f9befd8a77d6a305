//! An array whose elements are overwritten.

use std::marker::PhantomData;
use std::ops::Range;

use warpfold_core::{DType, Element};

use crate::error::Error;
use crate::layout::ArrayRef;
use crate::row_error::RowError;

/// A borrowed array of any dtype, shape and strides, whose elements a result is written to. They are in this machine's
/// byte order, and no two of them share memory.
///
/// ```
/// use warpfold_array::ArrayMut;
///
/// let mut x = [0.0f32; 6];
/// let rows = ArrayMut::from_slice(&mut x, &[2, 3])?;
/// assert_eq!(rows.array().strides(), [12, 4]);
/// # Ok::<(), warpfold_array::Error>(())
/// ```
#[derive(Debug)]
pub struct ArrayMut<'a> {
    array: ArrayRef<'a>,
    life: PhantomData<&'a mut [u8]>,
}

impl<'a> ArrayMut<'a> {
    /// A C-order array of `T`.
    ///
    /// # Errors
    /// [`Error::Length`] if the slice does not hold exactly the elements of `shape`.
    pub fn from_slice<T: Element>(x: &'a mut [T], shape: &[usize]) -> Result<Self, Error> {
        let base = x.as_mut_ptr().cast();
        let array = ArrayRef::from_slice(x, shape)?;
        // SAFETY: the slice has these elements, and is borrowed for `'a`. The address is that of a mutable borrow.
        unsafe { Self::from_raw(base, T::DTYPE, shape, array.strides()) }
    }

    /// An array of any strides, in bytes.
    ///
    /// # Safety
    /// Every element that `shape` and `strides` reach from `base` is readable and writable for `'a`, and nobody else
    /// uses it.
    ///
    /// # Errors
    /// [`Error::RankTooHigh`], [`Error::ShapeOverflow`]; [`RowError::Shared`] if elements may share memory.
    pub unsafe fn from_raw(base: *mut u8, dtype: DType, shape: &[usize], strides: &[isize]) -> Result<Self, Error> {
        // SAFETY: the caller's.
        let array = unsafe { ArrayRef::from_raw(base, dtype, shape, strides) }?;
        match apart(&array) {
            true => Ok(Self { array, life: PhantomData }),
            false => Err(RowError::Shared { shape: shape.to_vec(), strides: strides.to_vec() }.into()),
        }
    }

    /// The array, to read it.
    pub fn array(&self) -> ArrayRef<'_> {
        self.array
    }

    /// Whether another array has the same elements, at the same places, or such as lie among them. Arrays that lie in
    /// each other's gaps count as the latter.
    pub fn meets(&self, other: &ArrayRef<'_>) -> Meeting {
        let here = &self.array;
        let steps = |of: &ArrayRef<'_>| -> Vec<isize> {
            of.shape().iter().zip(of.strides()).filter(|(len, _)| **len > 1).map(|(_, step)| *step).collect()
        };
        if here.is_empty() || other.is_empty() {
            return Meeting::Apart;
        }
        let same = here.base() == other.base() && here.dtype() == other.dtype() && here.shape() == other.shape();
        if same && !other.is_swapped() && steps(here) == steps(other) {
            return Meeting::Same;
        }
        let (left, right) = (bytes(here), bytes(other));
        if left.start < right.end && right.start < left.end { Meeting::Overlap } else { Meeting::Apart }
    }

    /// The address of the element with all indices 0.
    pub fn base(&mut self) -> *mut u8 {
        self.array.base().cast_mut()
    }
}

/// How two arrays lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// They share no memory.
    Apart,
    /// All elements of one are those of the other, at the same places.
    Same,
    /// They may share memory in another way.
    Overlap,
}

/// The addresses between the first byte of an array and its last.
fn bytes(array: &ArrayRef<'_>) -> Range<usize> {
    let (mut first, mut last) = (array.base().addr(), array.base().addr());
    for (len, step) in array.shape().iter().zip(array.strides()) {
        let reach = step.wrapping_mul(len.saturating_sub(1) as isize);
        let end = if reach < 0 { &mut first } else { &mut last };
        *end = end.wrapping_add_signed(reach);
    }
    first..last.wrapping_add(array.dtype().size())
}

/// Whether each axis, from the least step on, steps over all that the axes before reach.
fn apart(array: &ArrayRef<'_>) -> bool {
    let axes = array.shape().iter().zip(array.strides());
    let mut axes: Vec<(usize, usize)> =
        axes.filter(|(len, _)| **len > 1).map(|(len, step)| (step.unsigned_abs(), *len)).collect();
    axes.sort_unstable();
    let mut reach = array.dtype().size();
    let over = |&(step, len): &(usize, usize)| {
        let over = step >= reach;
        reach = reach.saturating_add(step.saturating_mul(len - 1));
        over
    };
    array.is_empty() || axes.iter().all(over)
}
