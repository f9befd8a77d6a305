//! Where a host array is cut, if it does not fit into a GPU's memory.

use crate::host::gather::{Gather, Placement};
use crate::plan::Chunk;
use warpfold_array::ArrayRef;
use warpfold_array::Error;
use warpfold_array::problem::Problem;

/// A part of an array, and of its mask.
#[derive(Clone)]
pub(crate) struct Piece<'a> {
    pub array: ArrayRef<'a>,
    pub mask: Option<ArrayRef<'a>>,
    /// Its first index along each axis of the array.
    pub at: Vec<usize>,
}

/// How a piece goes to the device.
pub(crate) enum Leaf {
    /// In one go.
    Whole,
    /// Cut along its reduced axes; `needed` bytes in all. No chunks: that cannot be done.
    Chunked { chunks: Vec<Chunk>, needed: u64 },
}

/// Bytes that are copied of an array.
fn bytes(array: &ArrayRef<'_>) -> usize {
    Gather::placed(array, &Placement::of(array)).bytes()
}

impl Piece<'_> {
    fn narrow(&self, axis: usize, from: usize, len: usize) -> Self {
        let mask = self.mask.map(|mask| {
            let missing = self.array.shape().len() - mask.shape().len();
            match axis.checked_sub(missing) {
                Some(axis) if mask.shape()[axis] != 1 => mask.narrow(axis, from, len),
                _ => mask,
            }
        });
        let mut at = self.at.clone();
        at[axis] += from;
        Piece { array: self.array.narrow(axis, from, len), mask, at }
    }

    /// The problem of the copy that lies densely on the device.
    fn placed_problem(&self, axes: &[usize]) -> Result<Problem, Error> {
        let placement = Placement::of(&self.array);
        let (shape, strides) = (self.array.shape(), &placement.strides[..self.array.shape().len()]);
        // SAFETY: a problem is a computation with strides; nothing is read.
        let layout = unsafe { ArrayRef::from_raw(std::ptr::null(), self.array.dtype(), shape, strides)? };
        Problem::new(&layout, axes, self.mask.as_ref())
    }
}

/// Cuts a piece until its parts have at most `most` bytes: across the axis that is outermost in memory, so that the
/// host reads in order. If that is a reduced one, `chunked` says how; if it cannot, kept axes are cut all the same.
pub(crate) fn cut<'a>(
    piece: Piece<'a>,
    axes: &[usize],
    most: usize,
    chunked: &dyn Fn(&Problem) -> Vec<Chunk>,
    to: &mut Vec<(Piece<'a>, Leaf)>,
) -> Result<(), Error> {
    let needed = bytes(&piece.array);
    if needed <= most {
        to.push((piece, Leaf::Whole));
        return Ok(());
    }
    let (shape, strides) = (piece.array.shape(), piece.array.strides());
    let outermost = |is_reduced: bool| {
        let all = (0..shape.len()).filter(|&a| shape[a] > 1 && strides[a] != 0 && axes.contains(&a) == is_reduced);
        all.max_by_key(|&a| strides[a].unsigned_abs())
    };
    let (kept, reduced) = (outermost(false), outermost(true));
    let step = |axis: Option<usize>| axis.map_or(0, |a| strides[a].unsigned_abs());
    let mut chunks = Vec::new();
    if step(reduced) > step(kept) {
        chunks = chunked(&piece.placed_problem(axes)?);
    }
    match kept {
        Some(axis) if chunks.is_empty() => {
            let len = shape[axis];
            let part = len.div_ceil(needed.div_ceil(most).min(len));
            for from in (0..len).step_by(part) {
                cut(piece.narrow(axis, from, part.min(len - from)), axes, most, chunked, to)?;
            }
        }
        _ => to.push((piece, Leaf::Chunked { chunks, needed: needed as u64 })),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_array::Order;
    use warpfold_core::DType;

    fn pieces(shape: &[usize], order: Order, axes: &[usize], most: usize, can_chunk: bool) -> Vec<(Vec<usize>, bool)> {
        let bytes = vec![0; 4 * shape.iter().product::<usize>()];
        let array = ArrayRef::from_bytes(&bytes, DType::F32, shape, order, false).unwrap();
        let chunked = |_: &Problem| match can_chunk {
            true => vec![Chunk { start: 0, len: 4, launches: Vec::new(), workspace: 0 }],
            false => Vec::new(),
        };
        let mut found = Vec::new();
        let whole = Piece { array, mask: None, at: vec![0; shape.len()] };
        cut(whole, axes, most, &chunked, &mut found).unwrap();
        let total: usize = found.iter().map(|(piece, _)| piece.array.len()).sum();
        assert_eq!(total, array.len());
        found.into_iter().map(|(p, leaf)| (p.array.shape().to_vec(), matches!(leaf, Leaf::Whole))).collect()
    }

    #[test]
    fn kept_axes_are_cut_where_they_are_outermost() {
        let rows = pieces(&[10, 100], Order::C, &[1], 1200, false);
        assert_eq!(rows, vec![(vec![3, 100], true), (vec![3, 100], true), (vec![3, 100], true), (vec![1, 100], true)]);
        let whole = pieces(&[10, 100], Order::C, &[1], 4000, true);
        assert_eq!(whole, [(vec![10, 100], true)]);
    }

    #[test]
    fn reduced_axes_are_cut_by_the_plan_where_that_can_be() {
        assert_eq!(pieces(&[1000], Order::C, &[0], 400, true), [(vec![1000], false)]);
        assert_eq!(pieces(&[100, 10], Order::C, &[0], 400, true), [(vec![100, 10], false)]);
        assert_eq!(pieces(&[2, 1000], Order::C, &[1], 400, true), vec![(vec![1, 1000], false); 2]);
        // Otherwise across memory, in columns.
        let columns = pieces(&[100, 10], Order::C, &[0], 800, false);
        assert_eq!(columns, vec![(vec![100, 2], true); 5]);
    }

    #[test]
    fn what_is_broadcast_counts_once() {
        let x = [1.0f32; 8];
        let base = x.as_ptr().cast();
        // SAFETY: a view of the eight numbers.
        let array = unsafe { ArrayRef::from_raw(base, DType::F32, &[1_000_000, 8], &[0, 4]) }.unwrap();
        let mut found = Vec::new();
        cut(Piece { array, mask: None, at: vec![0; 2] }, &[1], 64, &|_| Vec::new(), &mut found).unwrap();
        assert_eq!(found.len(), 1);
    }
}
