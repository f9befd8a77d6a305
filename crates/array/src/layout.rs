//! The memory layout of an array: address, dtype, shape, strides.

use std::marker::PhantomData;

use warpfold_core::{DType, Element};

use crate::error::Error;

/// The highest rank that Warpfold takes.
pub const MAX_RANK: usize = 16;

/// The order of a dense array's elements in memory.
///
/// ```
/// use warpfold_array::{ArrayRef, Order};
/// use warpfold_core::DType;
///
/// let x = ArrayRef::from_bytes(&[0; 24], DType::F32, &[2, 3], Order::Fortran, false)?;
/// assert_eq!(x.strides(), [4, 8]);
/// # Ok::<(), warpfold_array::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Row-major: the last axis is contiguous.
    C,
    /// Column-major: the first axis is contiguous.
    Fortran,
}

/// A borrowed array of any dtype, shape and strides: the input of every reduction whose dtype is known at run time.
///
/// ```
/// use warpfold_array::ArrayRef;
///
/// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let rows = ArrayRef::from_slice(&x, &[2, 3])?;
/// assert_eq!(rows.strides(), [12, 4]);
/// assert_eq!(rows.permuted(&[1, 0]).strides(), [4, 12]);
/// assert_eq!(rows.narrow(0, 1, 1).as_slice::<f32>(), Some(&x[3..]));
/// # Ok::<(), warpfold_array::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ArrayRef<'a> {
    base: *const u8,
    dtype: DType,
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [isize; MAX_RANK],
    swapped: bool,
    life: PhantomData<&'a [u8]>,
}

// SAFETY: the memory is only read, and borrowed as shared for `'a`.
unsafe impl Send for ArrayRef<'_> {}
// SAFETY: the memory is only read, so that several threads may read it at once.
unsafe impl Sync for ArrayRef<'_> {}

/// The number of elements of a shape.
///
/// # Errors
/// [`Error::RankTooHigh`]; [`Error::ShapeOverflow`] if elements of `size` bytes do not fit the address space.
pub fn elements(shape: &[usize], size: usize) -> Result<usize, Error> {
    if shape.len() > MAX_RANK {
        return Err(Error::RankTooHigh { rank: shape.len() });
    }
    // An axis of length zero makes the array empty, but must not hide an overflow of the other axes' strides.
    let product = shape.iter().filter(|&&d| d != 0).try_fold(size, |n, &d| n.checked_mul(d));
    match product {
        Some(bytes) if bytes <= isize::MAX as usize => Ok(shape.iter().product()),
        _ => Err(Error::ShapeOverflow { shape: shape.to_vec() }),
    }
}

impl<'a> ArrayRef<'a> {
    /// A C-order array of `T`.
    ///
    /// # Errors
    /// [`Error::Length`] if the slice does not hold exactly the elements of `shape`.
    pub fn from_slice<T: Element>(x: &'a [T], shape: &[usize]) -> Result<Self, Error> {
        let n = elements(shape, size_of::<T>())?;
        if n != x.len() {
            return Err(Error::Length { shape: shape.to_vec(), expected: n, found: x.len() });
        }
        // SAFETY: the slice has as many elements as the shape, all of them readable for `'a`.
        Ok(unsafe { Self::dense(x.as_ptr().cast(), T::DTYPE, shape, Order::C) })
    }

    /// A slice as an array of one axis.
    pub fn flat<T: Element>(x: &'a [T]) -> Self {
        // SAFETY: the shape is the length of the slice, all of whose elements are readable for `'a`.
        unsafe { Self::dense(x.as_ptr().cast(), T::DTYPE, &[x.len()], Order::C) }
    }

    /// A dense array in the bytes of a file or a message, at any alignment. `swapped`: in the byte order that is not
    /// this machine's.
    ///
    /// # Errors
    /// [`Error::Length`] (in bytes) if `bytes` is shorter or longer than the array.
    pub fn from_bytes(
        bytes: &'a [u8],
        dtype: DType,
        shape: &[usize],
        order: Order,
        swapped: bool,
    ) -> Result<Self, Error> {
        let expected = elements(shape, dtype.size())? * dtype.size();
        if expected != bytes.len() {
            return Err(Error::Length { shape: shape.to_vec(), expected, found: bytes.len() });
        }
        // SAFETY: `bytes` has the bytes of all elements, readable for `'a`. No reader assumes that they are aligned.
        let array = unsafe { Self::dense(bytes.as_ptr(), dtype, shape, order) };
        Ok(array.with_bytes_swapped(swapped))
    }

    /// An array of any strides, in bytes.
    ///
    /// # Safety
    /// Every element that `shape` and `strides` reach from `base` is readable and unchanging for `'a`.
    ///
    /// # Errors
    /// [`Error::RankTooHigh`], [`Error::ShapeOverflow`].
    pub unsafe fn from_raw(base: *const u8, dtype: DType, shape: &[usize], strides: &[isize]) -> Result<Self, Error> {
        elements(shape, 1)?;
        assert_eq!(shape.len(), strides.len(), "one stride per axis");
        let mut array = Self {
            base,
            dtype,
            rank: shape.len(),
            shape: [0; MAX_RANK],
            strides: [0; MAX_RANK],
            swapped: false,
            life: PhantomData,
        };
        array.shape[..shape.len()].copy_from_slice(shape);
        array.strides[..shape.len()].copy_from_slice(strides);
        Ok(array)
    }

    /// # Safety
    /// The array is readable; its size does not overflow and its rank is at most [`MAX_RANK`].
    unsafe fn dense(base: *const u8, dtype: DType, shape: &[usize], order: Order) -> Self {
        let rank = shape.len();
        let mut array =
            Self { base, dtype, rank, shape: [0; MAX_RANK], strides: [0; MAX_RANK], swapped: false, life: PhantomData };
        array.shape[..rank].copy_from_slice(shape);
        let mut stride = dtype.size() as isize;
        for i in 0..rank {
            let axis = if order == Order::C { rank - 1 - i } else { i };
            array.strides[axis] = stride;
            stride *= shape[axis].max(1) as isize;
        }
        array
    }

    /// The part of an axis from index `from` on, of length `len`.
    pub fn narrow(&self, axis: usize, from: usize, len: usize) -> Self {
        assert!(from.checked_add(len).is_some_and(|end| end <= self.shape()[axis]), "a part of the axis");
        let mut part = *self;
        part.shape[axis] = len;
        if len > 0 {
            part.base = self.base.wrapping_offset(self.strides[axis] * from as isize);
        }
        part
    }

    /// The part of one axis, of `len` elements `stride` bytes apart, from `from` bytes after the first element. They
    /// are elements of this array.
    pub fn line(&self, from: isize, len: usize, stride: isize) -> Self {
        let mut line = *self;
        line.base = self.base.wrapping_offset(from);
        line.rank = 1;
        (line.shape[0], line.strides[0]) = (len, stride);
        line
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]` of this array.
    pub fn permuted(&self, axes: &[usize]) -> Self {
        let mut array = *self;
        for (to, &from) in axes.iter().enumerate() {
            array.shape[to] = self.shape[from];
            array.strides[to] = self.strides[from];
        }
        array
    }

    /// Every `step`th element of an axis; backwards, if the step is negative.
    pub fn stepped(&self, axis: usize, step: isize) -> Self {
        let mut array = *self;
        let len = self.shape[axis];
        if step < 0 && len > 0 {
            array.base = self.base.wrapping_offset(self.strides[axis] * (len as isize - 1));
        }
        array.shape[axis] = len.div_ceil(step.unsigned_abs());
        array.strides[axis] *= step;
        array
    }

    /// The same memory, read in the byte order that is not this machine's if `swapped`, and else in this machine's.
    ///
    /// ```
    /// use warpfold_array::ArrayRef;
    ///
    /// let x = [0x0100u16];
    /// assert!(ArrayRef::flat(&x).with_bytes_swapped(true).is_swapped());
    /// assert!(!ArrayRef::flat(&[1u8]).with_bytes_swapped(true).is_swapped());
    /// ```
    pub fn with_bytes_swapped(self, swapped: bool) -> Self {
        Self { swapped: swapped && self.dtype.size() > 1, ..self }
    }

    /// The first element's address.
    pub fn base(&self) -> *const u8 {
        self.base
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// The step of each axis, in bytes.
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    /// Whether the byte order is not this machine's.
    pub fn is_swapped(&self) -> bool {
        self.swapped
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether an axis has length zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes of all elements; of a broadcast array that has more than fit a `usize`, the largest `usize`.
    pub fn bytes(&self) -> usize {
        self.len().saturating_mul(self.dtype.size())
    }

    /// The elements as a slice, if they lie densely in C order, aligned, in this machine's byte order, and are `T`s:
    /// of bools, if each byte is 0 or 1.
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        let mut stride = size_of::<T>() as isize;
        for axis in (0..self.rank).rev() {
            if self.shape[axis] != 1 && self.strides[axis] != stride {
                return None;
            }
            stride *= self.shape[axis] as isize;
        }
        let fits = self.dtype == T::DTYPE && !self.swapped && self.base.cast::<T>().is_aligned();
        if !fits {
            return None;
        }
        // SAFETY: the elements are dense, as checked above, and readable for `'a` by the constructors' contracts.
        let truths = || unsafe { std::slice::from_raw_parts(self.base, self.len()) }.iter().all(|&byte| byte <= 1);
        // SAFETY: the elements are dense and aligned, as checked above, and readable for `'a` by the constructors'
        // contracts. Any bytes are a number, and those of bools are checked.
        (T::DTYPE != DType::Bool || truths())
            .then(|| unsafe { std::slice::from_raw_parts(self.base.cast(), self.len()) })
    }
}
