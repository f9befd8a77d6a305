//! How a lane gets its packs of 16 bytes: of elements side by side, or in several runs.

use crate::address::array;
use crate::node::select;
use crate::reduce::shape::piece::read::{Tile, followed};
use crate::reduce::shape::piece::{Dense, Row, Runs, Sequence};
use crate::reduce::shape::split::{STEPS, next};
use crate::source::{Bits, words};
use warpfold_simt::Simt;

/// How a lane gets its packs.
pub trait Gather: Sequence {
    /// Whether packs are lines, counted from a line that starts at or before the row.
    fn in_lines(row: &Row<Self>) -> bool;
    /// A lane's 8 packs of a tile. What the row does not have of them may be anything.
    fn read<S: Simt, B: Bits>(s: &S, row: &Row<Self>, tile: &Tile) -> [[u32; 4]; STEPS];
}

impl Gather for Dense {
    #[inline(always)]
    fn in_lines(_row: &Row<Self>) -> bool {
        true
    }
    #[inline(always)]
    fn read<S: Simt, B: Bits>(s: &S, _row: &Row<Self>, tile: &Tile) -> [[u32; 4]; STEPS] {
        tile.read::<S, B>(s)
    }
}

impl Gather for Runs {
    #[inline(always)]
    fn in_lines(row: &Row<Self>) -> bool {
        row.reduced.aligned != 0 && row.x & 15 == 0
    }
    #[inline(always)]
    fn read<S: Simt, B: Bits>(s: &S, row: &Row<Self>, tile: &Tile) -> [[u32; 4]; STEPS] {
        if s.branch(tile.torn) { torn::<S, B>(s, row, tile) } else { tile.read::<S, B>(s) }
    }
}

/// A lane's 8 packs of a tile that is in several runs, each of which has more than a pack.
#[inline(always)]
fn torn<S: Simt, B: Bits>(s: &S, row: &Row<Runs>, tile: &Tile) -> [[u32; 4]; STEPS] {
    let (lane, places) = (s.lane(), Places::new(row, tile.first));
    let piece = |k: u32| places.piece::<B>(row, 32 * k + lane, tile.valid);
    // One copy of a division.
    let (mut k, steps) = (0, s.opaque(STEPS as u32));
    if s.branch(Runs::in_lines(row)) {
        // A row of such runs ends with a pack.
        let mut at = [0u64; STEPS];
        while s.again(k < steps) {
            at = next(at, piece(k).at);
            k += 1;
        }
        return at.map(
            #[inline(always)]
            |at| words(s, array(at), 16),
        );
    }
    // Elements are read one by one: neighbouring lanes find theirs in the same lines of the first-level cache. So
    // many at a time that they fit the registers.
    const TURN: usize = 4;
    let (mut w, nothing) = ([[0; 4]; STEPS], Piece { at: 0, other: 0, near: 0, count: 0 });
    while s.again(k < steps) {
        let (mut some, mut j, turn) = ([nothing; TURN], 0, s.opaque(if B::SIZE >= 4 { TURN } else { 1 } as u32));
        while s.again(j < turn) {
            some = next(some, piece(k + j));
            j += 1;
        }
        if B::SIZE >= 4 {
            let read: [[u32; 4]; TURN] = some.map(
                #[inline(always)]
                |piece| piece.read::<S, B>(s),
            );
            w = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| if i + TURN < STEPS { w[i + TURN] } else { read[i + TURN - STEPS] },
            );
        } else {
            w = next(w, some[TURN - 1].read::<S, B>(s));
        }
        k += turn;
    }
    w
}

/// Where the elements of a tile are that is in several runs: counted from its first, in 32 bits.
struct Places {
    /// The run of the first.
    run: u64,
    /// Its number in that run.
    inside: u32,
}

/// A pack in one or in two neighbouring runs.
#[derive(Clone, Copy)]
struct Piece {
    /// The address of its first element.
    at: u64,
    /// The address from which the elements that are in the next run are counted, as if the pack began there.
    other: u64,
    /// Elements in the first run.
    near: u32,
    /// Elements in both.
    count: u32,
}

impl Places {
    /// From element `first` of a row on.
    #[inline(always)]
    fn new(row: &Row<Runs>, first: u64) -> Self {
        let (run, inside) = row.reduced.map.run.divide(first);
        Self { run, inside: inside as u32 }
    }

    /// Pack `p` of a tile of `valid` elements; the last again, if there are fewer.
    #[inline(always)]
    fn piece<B: Bits>(&self, row: &Row<Runs>, p: u32, valid: u32) -> Piece {
        let map = &row.reduced.map;
        let first = p.min((valid - 1) / B::PER) * B::PER;
        let (run, inside) = map.run.divide_small(self.inside + first);
        let run = self.run + run as u64;
        let count = (valid - first).min(B::PER);
        let near = (map.run.by as u32 - inside).min(count);
        let at = row.x.wrapping_add(map.run_at(run) as u64).wrapping_add((inside * B::SIZE) as u64);
        // Runs are far from each other, but turns farther.
        let far = if map.axes <= 2 { map.far } else { map.run_at(run + 1) - map.run_at(run) };
        let other = at.wrapping_add(far as u64).wrapping_sub(map.run.by * B::SIZE as u64);
        Piece { at, other, near, count }
    }
}

impl Piece {
    /// Its elements, one by one; beyond the last it is the last again.
    #[inline(always)]
    fn read<S: Simt, B: Bits>(&self, s: &S) -> [u32; 4] {
        let bits: [B; 16] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |e| {
                if e as u32 >= B::PER {
                    return B::ZERO;
                }
                let e = (e as u32).min(self.count - 1);
                s.load(array(select(e >= self.near, self.other, self.at)), e as usize)
            },
        );
        let (mut w, mut e) = ([0; 4], 0);
        while e < B::PER as usize {
            w = followed(w, bits[e]);
            e += 1;
        }
        w
    }
}
