//! The results of a warp's packs, from what was kept of them and what their rows were reduced to.

use super::Rowwise;
use super::dense;
use super::level::pick;
use super::op::{Held, RowOp};
use super::spread::{Place, Spread};
use super::write::write;
use crate::reduce::shape::split::next;
use crate::source::{Bits, Source};
use warpfold_simt::{ALL, Pack, Shared, Simt};

/// The elements of an operation.
pub(super) type Of<O> = <<O as RowOp>::Source as Source>::Bits;

/// How results get to memory.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// Lanes exchange what lies in others' lines. Whether packs are lines of rows that begin and end anywhere.
    Exchanged { lined: bool },
    /// By way of a warp's room in shared memory.
    Shared(Shared<Pack<u32, 4>>),
}

/// The results of a warp's packs, written to where they belong, from what their rows were reduced to.
#[inline(always)]
pub(super) fn mapped<S: Simt, O: RowOp, const N: usize>(
    s: &S,
    op: &O,
    call: &Rowwise,
    held: &Held<O, N>,
    (plain, stats): (bool, impl Fn(u32) -> O::Stat),
    way: Way,
    place: impl Fn(u32) -> Place,
) {
    let results = map::<S, O, N>(s, op, Spread::WARP, held, (plain, stats), &place);
    written::<S, O, true, N>(s, call, Spread::WARP, results, way, place);
}

/// Writes the results of a warp's packs to where they belong. `WARP` is as in [`write`].
#[inline(always)]
pub(super) fn written<S: Simt, O: RowOp, const WARP: bool, const N: usize>(
    s: &S,
    call: &Rowwise,
    spread: Spread<N>,
    results: [[u32; 4]; N],
    way: Way,
    place: impl Fn(u32) -> Place,
) {
    let lined = matches!(way, Way::Exchanged { lined: true });
    let aligned = lined || call.aligned_out::<Of<O>>();
    let whole = !lined && aligned && call.len.is_multiple_of(Of::<O>::PER as u64);
    match way {
        Way::Shared(room) if !s.branch(aligned && whole) => {
            dense::write::<S, Of<O>, N>(s, spread, room, results, place)
        }
        _ => write::<S, Of<O>, WARP, N>(s, spread, [aligned, whole], results, place),
    }
}

/// The results of a lane's packs, from what was kept of them and what their rows were reduced to. Whether all rows are
/// plain. Where packs differ, steps go one by one, most of which are common.
#[inline(always)]
pub(super) fn map<S: Simt, O: RowOp, const N: usize>(
    s: &S,
    op: &O,
    spread: Spread<N>,
    held: &Held<O, N>,
    (plain, stats): (bool, impl Fn(u32) -> O::Stat),
    place: impl Fn(u32) -> Place,
) -> [[u32; 4]; N] {
    let (lane, per, kept, plain) = (s.lane(), Of::<O>::PER, held.kept, plain && !held.wild);
    let at = |k: u32| place(k).at(spread, k, lane, per);
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
        let mut results = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| op.map(s, kept[k], stats(k as u32), at(k as u32)),
        );
        let (mut has_own, mut k) = (false, 0);
        while O::COMMON && k < N {
            has_own |= op.has_own(stats(k as u32), at(k as u32));
            k += 1;
        }
        // All lanes: what is known of rows may come from other lanes.
        if O::COMMON && s.branch(s.any(ALL, has_own)) {
            let (mut k, all) = (0, s.opaque(N as u32));
            while s.again(k < all) {
                let own = op.with_own(s, results[0], pick(kept, k), stats(k), at(k));
                results = next(results, own);
                k += 1;
            }
        }
        return results;
    }
    if O::AT_ONCE {
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| op.map_any(s, kept[k], stats(k as u32), held.wild, at(k as u32)),
        );
    }
    let (mut results, mut k, all) = ([[0; 4]; N], 0, s.opaque(N as u32));
    while s.again(k < all) {
        let (own, stat, at) = (pick(kept, k), stats(k), at(k));
        let common = O::COMMON && s.all(ALL, plain && op.is_common(own, false, stat, at));
        let result = if s.branch(common) {
            op.with_own(s, op.map(s, own, stat, at), own, stat, at)
        } else {
            op.map_any(s, own, stat, held.wild, at)
        };
        results = next(results, result);
        k += 1;
    }
    results
}
