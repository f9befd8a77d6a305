//! Where the elements of rows are, and how they come from memory to tiles of floats and back.
//!
//! A tile has some elements of some rows, row after row. In memory rows may lie in any way. Where neighbouring rows are
//! neighbours in memory and the elements of a row are not, tiles are transposed.

use std::ops::Range;

use warpfold_array::{ArrayRef, Value};
use warpfold_core::{DType, Element, bf16, f16};

use crate::engine::nodes::Items;
use crate::gather::Gather;
use crate::halves::Wide;
use crate::load::Loaded;
use crate::simd::vectorize;
use crate::terms::Fused;
use crate::transpose::{Rows, take_apart};

/// The floats that rows are computed in.
pub trait RowFloat: Fused + Loaded + Wide + Element<Float = Self, Mean = Self, Sum = Self> + Value + Default {}

impl RowFloat for f32 {}
impl RowFloat for f64 {}

/// An axis: its length, and its step in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    len: usize,
    step: isize,
}

/// The rows of an array, in row-major order of the kept axes, and the elements of each, in row-major order of the row's
/// axes.
pub struct Lines {
    base: *mut u8,
    dtype: DType,
    swapped: bool,
    kept: Vec<Axis>,
    row: Vec<Axis>,
}

// SAFETY: addresses, which are read, or written in disjoint parts, as the callers of `load` and `store` vouch.
unsafe impl Sync for Lines {}

/// A part of some rows: the elements `from..from + n` of each.
#[derive(Clone, Debug)]
pub struct Part {
    /// The rows.
    pub rows: Range<usize>,
    /// The index of the first element in its row.
    pub from: usize,
    /// Elements of each row.
    pub n: usize,
}

/// A rectangle in memory, some elements of some rows that are one step apart.
struct Rectangle {
    at: *mut u8,
    rows: usize,
    row_step: isize,
    n: usize,
    step: isize,
    /// The place of the first element in a tile.
    place: usize,
}

impl Lines {
    /// The rows of an array along some axes, sorted.
    pub fn of(array: &ArrayRef<'_>, axes: &[usize]) -> Self {
        let strides = array.strides();
        Self::at(array.base().cast_mut(), array.dtype(), array.is_swapped(), array.shape(), strides, axes)
    }

    /// The rows of a new array of a dtype, dense in C order.
    pub fn dense(base: *mut u8, dtype: DType, shape: &[usize], axes: &[usize]) -> Self {
        let mut strides = vec![0; shape.len()];
        let mut step = dtype.size() as isize;
        for (stride, &len) in strides.iter_mut().zip(shape).rev() {
            *stride = step;
            step *= len as isize;
        }
        Self::at(base, dtype, false, shape, &strides, axes)
    }

    /// The rows of an array with these steps in bytes.
    pub fn at(base: *mut u8, dtype: DType, swapped: bool, shape: &[usize], strides: &[isize], axes: &[usize]) -> Self {
        let of = |is_row: bool| {
            let mut merged: Vec<Axis> = Vec::new();
            for a in (0..shape.len()).filter(|a| axes.contains(a) == is_row && shape[*a] != 1) {
                let axis = Axis { len: shape[a], step: strides[a] };
                match merged.last_mut() {
                    Some(outer) if outer.step == axis.step * axis.len as isize => {
                        *outer = Axis { len: outer.len * axis.len, step: axis.step };
                    }
                    _ => merged.push(axis),
                }
            }
            merged
        };
        Self { base, dtype, swapped, kept: of(false), row: of(true) }
    }

    /// Bytes of an element.
    pub fn size(&self) -> usize {
        self.dtype.size()
    }

    /// Whether tiles are transposed, so that some rows should be loaded together.
    pub fn across(&self) -> bool {
        let size = self.dtype.size() as isize;
        let apart = self.row.last().is_some_and(|row| row.step != size);
        apart && self.kept.last().is_some_and(|kept| kept.step == size)
    }

    /// Calls `f` with the rectangles of a part.
    fn rectangles(&self, part: &Part, mut f: impl FnMut(Rectangle)) {
        let runs = |axes: &[Axis], range: Range<usize>, f: &mut dyn FnMut(usize, isize, usize, isize)| {
            let (inner, outer) = match axes.split_last() {
                Some((inner, outer)) => (*inner, outer),
                None => (Axis { len: 1, step: 0 }, axes),
            };
            let mut at = range.start;
            while at < range.end {
                let n = (inner.len - at % inner.len).min(range.end - at);
                let (mut offset, mut rest) = ((at % inner.len) as isize * inner.step, at / inner.len);
                for axis in outer.iter().rev() {
                    offset += (rest % axis.len) as isize * axis.step;
                    rest /= axis.len;
                }
                f(at - range.start, offset, n, inner.step);
                at += n;
            }
        };
        runs(&self.kept, part.rows.clone(), &mut |row, row_offset, rows, row_step| {
            runs(&self.row, part.from..part.from + part.n, &mut |i, offset, n, step| {
                let at = self.base.wrapping_offset(row_offset + offset);
                f(Rectangle { at, rows, row_step, n, step, place: row * part.n + i });
            });
        });
    }

    /// Where a part begins, if its elements are `F`s that lie in memory as in a tile.
    fn tile<F: Element>(&self, part: &Part) -> Option<*mut F> {
        let size = size_of::<F>() as isize;
        if self.dtype != F::DTYPE || self.swapped || part.n == 0 {
            return None;
        }
        let (mut one, mut several) = (None, false);
        self.rectangles(part, |r| {
            several |= one.is_some();
            let dense = (r.n == 1 || r.step == size) && (r.rows == 1 || r.row_step == size * r.n as isize);
            one = Some(dense.then_some(r.at.cast::<F>()));
        });
        one.flatten().filter(|at| !several && at.is_aligned())
    }

    /// The part as it lies in memory, if the elements are `F`s that lie as in a tile.
    ///
    /// # Safety
    /// The part is within the rows, which are readable for `'a`.
    pub unsafe fn in_place<'a, F: Element>(&self, part: &Part) -> Option<&'a [F]> {
        let at = self.tile::<F>(part)?;
        // SAFETY: one rectangle has all elements, densely, aligned; the caller vouches that they are readable.
        Some(unsafe { std::slice::from_raw_parts(at, part.rows.len() * part.n) })
    }

    /// The part as it lies in memory, to be written, if results are `F`s that lie as in a tile.
    ///
    /// # Safety
    /// As of [`Lines::store`], for `'a`. What is there is not read before it is written.
    pub unsafe fn out_in_place<'a, F: RowFloat>(&self, part: &Part) -> Option<&'a mut [F]> {
        let at = self.tile::<F>(part)?;
        // SAFETY: as of `in_place`; the caller vouches that nobody else uses them.
        Some(unsafe { std::slice::from_raw_parts_mut(at, part.rows.len() * part.n) })
    }

    /// Copies a part to a tile by `gather`, which reads elements of this dtype.
    ///
    /// # Safety
    /// The part is within the rows, which are readable, and the tile has room for it.
    pub unsafe fn load<F: Element>(&self, gather: Gather<F>, part: &Part, tile: *mut F) {
        let size = self.dtype.size();
        self.rectangles(part, |r| {
            let to = tile.wrapping_add(r.place);
            let dense = r.n == part.n && r.step == size as isize && r.row_step == (r.n * size) as isize;
            // SAFETY: a rectangle is a part of the part, for whose elements and room the caller vouches. A transposed
            // tile has a row of `n` elements for each row.
            unsafe {
                if dense {
                    return gather(r.at, r.step, r.rows * r.n, to);
                }
                let whole = r.step > 0 && (r.step as usize).is_multiple_of(size);
                if r.rows == 1 || r.row_step != size as isize || !whole {
                    for row in 0..r.rows {
                        gather(r.at.wrapping_offset(row as isize * r.row_step), r.step, r.n, to.add(row * part.n));
                    }
                    return;
                }
                let mut turned = Items::new();
                let from = turned.room(r.rows * r.n * size).cast::<u8>();
                let rows = Rows { n: r.n, columns: r.rows, step: r.step as usize / size, bytes: size, whole: true };
                take_apart(r.at, rows, from, r.n);
                for row in 0..r.rows {
                    gather(from.add(row * r.n * size), size as isize, r.n, to.add(row * part.n));
                }
            }
        });
    }

    /// Rounds a tile to this dtype, and writes it to memory.
    ///
    /// # Safety
    /// The part is within the rows, which are writable, and no other thread uses it. The tile has its elements.
    pub unsafe fn store<F: RowFloat>(&self, part: &Part, tile: &[F]) {
        let size = self.dtype.size();
        let round = rounding::<F>(self.dtype);
        self.rectangles(part, |r| {
            let from = tile.as_ptr().wrapping_add(r.place);
            let dense = r.n == part.n && r.step == size as isize && r.row_step == (r.n * size) as isize;
            // SAFETY: as in `load`, with the roles of memory and tile exchanged.
            unsafe {
                if dense {
                    return round(from, r.rows * r.n, r.at, r.step);
                }
                let whole = r.step >= (r.rows * size) as isize && (r.step as usize).is_multiple_of(size);
                if r.rows == 1 || r.row_step != size as isize || !whole {
                    for row in 0..r.rows {
                        let at = r.at.wrapping_offset(row as isize * r.row_step);
                        round(from.add(row * part.n), r.n, at, r.step);
                    }
                    return;
                }
                let mut turned = Items::new();
                let tile = turned.room(r.rows * r.n * size).cast::<u8>();
                for row in 0..r.rows {
                    round(from.add(row * part.n), r.n, tile.add(row * r.n * size), size as isize);
                }
                let rows = Rows { n: r.rows, columns: r.n, step: r.n, bytes: size, whole: true };
                take_apart(tile, rows, r.at, r.step as usize / size);
            }
        });
    }
}

/// Rounds `n` floats, and writes them so many bytes apart.
type Rounding<F> = unsafe fn(from: *const F, n: usize, to: *mut u8, step: isize);

/// The rounding to a float dtype.
fn rounding<F: RowFloat>(dtype: DType) -> Rounding<F> {
    match dtype {
        DType::F16 => round::<F, f16>,
        DType::BF16 => round::<F, bf16>,
        DType::F32 => round::<F, f32>,
        _ => round::<F, f64>,
    }
}

/// # Safety
/// `n` floats are readable, and there is room for as many elements, `step` bytes apart, at any address.
unsafe fn round<F: RowFloat, T: Element>(from: *const F, n: usize, to: *mut u8, step: isize) {
    let size = size_of::<T>() as isize;
    if size_of::<T::Float>() != size_of::<F>() {
        for i in 0..n {
            // SAFETY: the caller vouches for `n` floats and room for as many elements.
            unsafe {
                let x = T::from_cast((*from.add(i)).cast()).float();
                // By way of `from_float`, which has but one NaN.
                to.wrapping_offset(i as isize * step).cast::<T>().write_unaligned(T::from_float(x));
            }
        }
        return;
    }
    // Both are `f32`, or both `f64`, which are the only floats.
    let from = from.cast::<T::Float>();
    vectorize(
        // The addresses are the closure's own: those of another frame might be what it writes to.
        #[inline(always)]
        move || {
            // SAFETY: the caller vouches for `n` floats and room for as many elements.
            unsafe {
                if step == size {
                    for i in 0..n {
                        to.cast::<T>().add(i).write_unaligned(T::from_float(*from.add(i)));
                    }
                } else {
                    for i in 0..n {
                        let to = to.wrapping_offset(i as isize * step).cast::<T>();
                        to.write_unaligned(T::from_float(*from.add(i)));
                    }
                }
            }
        },
    );
}

/// Makes NaNs the one that results have, as [`Lines::store`] does.
pub fn with_one_nan<F: RowFloat>(x: &mut [F]) {
    let any = vectorize(
        #[inline(always)]
        || {
            x.iter().fold(
                false,
                #[inline(always)]
                |any, x| any | x.is_nan(),
            )
        },
    );
    if any {
        x.iter_mut().for_each(|x| *x = F::from_float(*x));
    }
}

/// Rounds floats to a dtype: they become its elements.
pub fn round_to<F: RowFloat>(dtype: DType, x: &mut [F]) {
    let (first, n) = (x.as_mut_ptr(), x.len());
    if F::DTYPE == DType::F32 {
        // SAFETY: `F` is `f32`, and the slice is borrowed for the call.
        let x = unsafe { std::slice::from_raw_parts_mut(first.cast::<f32>(), n) };
        match dtype {
            DType::F16 => through::<f16>(x),
            DType::BF16 => through::<bf16>(x),
            _ => {}
        }
    }
}

/// Rounds to a type and back.
fn through<T: Element<Float = f32>>(x: &mut [f32]) {
    vectorize(
        #[inline(always)]
        || {
            for x in x {
                *x = T::from_float(*x).float();
            }
        },
    );
}
