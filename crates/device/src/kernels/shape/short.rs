//! Short rows: a warp takes 8 steps of as many rows as its lanes hold.
//!
//! Idea: a row of at most 512 bytes is one 16-byte read of 1, 2, 4, … 32 lanes; the reads of 8 groups of rows are in flight
//! before the first is used. Lanes of a row meet by plain exchanges, and the finished rows are spread over the lanes that
//! shared them, so that the end of the work is shared too.
//! Bottleneck: memory; for the longest, the exchanges.

use super::parts;
use super::piece::{Outputs, Piece, Row, share};
use super::warp::{STEPS, pick};
use crate::kernels::fold::Parts;
use crate::kernels::recipe::{Call, flag};
use crate::simt::Simt;

/// Outputs, and how many lanes share each.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Short<const K: usize, R> {
    /// The kept axes.
    pub outputs: Outputs<K>,
    /// Elements of a row.
    pub len: u64,
    /// Lanes to a row, a power of two.
    pub lanes: u32,
    /// Zero.
    pub reserved: u32,
    /// How elements go on in a row.
    pub reduced: R,
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, P: Piece, const K: usize>(s: &S, call: &Call<Short<K, P::Reduced>>) {
    let piece = P::new(&call.recipe);
    let shape = &call.shape;
    let reduced = P::from(shape.reduced, call.input);
    let (lanes, lane) = (shape.lanes, s.lane());
    let at_once = share(32, lanes) as u64;
    let warp = s.block_x() as u64 * (s.block_dim_x() / 32) as u64 + s.warp() as u64;
    let first = warp * at_once * STEPS as u64 + share(lane, lanes) as u64;
    let total = shape.outputs.total;
    // Rows beyond the last read the last; nobody writes them.
    let number = |k: u64| (first + k * at_once).min(total - 1);
    let row = |k: u64| Row::new(call, shape.outputs.at(number(k)), shape.len, reduced);
    let parts = piece.short(
        s,
        core::array::from_fn(
            #[inline(always)]
            |k| row(k as u64),
        ),
        lanes,
    );
    let mut k = lane & (lanes - 1);
    while s.again(k < STEPS as u32) {
        let number = first + k as u64 * at_once;
        if s.branch(number < total) {
            let at = shape.outputs.at(number);
            let row = Row::new(call, at, shape.len, reduced);
            let part = piece.settle(s, &row, pick(parts, k), true);
            if s.branch(call.recipe.has(flag::PARTS)) {
                parts::leave(s, call, piece.fold(), number, part);
            } else {
                piece.fold().finish(s, &call.recipe, part, parts::out(call, at.out));
            }
        }
        k += lanes;
    }
}
