//! What to launch for a selection: the first k elements of each row in an order.

use warpfold_array::problem::{Dim, merge};
use warpfold_core::DType;
use warpfold_kernels::block::{THREADS, WARPS};
use warpfold_kernels::reduce::shape::map::Divisor;
use warpfold_kernels::select::{LONGEST, MOST, MOST_OF_WARP, Select, SelectAt};

use super::Launch;
use super::limits::Limits;
use super::rowwise::padded;
use super::sort::What;

/// Bytes of a row that a warp reads at most, and those up to which it does of few rows, too.
const OF_WARP: [usize; 2] = [8 << 10, 1 << 10];
/// Teams for each multiprocessor: with fewer rows than that, rows are cut.
const TEAMS: usize = 4;
/// Bytes of a part at least: two steps of a block.
const PART: usize = 32 << 10;
/// Elements of a part for each one that is chosen, at least.
const EACH: usize = 128;

/// A selection along one axis, of rows that lie side by side, or so many bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct Selecting {
    /// The dtype of the elements.
    pub dtype: DType,
    /// Rows.
    pub rows: usize,
    /// Elements of a row.
    pub len: usize,
    /// Bytes from row to row.
    pub step: usize,
    /// Rows that are neighbours in the result, between its elements of one: those of the axes behind the row's.
    pub inner: usize,
    /// How many are chosen.
    pub k: usize,
    /// Whether the greatest are chosen.
    pub largest: bool,
}

/// Launches, in order, and the room that they need.
#[derive(Debug)]
pub struct SelectPlan {
    /// In rounds of up to [`MOST`].
    pub launches: Vec<Launch<SelectAt>>,
    /// Bytes for what is chosen from parts.
    pub parts: usize,
    /// Bytes for the last of each row.
    pub last: usize,
}

/// The bytes from row to row of an array whose rows along an axis can be read where they are.
#[must_use]
pub fn in_place(shape: &[usize], strides: &[isize], axis: usize, size: usize) -> Option<usize> {
    let is_dense = shape[axis] <= 1 || strides[axis] == size as isize;
    let is_last = shape[axis + 1..].iter().all(|&len| len == 1);
    let dims = shape[..axis].iter().zip(strides).filter(|(len, _)| **len != 1);
    match merge(dims.map(|(&len, &x)| Dim { len, x, mask: 0, out: 0 }).collect())[..] {
        _ if !is_dense || !is_last => None,
        [] => Some(0),
        [dim] => usize::try_from(dim.x).ok(),
        _ => None,
    }
}

impl Selecting {
    /// The launches. None, if rows are too many or too long for the kernels.
    #[must_use]
    pub fn plan(&self, limits: &Limits) -> Option<SelectPlan> {
        let &Self { dtype, rows, len, k, .. } = self;
        let (size, each) = (dtype.size(), k.min(MOST));
        let teams = TEAMS * limits.multiprocessors as usize;
        let part = (PART / size).max(EACH * each).next_multiple_of(16);
        let wanted = if rows < teams { teams.div_ceil(rows.max(1)) } else { 1 };
        let part = len.div_ceil(wanted).next_multiple_of(16).max(part).min(len.next_multiple_of(16));
        let parts = len.div_ceil(part);
        let bytes = len * size;
        let is_short = each <= MOST_OF_WARP && (bytes <= OF_WARP[1] || bytes <= OF_WARP[0] && rows >= teams);
        let warps = is_short && parts == 1;
        let chosen = rows.checked_mul(parts * each)?;
        if len >= LONGEST || parts * each >= LONGEST {
            return None;
        }
        let (own, met) = if size == 8 { (16, "select_parts_b8") } else { (8, "select_parts_b4") };
        let call = |first: usize| Select {
            at: SelectAt::default(),
            elements: What::Values.elements(dtype),
            flip: if self.largest { 0 } else { u64::MAX >> (64 - 8 * size) },
            rows: rows as u64,
            len: len as u64,
            step: self.step as u64,
            part: part as u64,
            parts: Divisor::new(parts as u64),
            inner: Divisor::new(self.inner as u64),
            k: (k - first).min(MOST) as u32,
            first: first as u32,
            all: k as u32,
            again: (first + MOST < k) as u32,
        };
        let grid = |blocks: usize| i32::try_from(blocks).ok().map(|blocks| blocks as u32);
        let of = |kind: &str, blocks: usize, first: usize| {
            Some(Launch::new(format!("{kind}_b{size}"), grid(blocks)?, THREADS, &call(first)))
        };
        let mut launches = Vec::new();
        for first in (0..k).step_by(MOST) {
            if warps {
                launches.push(of("select_warp", rows.div_ceil(WARPS as usize), first)?);
            } else {
                launches.push(of("select", rows * parts, first)?);
            }
            if parts > 1 {
                launches.push(Launch::new(met, grid(rows)?, THREADS, &call(first)));
            }
        }
        let parts = if parts > 1 { padded(chosen.checked_mul(own)?) } else { 0 };
        Some(SelectPlan { launches, parts, last: if k > MOST { padded(rows * own) } else { 0 } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { multiprocessors: 132, bandwidth: 4e12, aligned: true, shared_bytes: 227 << 10 };

    fn plan(rows: usize, len: usize, k: usize) -> Vec<String> {
        let of = Selecting { dtype: DType::F32, rows, len, step: 4 * len, inner: 1, k, largest: true };
        let launches = of.plan(&LIMITS).expect("a plan").launches;
        launches.iter().map(|launch| format!("{} {}", launch.entry, launch.grid)).collect()
    }

    #[test]
    fn teams_are_for_the_length_and_the_number_of_rows() {
        assert_eq!(plan(1000, 128, 8), ["select_warp_b4 125"]);
        assert_eq!(plan(1000, 1024, 8), ["select_warp_b4 125"]);
        assert_eq!(plan(100, 1024, 8), ["select_b4 100"]);
        assert_eq!(plan(1000, 1024, 180), ["select_b4 1000"]);
        assert_eq!(plan(8192, 32000, 50), ["select_b4 8192"]);
        assert_eq!(plan(1, 1 << 26, 50), ["select_b4 528", "select_parts_b4 1"]);
        assert_eq!(plan(2, 5000, 3000), ["select_b4 2"; 3]);
    }

    #[test]
    fn rows_that_are_not_side_by_side_are_copied() {
        assert_eq!(in_place(&[5, 6], &[24, 4], 1, 4), Some(24));
        assert_eq!(in_place(&[5, 6], &[24, 4], 0, 4), None);
        assert_eq!(in_place(&[5, 1, 6], &[48, 7, 4], 2, 4), Some(48));
        assert_eq!(in_place(&[5, 6], &[-24, 4], 1, 4), None);
        assert_eq!(in_place(&[2, 5, 6], &[240, 24, 4], 2, 4), None);
        assert_eq!(in_place(&[6], &[4], 0, 4), Some(0));
        assert_eq!(in_place(&[3, 1], &[16, 99], 1, 4), Some(16));
    }

    #[test]
    fn rows_that_are_too_long_have_no_plan() {
        let of = Selecting { dtype: DType::I8, rows: 1, len: 1 << 31, step: 0, inner: 1, k: 1, largest: true };
        assert!(of.plan(&LIMITS).is_none());
    }
}
