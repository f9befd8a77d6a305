//! At most 8 rows in the order of the tree, each of whose columns a lane has whole: short columns, and ends of others.

use crate::node::select;
use crate::reduce::fold::Tree;
use crate::reduce::shape::panel::read::{load, load_first, load_up_to, together, unshifted};
use crate::reduce::shape::panel::tile::Tile;
use crate::reduce::shape::panel::{Lines, Ordered, Panel, Pitch, Shallow, Strip};
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::warp;
use crate::source::Bits;
use warpfold_simt::{ALL, Pod, Simt};

impl<F: Tree, const NARROW: bool, const C: usize> Shallow<C> for Ordered<F, NARROW> {
    const SIZE: u32 = F::Bits::SIZE;

    #[inline(always)]
    fn shallow<S: Simt>(&self, s: &S, strip: &Strip<Pitch>) -> [F::Part; C] {
        let f = &self.0;
        let rows = strip.rows as u32;
        let tile = Tile { row: 0, step: 1 };
        let of = |bits: &[[F::Bits; C]], j: usize, k: usize| bits[k][j];
        if s.branch(rows == 1) {
            let bits: [[F::Bits; C]; 1] = load(s, strip, tile, true);
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| f.part(f.lift(s, bits[0][j]), 1),
            );
        }
        if F::NEUTRAL && !F::HAS_PLAIN && self.blank().is_some() {
            return if s.branch(rows == 2) {
                self.filled::<S, C, 2>(s, strip)
            } else if s.branch(rows <= 4) {
                self.filled::<S, C, 4>(s, strip)
            } else {
                self.filled::<S, C, STEPS>(s, strip)
            };
        }
        if s.branch(!F::HAS_PLAIN && rows == 2) {
            let bits: [[F::Bits; C]; 2] = load(s, strip, tile, true);
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| f.part(f.pair(s, of(&bits, j, 0), of(&bits, j, 1)), 2),
            );
        }
        // One copy of the code for more that is shifted.
        if s.branch(!F::HAS_PLAIN && (strip.at_once || strip.spread > 1) && rows == 4) {
            let bits: [[F::Bits; C]; 4] = unshifted(s, strip, tile, 4);
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| {
                    let two = |k: usize| f.pair(s, of(&bits, j, k), of(&bits, j, k + 1));
                    f.part(f.join(two(0), two(2), 2), 4)
                },
            );
        }
        let bits: [[F::Bits; C]; STEPS] = load_first(s, strip, tile, true);
        let column = |j: usize| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| of(&bits, j, k),
            )
        };
        if F::HAS_PLAIN {
            // Of rows that are read, but not there, the last is there.
            let plain = |from: usize, to: usize| {
                let (mut plain, mut i) = (true, from * C);
                while i < to * C {
                    plain &= f.is_ordinary(s, bits[i / C][i % C]);
                    i += 1;
                }
                plain
            };
            let mut all = plain(0, 2);
            if s.branch(rows > 2) {
                all &= plain(2, 4);
            }
            if s.branch(rows > 4) {
                all &= plain(4, 8);
            }
            if s.branch(s.all(ALL, all)) {
                return warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |j| f.part(f.raise(small(s, &f.plain(), column(j), rows)), rows),
                );
            }
        }
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                if F::NEUTRAL {
                    f.part(small(s, f, column(j), rows), rows)
                } else {
                    self.at_most_eight(s, column(j), rows)
                }
            },
        )
    }
}

impl<F: Tree, const NARROW: bool, L: Lines> Ordered<F, NARROW, L> {
    /// The bits of an element that changes nothing, if there is one.
    #[inline(always)]
    fn blank(&self) -> Option<F::Bits> {
        if F::COUNTS { Some(F::Bits::from_bits(u128::MAX)) } else { self.0.blank() }
    }

    /// The parts of more than half of `N` rows, and at most all, with elements that change nothing in place of the
    /// others'.
    #[inline(always)]
    fn filled<S: Simt, const C: usize, const N: usize>(&self, s: &S, strip: &Strip<L>) -> [F::Part; C] {
        let rows = strip.rows as u32;
        let bits: [[F::Bits; C]; N] = load_up_to(s, strip, rows);
        let blank = together([self.blank().unwrap_or(F::Bits::ZERO); C]);
        let words = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let own = together(bits[k]);
                if k <= N / 2 || (k as u32) < rows { own } else { blank }
            },
        );
        let (f, words) = self.0.whole::<S, N>(s, words);
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                let one = |k: usize| F::Bits::nth(&words[k], j);
                let two = |k: usize| f.pair(s, one(k), one(k + 1));
                let four = |k: usize| f.join(two(k), two(k + 2), 2);
                let node = match N {
                    2 => two(0),
                    4 => four(0),
                    _ => f.join(four(0), four(4), 4),
                };
                f.part(node, rows)
            },
        )
    }

    /// The part of at most eight rows of one column, of a tree without a neutral node.
    #[inline(always)]
    pub(in crate::reduce::shape) fn at_most_eight<S: Simt>(
        &self,
        s: &S,
        column: [F::Bits; STEPS],
        rows: u32,
    ) -> F::Part {
        let f = &self.0;
        if s.branch(rows < STEPS as u32) {
            return self.few(s, column, rows);
        }
        let two = |k: usize| f.pair(s, column[k], column[k + 1]);
        f.part(warp::four(f, [two(0), two(2), two(4), two(6)], 2), STEPS as u32)
    }

    /// The parts of the rows from `row` on, fewer than eight, of each column; by the cheaper tree if there is one, and
    /// all elements of the warp are ordinary.
    #[inline(always)]
    pub(super) fn end<S: Simt, const C: usize>(&self, s: &S, strip: &Strip<L>, row: u64) -> [F::Part; C] {
        let (f, rows) = (&self.0, (strip.rows - row) as u32);
        let bits: [[F::Bits; C]; STEPS] = load_first(s, strip, Tile { row, step: 1 }, <Self as Panel<C>>::TOGETHER);
        let (mut plain, mut i) = (true, 0);
        while F::HAS_PLAIN && i < STEPS * C {
            plain &= (i / C) as u32 >= rows || f.is_ordinary(s, bits[i / C][i % C]);
            i += 1;
        }
        if !F::HAS_PLAIN || s.branch(s.all(ALL, plain)) {
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| {
                    let column = warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |k| bits[k][j],
                    );
                    if F::NEUTRAL {
                        f.part(f.raise(small(s, &f.plain(), column, rows)), rows)
                    } else {
                        self.few(s, column, rows)
                    }
                },
            );
        }
        Self::in_turn(s, f, &bits, |k| (k as u32) < rows, 32).map(
            #[inline(always)]
            |node| f.part(node, rows),
        )
    }
}

/// The node over the first `rows` of eight elements, of a tree with a neutral node.
#[inline(always)]
fn small<S: Simt, F: Tree>(s: &S, f: &F, bits: [F::Bits; STEPS], rows: u32) -> F::Node {
    let one = |k: usize| select((k as u32) < rows, f.lift(s, bits[k]), f.neutral());
    let two = |k: usize| f.join(one(k), one(k + 1), 1);
    let low = two(0);
    if !s.branch(rows > 2) {
        return low;
    }
    let low = f.join(low, two(2), 2);
    if !s.branch(rows > 4) {
        return low;
    }
    f.join(low, f.join(two(4), two(6), 2), 4)
}
