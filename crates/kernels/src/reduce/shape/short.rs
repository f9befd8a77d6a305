//! Short rows: a warp takes 8 steps of as many rows as its lanes hold.
//!
//! Idea: a row of at most 512 bytes is one 16-byte read of 1, 2, 4, … 32 lanes, one of up to 2 KiB two or four steps of
//! such reads; all 8 steps are in flight before the first is used. The butterfly that merges lanes leaves each lane
//! with another row's result, so that the end of the work is shared too. Bottleneck: memory.

use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::shape::piece::{self, Outputs, Packs, share};
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::split::Split;
use crate::reduce::shape::warp::pick;
use warpfold_simt::Simt;

params! {
    /// Outputs, and how many lanes share each.
    pub struct Short[; const K] {
        /// The kept axes.
        pub outputs: Outputs<K>,
        /// Elements of a row.
        pub len: u64,
        /// Lanes to a row, a power of two.
        pub lanes: u32,
        /// Steps to a row, 1, 2 or 4; more than 1 only with 32 lanes.
        pub steps: u32,
    }
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, P: piece::Short, const K: usize>(s: &S, call: &Call<Short<K>>) {
    let piece = P::new(&call.recipe);
    let shape = &call.shape;
    let split = Split { lanes: shape.lanes, steps: shape.steps };
    let (lane, total) = (s.lane(), shape.outputs.total);
    let at_once = share(32, split.lanes) as u64;
    let warp = s.block_x() as u64 * (s.block_dim_x() / 32) as u64 + s.warp() as u64;
    let first = warp * at_once * share(STEPS as u32, split.steps) as u64 + share(lane, split.lanes) as u64;
    let number = |k: u32| first + share(k, split.steps) as u64 * at_once;
    // Rows beyond the last read the last; nobody writes them.
    let there = |k: u32| number(k).min(total - 1);
    let mut at = [0; STEPS];
    if s.branch(shape.outputs.axes <= 1) {
        let x = shape.outputs.axis[0].x;
        let (from, by) = (first as i64 * x, at_once as i64 * x);
        if s.branch(number(STEPS as u32 - 1) < total) {
            at = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| from + share(k as u32, split.steps) as i64 * by,
            );
        } else {
            at = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| there(k as u32) as i64 * x,
            );
        }
    } else {
        let (mut k, steps) = (0, s.opaque(STEPS as u32));
        while s.again(k < steps) {
            let x = shape.outputs.at(there(k)).x;
            at = warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| if j as u32 == k { x } else { at[j] },
            );
            k += 1;
        }
    }
    // A row has at most 2 KiB.
    let len = shape.len as u32;
    let valid = |k: u32| {
        let before = split.pack(s, k) * P::PER;
        (len.max(before) - before).min(P::PER)
    };
    let packs = Packs {
        len: shape.len,
        at: warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| call.at.input.wrapping_add(at[k] as u64).wrapping_add(split.pack(s, k as u32) as u64 * 16),
        ),
        valid: if s.branch(split.steps == 1) {
            [valid(0); STEPS]
        } else {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| valid(k as u32),
            )
        },
    };
    let parts = piece.short(s, &packs, split);
    let spread = split.spread();
    let (mut j, steps) = (0, s.opaque(STEPS as u32));
    while s.again(j * spread < steps) {
        let k = j * spread + (lane & (spread - 1));
        let number = number(k);
        // One lane writes a row.
        if s.branch(number < total && k & (split.steps - 1) == 0 && lane & (split.lanes - 1) < spread) {
            let part = pick(parts, j);
            let out = shape.outputs.at(number).out;
            piece.fold().finish(s, &call.recipe, part, call.out(out));
        }
        j += 1;
    }
}
