//! Rows in the order of the tree.

use super::read::{Tile, load, load_some};
use super::{Panel, Pitch, Shallow, Strip, abreast};
use crate::kernels::fold::Tree;
use crate::kernels::node::select;
use crate::kernels::recipe::Recipe;
use crate::kernels::shape::piece::{next, share};
use crate::kernels::shape::stack::{Few, Own};
use crate::kernels::shape::warp::{self, STEPS};
use crate::kernels::source::Bits;
use crate::simt::{ALL, Simt};

/// The nodes of elements, or the neutral one where they are not `there(row, column)`.
#[inline(always)]
fn lifted<S: Simt, F: Tree, const C: usize>(
    s: &S,
    f: &F,
    bits: &[[F::Bits; C]; STEPS],
    there: impl Fn(usize, usize) -> bool,
) -> [[F::Node; C]; STEPS] {
    core::array::from_fn(
        #[inline(always)]
        |k| {
            core::array::from_fn(
                #[inline(always)]
                |j| select(there(k, j), f.lift(s, bits[k][j]), f.neutral()),
            )
        },
    )
}

/// Rows in the order of the tree; `NARROW` if fewer than 32 lanes may lie side by side.
#[derive(Clone, Copy)]
pub struct Ordered<F, const NARROW: bool>(pub(in crate::kernels::shape) F);

impl<F: Tree, const NARROW: bool> Ordered<F, NARROW> {
    /// The nodes over 8 steps of rows, those that are there, of each column, of a fold that may have a cheaper tree.
    #[inline(always)]
    fn nodes<S: Simt, G: Tree, const C: usize>(
        s: &S,
        f: &G,
        bits: &[[G::Bits; C]; STEPS],
        there: [bool; STEPS],
        lanes: u32,
    ) -> [G::Node; C] {
        if !G::HAS_PLAIN {
            return Self::tiles(s, f, lifted(s, f, bits, |k, _| there[k]), lanes, 1);
        }
        let (mut all, mut i) = (true, 0);
        while i < STEPS * C {
            all &= f.is_ordinary(s, bits[i / C][i % C]);
            i += 1;
        }
        if s.branch(s.all(ALL, all)) {
            return Self::nodes(s, &f.plain(), bits, there, lanes).map(
                #[inline(always)]
                |node| f.raise(node),
            );
        }
        // Rarely taken, so it is kept short: one copy, and the columns take turns. (A loop with a vote in it is not unrolled.)
        let (mut found, mut bits) = ([f.neutral(); C], *bits);
        let mut j = 0;
        while s.again(s.any(ALL, j < C)) {
            let one = bits.map(
                #[inline(always)]
                |row| [row[0]],
            );
            let [node] = Self::tiles(s, f, lifted(s, f, &one, |k, _| there[k]), lanes, 1);
            found = next(found, node);
            bits = bits.map(
                #[inline(always)]
                |row| next(row, row[0]),
            );
            j += 1;
        }
        found
    }

    /// The nodes over 8 steps of rows, of each column; `under` elements are under each of those given.
    #[inline(always)]
    fn tiles<S: Simt, G: Tree, const C: usize>(
        s: &S,
        f: &G,
        nodes: [[G::Node; C]; STEPS],
        lanes: u32,
        under: u32,
    ) -> [G::Node; C] {
        core::array::from_fn(
            #[inline(always)]
            |j| {
                let column = core::array::from_fn(
                    #[inline(always)]
                    |k| nodes[k][j],
                );
                Self::tile(s, f, column, lanes, under)
            },
        )
    }

    /// The node over 8 steps of rows, of one column.
    #[inline(always)]
    pub(in crate::kernels::shape) fn tile<S: Simt, G: Tree>(
        s: &S,
        f: &G,
        nodes: [G::Node; STEPS],
        lanes: u32,
        under: u32,
    ) -> G::Node {
        let join = warp::Join(f);
        if !NARROW || s.branch(lanes == 32) {
            return warp::eight(f, nodes, under);
        }
        if s.branch(lanes == 16) {
            let n: [G::Node; 4] = warp::fold(s, join, nodes, 16, under);
            let n: [G::Node; 4] = core::array::from_fn(
                #[inline(always)]
                |k| warp::across(s, join, n[k], 16, 2 * under),
            );
            return f.join(f.join(n[0], n[1], 4 * under), f.join(n[2], n[3], 4 * under), 8 * under);
        }
        let n: [G::Node; 4] = warp::fold(s, join, nodes, lanes, under);
        let n: [G::Node; 2] = warp::fold(s, join, n, 2 * lanes, 2 * under);
        if s.branch(lanes == 8) {
            let n: [G::Node; 2] = core::array::from_fn(
                #[inline(always)]
                |k| warp::across(s, join, warp::across(s, join, n[k], 8, 4 * under), 16, 8 * under),
            );
            return f.join(n[0], n[1], 16 * under);
        }
        let [mut n]: [G::Node; 1] = warp::fold(s, join, n, 4 * lanes, 4 * under);
        let (mut bit, mut each) = (8 * lanes, 8 * under);
        while s.again(bit < 32) {
            n = warp::across(s, join, n, bit, each);
            bit *= 2;
            each *= 2;
        }
        n = warp::across(s, join, n, lanes, each);
        n = warp::across(s, join, n, 2 * lanes, 2 * each);
        warp::across(s, join, n, 4 * lanes, 4 * each)
    }

    /// Whether a lane's row may be several of the array's: in kernels of 16 bytes of 2-byte elements to a lane.
    const fn has_short<const C: usize>() -> bool {
        NARROW && F::NEUTRAL && !F::HAS_PLAIN && F::Bits::SIZE == 2 && C == 8
    }
}

/// The nodes of `width` columns, of rows that lie side by side: the nearest join first.
#[inline(always)]
fn side_by_side<S: Simt, F: Tree, const C: usize>(s: &S, f: &F, mut nodes: [F::Node; C], width: usize) -> [F::Node; C] {
    let (mut step, mut under) = (1, 1);
    while step < C {
        if s.branch(step >= width) {
            let mut j = 0;
            while j + step < C {
                nodes[j] = f.join(nodes[j], nodes[j + step], under);
                j += if (j + 1) % step == 0 { step + 1 } else { 1 };
            }
            under *= 2;
        }
        step *= 2;
    }
    nodes
}

impl<F: Tree, const NARROW: bool, const C: usize> Panel<C> for Ordered<F, NARROW> {
    type Fold = F;
    type Reduced = Pitch;
    // Where a lane has fewer than 16 bytes, nodes are large: no registers are left to shift what is read.
    const TOGETHER: bool = F::Bits::SIZE <= 2 && F::Bits::SIZE * C as u32 == 16;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe))
    }

    #[inline(always)]
    fn fold(&self) -> &F {
        &self.0
    }

    #[inline(always)]
    fn at_once(reduced: &Pitch, address: u64) -> bool {
        reduced.aligned != 0 && address.is_multiple_of(C as u64 * F::Bits::SIZE as u64)
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, strip: &Strip<Pitch>, own: Own, first: u64, tiles: u32) -> [F::Part; C] {
        let f = &self.0;
        let lanes = if NARROW { strip.lanes } else { 32 };
        let (mine, abreast) = abreast(s, first, lanes);
        let each = STEPS as u32 * abreast;
        let short = if const { Self::has_short::<C>() } { strip.reduced.each as u32 } else { 1 };
        let tail = if const { Self::has_short::<C>() } { strip.reduced.tail } else { 0 };
        // Rows that have all elements.
        let all = strip.rows - (tail != 0 && strip.rows > 0) as u64;
        let mut t = 0;
        while s.again(t < tiles && first + ((t * each) as u64) < strip.rows) {
            let row = mine + (t * each) as u64;
            let abreast = if F::Bits::SIZE <= 2 { s.anew(abreast) } else { abreast };
            let at = |k: usize| row + (k as u32 * abreast) as u64;
            let after = first + ((t + 1) * each) as u64;
            let whole = after <= all;
            let tile = Tile { row, step: abreast, more: <Self as Panel<C>>::TOGETHER && after < all };
            let some = || load_some::<S, F::Bits, C>(s, strip, row, abreast);
            let nodes: [F::Node; C] = if F::HAS_PLAIN {
                if s.branch(whole) {
                    Self::nodes(s, f, &load(s, strip, tile), [true; STEPS], lanes)
                } else {
                    let there = |k: usize| at(k) < strip.rows;
                    Self::nodes(s, f, &some(), core::array::from_fn(there), lanes)
                }
            } else {
                let mut nodes = if s.branch(whole) {
                    lifted(s, f, &load(s, strip, tile), |_, _| true)
                } else if F::NEUTRAL {
                    lifted(s, f, &some(), |k, j| at(k) < strip.rows - (tail != 0 && j as u64 >= tail) as u64)
                } else {
                    break;
                };
                if const { Self::has_short::<C>() } && s.branch(short > 1) {
                    let width = C >> short.trailing_zeros();
                    nodes = nodes.map(
                        #[inline(always)]
                        |row| side_by_side(s, f, row, width),
                    );
                }
                Self::tiles(s, f, nodes, lanes, short)
            };
            own.push(s, f, t, each * short, nodes);
            t += 1;
        }
        let rest = if !F::NEUTRAL && s.branch(t < tiles && first + ((t * each) as u64) < strip.rows) {
            self.ragged(s, strip, mine + (t * each) as u64, lanes)
        } else {
            [f.nothing(); C]
        };
        own.close(s, f, t, each * short, rest)
    }
}

impl<F: Tree, const NARROW: bool, const C: usize> Shallow<C> for Ordered<F, NARROW> {
    const SIZE: u32 = F::Bits::SIZE;

    #[inline(always)]
    fn shallow<S: Simt>(&self, s: &S, strip: &Strip<Pitch>) -> [F::Part; C] {
        let f = &self.0;
        if s.branch(strip.rows == 4) {
            let bits: [[F::Bits; C]; 4] = load(s, strip, Tile { row: 0, step: 1, more: false });
            return core::array::from_fn(
                #[inline(always)]
                |j| {
                    let node = |k: usize| f.lift(s, bits[k][j]);
                    f.part(f.join(f.join(node(0), node(1), 1), f.join(node(2), node(3), 1), 2), 4)
                },
            );
        }
        let bits: [[F::Bits; C]; STEPS] = load_some(s, strip, 0, 1);
        if s.branch(strip.rows < STEPS as u64) {
            return self.few(s, &bits, strip.rows as u32);
        }
        core::array::from_fn(
            #[inline(always)]
            |j| {
                let nodes: [F::Node; STEPS] = core::array::from_fn(
                    #[inline(always)]
                    |k| f.lift(s, bits[k][j]),
                );
                f.part(warp::eight(f, nodes, 1), STEPS as u32)
            },
        )
    }
}

impl<F: Tree, const NARROW: bool> Ordered<F, NARROW> {
    /// Fewer than eight rows: their parts are the nodes of four, of two and of one row.
    #[inline(always)]
    fn few<S: Simt, const C: usize>(&self, s: &S, bits: &[[F::Bits; C]; STEPS], left: u32) -> [F::Part; C] {
        let f = &self.0;
        core::array::from_fn(
            #[inline(always)]
            |j| {
                let node: [F::Node; STEPS] = core::array::from_fn(
                    #[inline(always)]
                    |k| f.lift(s, bits[k][j]),
                );
                let two = f.join(node[0], node[1], 1);
                let four = f.join(two, f.join(node[2], node[3], 1), 2);
                let after = f.join(node[4], node[5], 1);
                let mut part = f.nothing();
                if s.branch(left & 1 != 0) {
                    part = f.part(warp::pick(node, left - 1), 1);
                }
                if s.branch(left & 2 != 0) {
                    part = f.meet(f.part(select(left & 4 != 0, after, two), 2), part);
                }
                if s.branch(left & 4 != 0) {
                    part = f.meet(f.part(four, 4), part);
                }
                part
            },
        )
    }

    /// The rows that are left, of a fold without a neutral node: step by step.
    #[inline(always)]
    pub(in crate::kernels::shape) fn ragged<S: Simt, const C: usize>(
        &self,
        s: &S,
        strip: &Strip<Pitch>,
        row: u64,
        lanes: u32,
    ) -> [F::Part; C] {
        let f = &self.0;
        if !NARROW || s.branch(lanes == 32) {
            return self.few(s, &load_some(s, strip, row, 1), (strip.rows - row) as u32);
        }
        let mut stacks = [Few::new(f.nothing()); C];
        let (mut k, steps) = (0, s.opaque(STEPS as u32));
        while s.again(k < steps) {
            let row = row + (k * share(32, lanes)) as u64;
            let there = row < strip.rows;
            let at = Tile { row: row.min(strip.rows - 1), step: 0, more: false };
            let [bits]: [[F::Bits; C]; 1] = load(s, strip, at);
            let mut j = 0;
            while j < C {
                let mut part = if there { f.part(f.lift(s, bits[j]), 1) } else { f.nothing() };
                let mut bit = lanes;
                while s.again(bit < 32) {
                    part = warp::across(s, warp::Meet(f), part, bit, 1);
                    bit *= 2;
                }
                stacks[j].push(f, k, part);
                j += 1;
            }
            k += 1;
        }
        core::array::from_fn(
            #[inline(always)]
            |j| stacks[j].close(f, STEPS as u32),
        )
    }
}
