//! A reduction in canonical form: axes of length 1 dropped, axes merged where memory allows, kept and reduced axes
//! split.

use crate::error::Error;
use crate::layout::ArrayRef;

/// One axis, with its steps in bytes (in elements for the output).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dim {
    /// The length, never 1.
    pub len: usize,
    /// The step in the array.
    pub x: isize,
    /// The step in the mask.
    pub mask: isize,
    /// The step in the output; 0 for a reduced axis.
    pub out: isize,
}

/// A reduction of an array, in a form that is the same for all ways to describe it.
///
/// ```
/// use warpfold_array::{ArrayRef, problem::Problem};
///
/// let x = [0.0f32; 24];
/// let array = ArrayRef::from_slice(&x, &[2, 3, 1, 4])?;
/// let problem = Problem::new(&array, &[1, 2, 3], None)?;
/// // The reduced axes merge into one of 12 elements, 4 bytes apart.
/// assert_eq!((problem.outputs, problem.count), (2, 12));
/// assert_eq!((problem.reduced.len(), problem.reduced[0].len, problem.reduced[0].x), (1, 12, 4));
/// # Ok::<(), warpfold_array::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Kept axes, the one with the smallest step in memory last.
    pub kept: Vec<Dim>,
    /// Reduced axes, in logical order: the last one's index runs fastest.
    pub reduced: Vec<Dim>,
    /// Elements reduced into each output.
    pub count: usize,
    /// Outputs.
    pub outputs: usize,
    /// Bytes per element of the array.
    pub size: usize,
    /// From the array's base to the first element in canonical order, in bytes.
    pub x_offset: isize,
    /// From the mask's base, in bytes.
    pub mask_offset: isize,
    /// From the output's start, in elements.
    pub out_offset: isize,
}

/// The axes to reduce, sorted and counted from the start. `None` stands for all axes.
///
/// # Errors
/// [`Error::AxisOutOfRange`], [`Error::AxisTwice`].
pub fn normalize_axes(axes: Option<&[isize]>, rank: usize) -> Result<Vec<usize>, Error> {
    let Some(axes) = axes else { return Ok((0..rank).collect()) };
    let mut seen = vec![false; rank];
    for &axis in axes {
        let at = if axis < 0 { axis + rank as isize } else { axis };
        if at < 0 || at >= rank as isize {
            return Err(Error::AxisOutOfRange { axis, rank });
        }
        if std::mem::replace(&mut seen[at as usize], true) {
            return Err(Error::AxisTwice { axis });
        }
    }
    Ok((0..rank).filter(|&a| seen[a]).collect())
}

/// The shape of the result.
pub fn result_shape(shape: &[usize], axes: &[usize], keepdims: bool) -> Vec<usize> {
    let reduced = |axis: &usize| axes.contains(axis);
    (0..shape.len()).filter(|a| keepdims || !reduced(a)).map(|a| if reduced(&a) { 1 } else { shape[a] }).collect()
}

/// The mask's step along each axis of the array, broadcast as NumPy does.
///
/// # Errors
/// [`Error::MaskShape`].
pub fn broadcast(mask: &ArrayRef<'_>, array: &ArrayRef<'_>) -> Result<Vec<isize>, Error> {
    let (m, a) = (mask.shape(), array.shape());
    let mismatch = || Error::MaskShape { mask: m.to_vec(), array: a.to_vec() };
    let missing = a.len().checked_sub(m.len()).ok_or_else(mismatch)?;
    let mut strides = vec![0; a.len()];
    for (i, &len) in m.iter().enumerate() {
        if len == a[missing + i] {
            strides[missing + i] = mask.strides()[i];
        } else if len != 1 {
            return Err(mismatch());
        }
    }
    Ok(strides)
}

impl Problem {
    /// Canonicalises a reduction of `array` over `axes` (sorted, each once).
    pub fn new(array: &ArrayRef<'_>, axes: &[usize], mask: Option<&ArrayRef<'_>>) -> Result<Self, Error> {
        let mask_strides = match mask {
            Some(mask) => broadcast(mask, array)?,
            None => vec![0; array.shape().len()],
        };
        Ok(Self::of(array.shape(), array.strides(), &mask_strides, axes, array.dtype().size()))
    }

    /// The same for elements of `size` bytes, given by shape and strides.
    pub fn of(shape: &[usize], strides: &[isize], mask_strides: &[isize], axes: &[usize], size: usize) -> Self {
        let is_reduced = |axis: usize| axes.contains(&axis);
        let count = (0..shape.len()).filter(|&a| is_reduced(a)).map(|a| shape[a]).product();
        let outputs = (0..shape.len()).filter(|&a| !is_reduced(a)).map(|a| shape[a]).product();
        let (mut kept, mut reduced) = (Vec::new(), Vec::new());
        let mut out = 1isize;
        for axis in (0..shape.len()).rev() {
            let mut dim = Dim { len: shape[axis], x: strides[axis], mask: mask_strides[axis], out: 0 };
            if !is_reduced(axis) {
                dim.out = out;
                out *= dim.len as isize;
            }
            if dim.len != 1 {
                if is_reduced(axis) { &mut reduced } else { &mut kept }.push(dim);
            }
        }
        reduced.reverse();
        // The direction and the order of kept axes are free: walk memory upwards, in the order in which it lies.
        let (mut x_offset, mut mask_offset, mut out_offset) = (0, 0, 0);
        for dim in kept.iter_mut().filter(|d| d.x < 0 && d.len > 0) {
            let last = dim.len as isize - 1;
            x_offset += dim.x * last;
            mask_offset += dim.mask * last;
            out_offset += dim.out * last;
            *dim = Dim { len: dim.len, x: -dim.x, mask: -dim.mask, out: -dim.out };
        }
        kept.sort_by_key(|d: &Dim| std::cmp::Reverse((d.x, d.out)));
        Self { kept: merge(kept), reduced: merge(reduced), count, outputs, size, x_offset, mask_offset, out_offset }
    }

    /// The same elements in the order in which they lie in memory, for a reduction whose result does not depend on
    /// their order: reduced axes are walked upwards, the one with the smallest step last, and merged. `None` if that is
    /// their order.
    pub fn in_memory_order(&self) -> Option<Self> {
        let (mut reduced, mut x_offset, mut mask_offset) = (self.reduced.clone(), self.x_offset, self.mask_offset);
        for dim in reduced.iter_mut().filter(|dim| dim.x < 0 && dim.len > 0) {
            let last = dim.len as isize - 1;
            x_offset += dim.x * last;
            mask_offset += dim.mask * last;
            *dim = Dim { x: -dim.x, mask: -dim.mask, ..*dim };
        }
        reduced.sort_by_key(|dim| std::cmp::Reverse((dim.x, dim.mask)));
        let reduced = merge(reduced);
        (reduced != self.reduced).then(|| Self { reduced, x_offset, mask_offset, ..self.clone() })
    }

    /// Whether rows along this kept axis follow one another without a gap, in steps of this axis.
    pub fn has_dense_rows(&self, lane: &Dim) -> bool {
        let [row] = self.reduced[..] else { return false };
        let steps = |step: isize| step.checked_mul(lane.len as isize);
        lane.x > 0 && Some(row.x) == steps(lane.x) && Some(row.mask) == steps(lane.mask)
    }

    /// Whether each index of this kept axis has the elements of the innermost reduced axis side by side, and the next
    /// index those that follow: a matrix whose rows are to be columns.
    pub fn has_runs_along(&self, lane: &Dim) -> bool {
        let inner = self.inner();
        let steps = |step: isize| step.checked_mul(inner.len as isize);
        inner.len > 1 && inner.x > 0 && Some(lane.x) == steps(inner.x) && Some(lane.mask) == steps(inner.mask)
    }

    /// The reduced axis whose index runs fastest; one of length 1 if there is none.
    pub fn inner(&self) -> Dim {
        self.reduced.last().copied().unwrap_or(Dim { len: 1, x: self.size as isize, mask: 1, out: 0 })
    }
}

/// Joins neighbours that are one axis in the array, the mask and the output.
pub fn merge(dims: Vec<Dim>) -> Vec<Dim> {
    let mut merged: Vec<Dim> = Vec::with_capacity(dims.len());
    for dim in dims {
        if let Some(outer) = merged.last_mut() {
            let len = dim.len as isize;
            if outer.x == dim.x * len && outer.mask == dim.mask * len && outer.out == dim.out * len {
                *outer = Dim { len: outer.len * dim.len, ..dim };
                continue;
            }
        }
        merged.push(dim);
    }
    merged
}

/// A place in the array and in the mask.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// In the array.
    pub x: *const u8,
    /// In the mask.
    pub mask: *const u8,
}

// SAFETY: a pair of addresses; whoever reads them says why that is sound.
unsafe impl Send for At {}
// SAFETY: a pair of addresses, which no method dereferences, so that threads may share it.
unsafe impl Sync for At {}

impl At {
    /// `n` steps along an axis.
    #[inline(always)]
    pub fn step(self, dim: &Dim, n: usize) -> Self {
        self.offset(dim.x * n as isize, dim.mask * n as isize)
    }

    /// By bytes.
    #[inline(always)]
    pub fn offset(self, x: isize, mask: isize) -> Self {
        Self { x: self.x.wrapping_offset(x), mask: self.mask.wrapping_offset(mask) }
    }
}

/// Walks the indices of some axes in row-major order.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    dims: &'a [Dim],
    index: [usize; crate::layout::MAX_RANK],
    at: At,
    out: isize,
}

impl<'a> Walk<'a> {
    /// From position `start`.
    pub fn new(dims: &'a [Dim], base: At, start: usize) -> Self {
        let mut walk = Self { dims, index: [0; crate::layout::MAX_RANK], at: base, out: 0 };
        let mut rest = start;
        for (i, dim) in dims.iter().enumerate().rev() {
            let (n, len) = (rest % dim.len.max(1), dim.len.max(1));
            rest /= len;
            walk.index[i] = n;
            walk.at = walk.at.step(dim, n);
            walk.out += n as isize * dim.out;
        }
        walk
    }

    /// Where it is.
    #[inline(always)]
    pub fn at(&self) -> At {
        self.at
    }

    /// Where the output is.
    #[inline(always)]
    pub fn out(&self) -> isize {
        self.out
    }

    /// To the next position; after the last, around to the first.
    #[inline]
    pub fn advance(&mut self) {
        for (i, dim) in self.dims.iter().enumerate().rev() {
            self.index[i] += 1;
            self.at = self.at.step(dim, 1);
            self.out += dim.out;
            if self.index[i] < dim.len {
                return;
            }
            self.index[i] = 0;
            self.at = self.at.offset(-dim.x * dim.len as isize, -dim.mask * dim.len as isize);
            self.out -= dim.out * dim.len as isize;
        }
    }
}
