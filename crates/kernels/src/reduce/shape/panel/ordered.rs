//! Rows in the order of the tree.

use crate::node::{Node, select};
use crate::reduce::fold::Tree;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::panel::read::{load, load_first, load_some, sifted};
use crate::reduce::shape::panel::tile::Tile;
use crate::reduce::shape::panel::{Lines, Panel, Pitch, Strip, abreast, filled_up, side_by_side};
use crate::reduce::shape::piece::share;
use crate::reduce::shape::split::{STEPS, next};
use crate::reduce::shape::stack::{Few, Own};
use crate::reduce::shape::warp;
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_simt::{ALL, Simt};

/// Rows in the order of the tree, which follow one another as `L` says; `NARROW` if fewer than 32 lanes lie side by
/// side.
#[derive(Clone, Copy)]
pub struct Ordered<F, const NARROW: bool, L = Pitch>(
    pub(in crate::reduce::shape) F,
    pub(in crate::reduce::shape) PhantomData<L>,
);

impl<F: Tree, const NARROW: bool, L: Lines> Ordered<F, NARROW, L> {
    /// The nodes over 8 steps of rows, all (`whole`) or those that are there, of each column.
    #[inline(always)]
    fn nodes<S: Simt, const C: usize>(
        s: &S,
        f: &F,
        bits: &[[F::Bits; C]; STEPS],
        whole: bool,
        there: impl Fn(usize) -> bool,
        lanes: u32,
    ) -> [F::Node; C] {
        if F::COUNTS {
            let bits = if s.branch(whole) { *bits } else { filled_up(bits, there) };
            return Self::tiles(s, f, &bits, lanes);
        }
        let (mut plain, mut i) = (whole, 0);
        while F::HAS_PLAIN && i < STEPS * C {
            plain &= f.is_ordinary(s, bits[i / C][i % C]);
            i += 1;
        }
        if s.branch(if F::HAS_PLAIN { s.all(ALL, plain) } else { whole }) {
            return Self::tiles(s, &f.plain(), bits, lanes).map(
                #[inline(always)]
                |node| f.raise(node),
            );
        }
        Self::in_turn(s, f, bits, |k| whole || there(k), lanes)
    }

    /// The same. Rarely taken, so it is kept short: one copy, and the columns take turns. (A loop with a vote in it is
    /// not unrolled.)
    #[inline(always)]
    pub(super) fn in_turn<S: Simt, const C: usize>(
        s: &S,
        f: &F,
        bits: &[[F::Bits; C]; STEPS],
        there: impl Fn(usize) -> bool,
        lanes: u32,
    ) -> [F::Node; C] {
        let (mut found, mut bits) = ([f.neutral(); C], *bits);
        let mut j = 0;
        while s.again(s.any(ALL, j < C)) {
            let nodes: [F::Node; STEPS] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| select(there(k), f.lift(s, bits[k][0]), f.neutral()),
            );
            found = next(found, Self::joined(s, f, nodes, lanes, 1));
            bits = bits.map(
                #[inline(always)]
                |row| next(row, row[0]),
            );
            j += 1;
        }
        found
    }

    /// The nodes over 8 whole steps of rows, of each column.
    #[inline(always)]
    pub(in crate::reduce::shape) fn tiles<S: Simt, G: Tree, const C: usize>(
        s: &S,
        f: &G,
        bits: &[[G::Bits; C]; STEPS],
        lanes: u32,
    ) -> [G::Node; C] {
        if NARROW && C > 2 && G::Node::WORDS > 1 {
            // So much code is kept short: one copy, and the columns take turns.
            let (mut found, mut bits) = ([f.neutral(); C], *bits);
            let (mut j, all) = (0, s.opaque(C as u32));
            while s.again(j < all) {
                let column = bits.map(
                    #[inline(always)]
                    |row| row[0],
                );
                found = next(found, Self::tile(s, f, column, lanes));
                bits = bits.map(
                    #[inline(always)]
                    |row| next(row, row[0]),
                );
                j += 1;
            }
            return found;
        }
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                let column = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |k| bits[k][j],
                );
                Self::tile(s, f, column, lanes)
            },
        )
    }

    /// The node over 8 whole steps of rows, of one column.
    #[inline(always)]
    fn tile<S: Simt, G: Tree>(s: &S, f: &G, bits: [G::Bits; STEPS], lanes: u32) -> G::Node {
        let pairs = if !NARROW {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| f.pair(s, bits[2 * k], bits[2 * k + 1]),
            )
        } else {
            warp::pairs(s, f, bits, lanes)
        };
        Self::above(s, f, pairs, lanes, 2)
    }

    /// The node over those of 8 steps, each of so many elements.
    #[inline(always)]
    fn joined<S: Simt>(s: &S, f: &F, nodes: [F::Node; STEPS], lanes: u32, each: u32) -> F::Node {
        let four = if !NARROW {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| f.join(nodes[2 * k], nodes[2 * k + 1], each),
            )
        } else {
            warp::fold(s, warp::Join(f), nodes, lanes, each)
        };
        Self::above(s, f, four, lanes, 2 * each)
    }

    /// The node over four, each of so many elements: of neighbouring steps, or, with fewer than 32 lanes, of
    /// neighbouring lanes.
    #[inline(always)]
    fn above<S: Simt, G: Tree>(s: &S, f: &G, n: [G::Node; STEPS / 2], lanes: u32, each: u32) -> G::Node {
        let join = warp::Join(f);
        if !NARROW {
            return warp::four(f, n, each);
        }
        if s.branch(lanes == 16) {
            let n: [G::Node; 4] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| warp::across(s, join, n[k], 16, each),
            );
            return warp::four(f, n, 2 * each);
        }
        let n: [G::Node; 2] = warp::fold(s, join, n, 2 * lanes, each);
        if s.branch(lanes == 8) {
            let n: [G::Node; 2] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| warp::across(s, join, warp::across(s, join, n[k], 8, 2 * each), 16, 4 * each),
            );
            return f.join(n[0], n[1], 8 * each);
        }
        let [mut n]: [G::Node; 1] = warp::fold(s, join, n, 4 * lanes, 2 * each);
        let (mut bit, mut under) = (8 * lanes, 4 * each);
        while s.again(bit < 32) {
            n = warp::across(s, join, n, bit, under);
            bit *= 2;
            under *= 2;
        }
        n = warp::across(s, join, n, lanes, under);
        n = warp::across(s, join, n, 2 * lanes, 2 * under);
        warp::across(s, join, n, 4 * lanes, 4 * under)
    }

    /// Whether a lane's row may be several of the array's: in kernels of 16 bytes to a lane, and of slow elements of 2.
    const fn has_short<const C: usize>() -> bool {
        let fits = if F::HAS_PLAIN { F::Bits::SIZE == 2 } else { F::Bits::SIZE as usize * C == 16 };
        !L::SEVERAL && NARROW && F::NEUTRAL && fits
    }

    /// The nodes over 8 steps of elements, all (`whole`) or those that are `there(step, element)`, where a lane's row
    /// is `short` rows of the array: of at most half as many columns.
    #[inline(always)]
    fn several<S: Simt, const C: usize>(
        s: &S,
        f: &F,
        bits: &[[F::Bits; C]; STEPS],
        whole: bool,
        there: impl Fn(usize, usize) -> bool,
        lanes: u32,
        short: u32,
    ) -> [F::Node; C] {
        let mut nodes = bits.map(
            #[inline(always)]
            |row| {
                row.map(
                    #[inline(always)]
                    |bits| f.lift(s, bits),
                )
            },
        );
        if s.branch(!whole) {
            nodes = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| {
                    warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |j| select(there(k, j), nodes[k][j], f.neutral()),
                    )
                },
            );
        }
        let nodes = side_by_side(s, f, nodes, C as u32 >> short.trailing_zeros());
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                let column = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |k| nodes[k][j],
                );
                if j < C / 2 { Self::joined(s, f, column, lanes, short) } else { f.neutral() }
            },
        )
    }
}

impl<F: Tree, const NARROW: bool, L: Lines, const C: usize> Panel<C> for Ordered<F, NARROW, L> {
    type Fold = F;
    type Reduced = L;
    // Where a lane has fewer than 16 bytes, nodes are large: no registers are left to shift what is read.
    const TOGETHER: bool = !L::SEVERAL && F::Bits::SIZE <= 2 && F::Bits::SIZE * C as u32 == 16;
    const SEVERAL: bool = Self::has_short::<C>();
    const UNITS: bool = !L::SEVERAL && !NARROW;
    const DEALS: bool = !L::SEVERAL && !NARROW && F::Bits::SIZE >= 4;
    const TEAMS: bool = !L::SEVERAL && !NARROW && !F::HAS_PLAIN;
    const WRITES: Option<u32> =
        if !L::SEVERAL && !NARROW && F::NARROW && F::Bits::SIZE <= 2 { Some(F::Bits::SIZE) } else { None };

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe), PhantomData)
    }

    #[inline(always)]
    fn fold(&self) -> &F {
        &self.0
    }

    #[inline(always)]
    fn at_once(reduced: &L, address: u64) -> bool {
        reduced.aligned() && address.is_multiple_of(C as u64 * F::Bits::SIZE as u64)
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, strip: &Strip<L>, own: Own, first: u64, tiles: u32) -> [F::Part; C] {
        let f = &self.0;
        let lanes = if NARROW { strip.lanes } else { 32 };
        let (mine, abreast) = abreast(s, first, lanes);
        let each = STEPS as u32 * abreast;
        let short = if const { Self::has_short::<C>() } { strip.reduced.each() as u32 } else { 1 };
        let tail = if const { Self::has_short::<C>() } { strip.reduced.tail() } else { 0 };
        // Rows that have all elements.
        let all = strip.rows - (tail != 0 && strip.rows > 0) as u64;
        // What ends in fewer than eight rows does so after this.
        let ends = !NARROW && !F::COUNTS;
        let least = if ends { each } else { 1 };
        let mut t = 0;
        while s.again(t < tiles && first + (t * each + least) as u64 <= strip.rows) {
            let row = mine + (t * each) as u64;
            let abreast = if F::Bits::SIZE <= 2 { s.anew(abreast) } else { abreast };
            let at = |k: usize| row + (k as u32 * abreast) as u64;
            let after = first + ((t + 1) * each) as u64;
            let whole = ends || after <= all;
            let (tile, shifts) = (Tile { row, step: abreast }, <Self as Panel<C>>::TOGETHER);
            if const { Self::is_near::<C>() } && s.branch(whole && strip.at_once) {
                let bits: [[F::Bits; C]; STEPS] = Self::load_near(s, strip, first + (t * each) as u64, lanes);
                let (f, bits) = sifted(s, f, bits);
                let (mut plain, mut i) = (true, 0);
                while F::HAS_PLAIN && i < STEPS * C {
                    plain &= f.is_ordinary(s, bits[i / C][i % C]);
                    i += 1;
                }
                if s.branch(!F::HAS_PLAIN || s.all(ALL, plain)) {
                    let nodes = if const { Self::has_short::<C>() } && s.branch(short > 1) {
                        Self::near_several(s, &f.plain(), &bits, lanes, short)
                    } else {
                        Self::near(s, &f.plain(), &bits, lanes)
                    };
                    let nodes = nodes.map(
                        #[inline(always)]
                        |node| f.raise(node),
                    );
                    own.push(s, &f, t, each * short, nodes);
                    t += 1;
                    continue;
                }
            }
            let bits = if s.branch(whole) {
                load(s, strip, tile, shifts)
            } else if F::NEUTRAL {
                load_some(s, strip, tile, shifts)
            } else {
                break;
            };
            let (f, bits) = sifted(s, f, bits);
            let f = &f;
            let nodes: [F::Node; C] = if const { Self::has_short::<C>() } && s.branch(short > 1) {
                let there = |k: usize, j: usize| at(k) < strip.rows - (tail != 0 && j as u64 >= tail) as u64;
                Self::several(s, f, &bits, whole, there, lanes, short)
            } else if F::NEUTRAL {
                Self::nodes(s, f, &bits, whole, |k| at(k) < strip.rows, lanes)
            } else {
                Self::tiles(s, f, &bits, lanes)
            };
            own.push(s, f, t, each * short, nodes);
            t += 1;
        }
        let mut rest = [f.nothing(); C];
        if (ends || !F::NEUTRAL) && s.branch(t < tiles && first + ((t * each) as u64) < strip.rows) {
            let row = mine + (t * each) as u64;
            rest = if ends { self.end(s, strip, row) } else { self.ragged(s, strip, row, lanes) };
        }
        own.close(s, f, t, each * short, rest)
    }
}

impl<F: Tree, const NARROW: bool, L: Lines> Ordered<F, NARROW, L> {
    /// Fewer than eight rows of one column: their parts are the nodes of four, of two and of one row.
    #[inline(always)]
    pub(super) fn few<S: Simt>(&self, s: &S, bits: [F::Bits; STEPS], left: u32) -> F::Part {
        let f = &self.0;
        let pair = |k: usize| f.pair(s, bits[k], bits[k + 1]);
        let (two, after) = (pair(0), pair(4));
        let mut part = f.nothing();
        if s.branch(left & 1 != 0) {
            part = f.part(f.lift(s, warp::pick(bits, left - 1)), 1);
        }
        if s.branch(left & 2 != 0) {
            part = f.meet(f.part(select(left & 4 != 0, after, two), 2), part);
        }
        if s.branch(left & 4 != 0) {
            part = f.meet(f.part(f.join(two, pair(2), 2), 4), part);
        }
        part
    }

    /// The rows that are left, of a fold without a neutral node. Once for each lane, so it is kept short: the columns
    /// take turns, and with fewer than 32 lanes the steps, too.
    #[inline(always)]
    pub(in crate::reduce::shape) fn ragged<S: Simt, const C: usize>(
        &self,
        s: &S,
        strip: &Strip<L>,
        row: u64,
        lanes: u32,
    ) -> [F::Part; C] {
        let f = &self.0;
        let abreast = share(32, lanes);
        let mut found = [f.nothing(); C];
        let (mut j, all) = (0, s.opaque(C as u32));
        while s.again(j < all) {
            let column = strip.column::<F::Bits>(j);
            let bits: [[F::Bits; 1]; STEPS] = load_first(s, &column, Tile { row, step: abreast }, false);
            let column = bits.map(
                #[inline(always)]
                |[bits]| bits,
            );
            let part = if !NARROW {
                self.few(s, column, (strip.rows - row) as u32)
            } else {
                let mut stack = Few::new(f.nothing());
                let (mut k, steps) = (0, s.opaque(STEPS as u32));
                while s.again(k < steps) {
                    let there = row + ((k * abreast) as u64) < strip.rows;
                    let mut part = if there { f.part(f.lift(s, warp::pick(column, k)), 1) } else { f.nothing() };
                    let mut bit = lanes;
                    while s.again(bit < 32) {
                        part = warp::across(s, warp::Meet(f), part, bit, 1);
                        bit *= 2;
                    }
                    stack.push(f, k, part);
                    k += 1;
                }
                stack.close(f, STEPS as u32)
            };
            found = next(found, part);
            j += 1;
        }
        found
    }
}
