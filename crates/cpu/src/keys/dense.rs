//! Elements copied to contiguous memory: those of any layout in order, and rows by their positions.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use warpfold_core::{DType, Element};

use crate::output::large_pages;
use crate::parallel;
use warpfold_array::problem::{At, Dim, Walk, merge};
use warpfold_array::{ArrayRef, Order};
use warpfold_array::{Value, Values};

/// Elements that a task copies.
const TASK: usize = 1 << 16;

/// The axes from `first` on, in logical order, merged where memory allows.
fn dims(array: &ArrayRef<'_>, first: usize) -> Vec<Dim> {
    let axes = array.shape().iter().zip(array.strides()).skip(first).filter(|(len, _)| **len != 1);
    merge(axes.map(|(&len, &x)| Dim { len, x, mask: 0, out: 0 }).collect())
}

/// All elements in C order, as they are or as a copy. `T` has the array's dtype, or is `u8` for bools (0 or 1).
pub(super) fn elements<'a, T: Element>(array: &ArrayRef<'a>) -> Cow<'a, [T]> {
    let truth = array.dtype() == DType::Bool;
    debug_assert!(array.dtype() == T::DTYPE || (truth && T::DTYPE == DType::U8));
    if let Some(flat) = array.as_slice::<T>() {
        return Cow::Borrowed(flat);
    }
    let n = array.len();
    let mut copy: Vec<T> = Vec::with_capacity(n);
    // SAFETY: the capacity is `n` elements, `copy_elements` writes all their bytes, and any bytes are an integer or a
    // float. Bools come as bytes of 0 or 1.
    unsafe {
        copy_elements(array, std::slice::from_raw_parts_mut(copy.as_mut_ptr().cast(), n * size_of::<T>()));
        copy.set_len(n);
    }
    Cow::Owned(copy)
}

/// Writes the bytes of all elements in C order and this machine's byte order. Bools become 0 or 1.
fn copy_elements(array: &ArrayRef<'_>, room: &mut [MaybeUninit<u8>]) {
    let (dims, size, swapped) = (dims(array, 0), array.dtype().size(), array.is_swapped());
    let truth = array.dtype() == DType::Bool;
    let base = At { x: array.base(), mask: std::ptr::null() };
    parallel::chunks(room, TASK * size, |i, room| {
        let (outer, inner) = match dims.split_last() {
            Some((inner, outer)) => (outer, *inner),
            None => (&[][..], Dim { len: 1, x: 0, mask: 0, out: 0 }),
        };
        let (mut walk, mut at) = (Walk::new(outer, base, i * TASK / inner.len), i * TASK % inner.len);
        for place in room.chunks_exact_mut(size) {
            // SAFETY: an ArrayRef's elements are readable, and the walk is at one.
            let bytes = unsafe { std::slice::from_raw_parts(walk.at().step(&inner, at).x, size) };
            place.write_copy_of_slice(bytes);
            if truth {
                place[0].write((bytes[0] != 0) as u8);
            }
            if swapped {
                place.reverse();
            }
            at += 1;
            if at == inner.len {
                at = 0;
                walk.advance();
            }
        }
    });
}

/// The array's elements as the values of a result.
pub(super) fn values(array: &ArrayRef<'_>) -> Values {
    if array.dtype() == DType::Bool {
        return Values::Bool(elements::<u8>(array).iter().map(|&x| x != 0).collect());
    }
    by_dtype!(array.dtype(), T => T::wrap(elements::<T>(array).into_owned()))
}

/// Rows of an array, one after the other in C order, in the dtype and byte order of the array.
pub(super) struct Rows {
    words: Vec<u64>,
    shape: Vec<usize>,
    dtype: DType,
    swapped: bool,
}

impl Rows {
    /// Copies the rows `positions` of the first axis.
    pub fn gather(array: &ArrayRef<'_>, positions: &[u32]) -> Self {
        let &rows = array.shape().first().expect("an axis");
        assert!(positions.iter().all(|&at| (at as usize) < rows), "rows of the array");
        let size = array.dtype().size();
        let dims = dims(array, 1);
        let row: usize = dims.iter().map(|dim| dim.len).product();
        let bytes = positions.len() * row * size;
        let mut words: Vec<u64> = Vec::with_capacity(bytes.div_ceil(8));
        large_pages(words.spare_capacity_mut());
        // SAFETY: `bytes` bytes fit the capacity, and `MaybeUninit` bytes need not be initialised. The bytes after
        // those of the rows, in the last word, are written here.
        let room = unsafe {
            if let Some(last) = words.spare_capacity_mut()[..bytes.div_ceil(8)].last_mut() {
                last.write(0);
            }
            std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<MaybeUninit<u8>>(), bytes)
        };
        let from = Source { base: array.base(), stride: array.strides()[0], dims: &dims, size };
        let dense = match dims.as_slice() {
            [] => Some(size),
            [dim] if dim.x == size as isize => Some(row * size),
            _ => None,
        };
        let at_a_time = (TASK / row.max(1)).max(1);
        if bytes > 0 {
            parallel::chunks(room, at_a_time * row * size, |i, to| {
                let at = &positions[i * at_a_time..positions.len().min((i + 1) * at_a_time)];
                // SAFETY: an ArrayRef's elements are readable, and the positions are rows of it.
                unsafe {
                    match dense {
                        Some(1) => from.elements::<1>(at, to),
                        Some(2) => from.elements::<2>(at, to),
                        Some(4) => from.elements::<4>(at, to),
                        Some(8) => from.elements::<8>(at, to),
                        Some(bytes) => from.runs(at, bytes, to),
                        None => from.strided(at, row, to),
                    }
                }
            });
        }
        // SAFETY: every byte of the rows has been written by the tasks, and the rest of the last word before them.
        unsafe { words.set_len(bytes.div_ceil(8)) };
        let shape = [positions.len()].into_iter().chain(array.shape()[1..].iter().copied()).collect();
        Self { words, shape, dtype: array.dtype(), swapped: array.is_swapped() }
    }

    /// The rows as an array.
    pub fn array(&self) -> ArrayRef<'_> {
        let bytes = self.shape.iter().product::<usize>() * self.dtype.size();
        // SAFETY: the words hold at least so many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), bytes) };
        ArrayRef::from_bytes(bytes, self.dtype, &self.shape, Order::C, self.swapped).expect("the bytes of the rows")
    }
}

/// The array that rows are copied from.
struct Source<'a> {
    base: *const u8,
    stride: isize,
    dims: &'a [Dim],
    size: usize,
}

// SAFETY: a source is an address and numbers. Its methods only read, and their callers vouch for the rows.
unsafe impl Sync for Source<'_> {}

impl Source<'_> {
    fn row(&self, at: u32) -> *const u8 {
        self.base.wrapping_offset(self.stride * at as isize)
    }

    /// Rows of `N` bytes.
    ///
    /// # Safety
    /// The rows are readable.
    unsafe fn elements<const N: usize>(&self, positions: &[u32], to: &mut [MaybeUninit<u8>]) {
        for (&at, to) in positions.iter().zip(to.as_chunks_mut::<N>().0) {
            // SAFETY: the caller vouches for the row, which has `N` bytes.
            *to = unsafe { self.row(at).cast::<[MaybeUninit<u8>; N]>().read_unaligned() };
        }
    }

    /// Rows of any number of bytes, without gaps.
    ///
    /// # Safety
    /// The rows are readable.
    unsafe fn runs(&self, positions: &[u32], bytes: usize, to: &mut [MaybeUninit<u8>]) {
        for (&at, to) in positions.iter().zip(to.chunks_exact_mut(bytes)) {
            // SAFETY: the caller vouches for the row, and its place has as many bytes.
            unsafe { std::ptr::copy_nonoverlapping(self.row(at).cast(), to.as_mut_ptr(), bytes) };
        }
    }

    /// Rows of elements with gaps.
    ///
    /// # Safety
    /// The rows are readable.
    unsafe fn strided(&self, positions: &[u32], row: usize, to: &mut [MaybeUninit<u8>]) {
        for (&at, to) in positions.iter().zip(to.chunks_exact_mut(row * self.size)) {
            let mut walk = Walk::new(self.dims, At { x: self.row(at), mask: std::ptr::null() }, 0);
            for to in to.chunks_exact_mut(self.size) {
                // SAFETY: the caller vouches for the row's elements, and the place has the bytes of one.
                unsafe { std::ptr::copy_nonoverlapping(walk.at().x.cast(), to.as_mut_ptr(), self.size) };
                walk.advance();
            }
        }
    }
}
