//! The results of a warp's packs, from what was kept of them and what their rows were reduced to.

use super::Rowwise;
use super::level::pick;
use super::op::{Held, RowOp};
use super::spread::{Place, Spread};
use super::write::write;
use crate::reduce::shape::split::next;
use crate::source::{Bits, Source};
use warpfold_simt::{ALL, Simt};

/// The elements of an operation.
pub(super) type Of<O> = <<O as RowOp>::Source as Source>::Bits;

/// The results of a warp's packs, written to where they belong, from what their rows were reduced to.
#[inline(always)]
pub(super) fn mapped<S: Simt, O: RowOp, const N: usize>(
    s: &S,
    op: &O,
    call: &Rowwise,
    held: &Held<O, N>,
    (plain, stats): (bool, impl Fn(u32) -> O::Stat),
    lined: bool,
    place: impl Fn(u32) -> Place,
) {
    let results = map::<S, O, true, N>(s, op, Spread::WARP, held, (plain, stats), &place);
    written::<S, O, N>(s, call, results, lined, place);
}

/// Writes the results of a warp's packs to where they belong.
#[inline(always)]
pub(super) fn written<S: Simt, O: RowOp, const N: usize>(
    s: &S,
    call: &Rowwise,
    results: [[u32; 4]; N],
    lined: bool,
    place: impl Fn(u32) -> Place,
) {
    let aligned_out = lined || call.aligned_out::<Of<O>>();
    let whole = !lined && aligned_out && call.len.is_multiple_of(Of::<O>::PER as u64);
    write::<S, Of<O>, N>(s, Spread::WARP, [aligned_out, whole], results, place);
}

/// The results of a lane's packs, from what was kept of them and what their rows were reduced to. Whether all rows are
/// plain. Where packs differ, steps go one by one; of a warp's own row (`WARP`) most of these are common.
#[inline(always)]
pub(super) fn map<S: Simt, O: RowOp, const WARP: bool, const N: usize>(
    s: &S,
    op: &O,
    spread: Spread<N>,
    held: &Held<O, N>,
    (plain, stats): (bool, impl Fn(u32) -> O::Stat),
    place: impl Fn(u32) -> Place,
) -> [[u32; 4]; N] {
    let (lane, per, kept, plain) = (s.lane(), Of::<O>::PER, held.kept, plain && !held.wild);
    let at = |k: u32| place(k).at(spread.pack(k, lane), per);
    let all_common = |clean: bool| {
        let (mut common, mut k) = (plain, 0);
        while k < N {
            common &= op.is_common(kept[k], clean, stats(k as u32), at(k as u32));
            k += 1;
        }
        s.all(ALL, common)
    };
    let common = match O::COMMON {
        true if s.branch(held.clean == (1 << N) - 1) => all_common(true),
        true => all_common(false),
        false => plain,
    };
    if s.branch(common) {
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| op.map(s, kept[k], stats(k as u32), at(k as u32)),
        );
    }
    let (mut results, mut k, all) = ([[0; 4]; N], 0, s.opaque(N as u32));
    while s.again(k < all) {
        let (own, stat, at) = (pick(kept, k), stats(k), at(k));
        let common = O::COMMON && WARP && s.all(ALL, plain && op.is_common(own, false, stat, at));
        let result = if s.branch(common) { op.map(s, own, stat, at) } else { op.map_any(s, own, stat, held.wild, at) };
        results = next(results, result);
        k += 1;
    }
    results
}
