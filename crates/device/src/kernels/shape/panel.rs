//! How a warp gets the parts of some columns, each over a stretch of rows.

use super::piece::{next, share};
use super::stack::{Few, Own};
use super::warp::{self, STEPS};
use crate::kernels::fold::{Heap, Parts, Tree};
use crate::kernels::node::select;
use crate::kernels::recipe::{Recipe, array};
use crate::kernels::source::{Bits, words};
use crate::simt::{ALL, Simt};

/// The columns of one lane, and the lanes beside it.
#[derive(Clone, Copy)]
pub struct Strip<R> {
    /// The address of the lane's first column in row 0.
    pub x: u64,
    /// The address of its mask.
    pub mask: u64,
    /// How many of the lane's columns there are, counted in steps of `spread`.
    pub columns: u64,
    /// Whether the lane reads its columns at once.
    pub at_once: bool,
    /// Columns from one of the lane's columns to the next.
    pub spread: u32,
    /// Rows.
    pub rows: u64,
    /// Lanes side by side in a row, a power of two; the others take the next rows.
    pub lanes: u32,
    /// How rows follow one another.
    pub reduced: R,
}

/// Rows at equal distances.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pitch {
    /// Bytes from row to row.
    pub bytes: i64,
    /// Whether a lane's columns can be read at once in every row.
    pub aligned: u64,
}

/// The parts of `C` columns.
pub trait Panel<const C: usize>: Copy {
    /// What is computed.
    type Fold: Parts;
    /// What it must know of the rows.
    type Reduced: Copy;
    /// From what a kernel is told.
    fn new(recipe: &Recipe) -> Self;
    /// What is computed.
    fn fold(&self) -> &Self::Fold;
    /// Whether a lane reads its columns at once, from this address on.
    fn at_once(reduced: &Self::Reduced, address: u64) -> bool;
    /// Over `tiles` times 8 steps of rows from `first`; every lane gets the parts of its own columns.
    fn run<S: Simt>(
        &self,
        s: &S,
        strip: &Strip<Self::Reduced>,
        own: Own,
        first: u64,
        tiles: u32,
    ) -> [<Self::Fold as Parts>::Part; C];
}

/// The parts of `C` columns of at most 8 rows.
pub trait Shallow<const C: usize>: Panel<C, Reduced = Pitch> {
    /// See the trait.
    fn shallow<S: Simt>(&self, s: &S, strip: &Strip<Pitch>) -> [<Self::Fold as Parts>::Part; C];
}

/// A lane's columns of 8 rows from `row`, `step` apart; zero in rows that are not there.
#[inline(always)]
fn load_some<S: Simt, B: Bits, const C: usize>(s: &S, strip: &Strip<Pitch>, row: u64, step: u32) -> [[B; C]; STEPS] {
    core::array::from_fn(
        #[inline(always)]
        |k| {
            let row = row + (k as u32 * step) as u64;
            if s.branch(row < strip.rows) {
                let [bits]: [_; 1] = load(s, strip, row, 0);
                bits
            } else {
                [B::ZERO; C]
            }
        },
    )
}

/// A lane's columns of `N` rows, `step` apart. A lane without columns reads the first lane's.
#[inline(always)]
pub(super) fn load<S: Simt, B: Bits, const C: usize, const N: usize>(
    s: &S,
    strip: &Strip<Pitch>,
    row: u64,
    step: u32,
) -> [[B; C]; N] {
    let first = array::<u8>(strip.x.wrapping_add((row as i64 * strip.reduced.bytes) as u64));
    let step = (step as i64 * strip.reduced.bytes) as usize;
    if s.branch(strip.at_once) {
        let w: [[u32; 4]; N] = core::array::from_fn(
            #[inline(always)]
            |k| words(s, first.offset(step.wrapping_mul(k)), B::SIZE * C as u32),
        );
        return core::array::from_fn(
            #[inline(always)]
            |k| {
                core::array::from_fn(
                    #[inline(always)]
                    |j| B::nth(&w[k], j),
                )
            },
        );
    }
    let last = strip.columns.max(1) - 1;
    let column: [usize; C] = core::array::from_fn(
        #[inline(always)]
        |j| (j as u64).min(last) as usize * strip.spread as usize,
    );
    core::array::from_fn(
        #[inline(always)]
        |k| {
            let at = first.offset(step.wrapping_mul(k)).cast::<B>();
            core::array::from_fn(
                #[inline(always)]
                |j| s.load(at, column[j]),
            )
        },
    )
}

/// The nodes of elements, or the neutral one where they are not there.
#[inline(always)]
fn lifted<S: Simt, F: Tree, const C: usize>(
    s: &S,
    f: &F,
    bits: &[[F::Bits; C]; STEPS],
    there: [bool; STEPS],
) -> [[F::Node; C]; STEPS] {
    core::array::from_fn(
        #[inline(always)]
        |k| {
            core::array::from_fn(
                #[inline(always)]
                |j| select(there[k], f.lift(s, bits[k][j]), f.neutral()),
            )
        },
    )
}

/// Rows in the order of the tree; `NARROW` if fewer than 32 lanes may lie side by side.
#[derive(Clone, Copy)]
pub struct Ordered<F, const NARROW: bool>(pub(super) F);

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
            return Self::tiles(s, f, lifted(s, f, bits, there), lanes);
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
            let [node] = Self::tiles(s, f, lifted(s, f, &one, there), lanes);
            found = next(found, node);
            bits = bits.map(
                #[inline(always)]
                |row| next(row, row[0]),
            );
            j += 1;
        }
        found
    }

    /// The nodes over 8 steps of rows, of each column.
    #[inline(always)]
    fn tiles<S: Simt, G: Tree, const C: usize>(s: &S, f: &G, nodes: [[G::Node; C]; STEPS], lanes: u32) -> [G::Node; C] {
        core::array::from_fn(
            #[inline(always)]
            |j| {
                let column = core::array::from_fn(
                    #[inline(always)]
                    |k| nodes[k][j],
                );
                Self::tile(s, f, column, lanes)
            },
        )
    }

    /// The node over 8 steps of rows, of one column.
    #[inline(always)]
    pub(super) fn tile<S: Simt, G: Tree>(s: &S, f: &G, nodes: [G::Node; STEPS], lanes: u32) -> G::Node {
        if !NARROW || s.branch(lanes == 32) {
            return warp::eight(f, nodes, 1);
        }
        if s.branch(lanes == 16) {
            let n: [G::Node; 4] = warp::fold(s, warp::Join(f), nodes, 16, 1);
            let n: [G::Node; 4] = core::array::from_fn(
                #[inline(always)]
                |k| warp::across(s, warp::Join(f), n[k], 16, 2),
            );
            return f.join(f.join(n[0], n[1], 4), f.join(n[2], n[3], 4), 8);
        }
        let n: [G::Node; 4] = warp::fold(s, warp::Join(f), nodes, lanes, 1);
        let n: [G::Node; 2] = warp::fold(s, warp::Join(f), n, 2 * lanes, 2);
        if s.branch(lanes == 8) {
            let n: [G::Node; 2] = core::array::from_fn(
                #[inline(always)]
                |k| warp::across(s, warp::Join(f), warp::across(s, warp::Join(f), n[k], 8, 4), 16, 8),
            );
            return f.join(n[0], n[1], 16);
        }
        let [mut n]: [G::Node; 1] = warp::fold(s, warp::Join(f), n, 4 * lanes, 4);
        let (mut bit, mut each) = (8 * lanes, 8);
        while s.again(bit < 32) {
            n = warp::across(s, warp::Join(f), n, bit, each);
            bit *= 2;
            each *= 2;
        }
        n = warp::across(s, warp::Join(f), n, lanes, each);
        n = warp::across(s, warp::Join(f), n, 2 * lanes, 2 * each);
        warp::across(s, warp::Join(f), n, 4 * lanes, 4 * each)
    }
}

impl<F: Tree, const NARROW: bool, const C: usize> Panel<C> for Ordered<F, NARROW> {
    type Fold = F;
    type Reduced = Pitch;

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
        let abreast = share(32, lanes);
        let mine = first + share(s.lane(), lanes) as u64;
        let each = STEPS as u32 * abreast;
        let mut t = 0;
        while s.again(t < tiles && first + ((t * each) as u64) < strip.rows) {
            let row = mine + (t * each) as u64;
            let at = |k: usize| row + (k as u32 * abreast) as u64;
            let whole = first + ((t + 1) * each) as u64 <= strip.rows;
            let there = |k: usize| at(k) < strip.rows;
            let some = || load_some::<S, F::Bits, C>(s, strip, row, abreast);
            let nodes: [F::Node; C] = if F::HAS_PLAIN {
                if s.branch(whole) {
                    Self::nodes(s, f, &load(s, strip, row, abreast), [true; STEPS], lanes)
                } else {
                    Self::nodes(s, f, &some(), core::array::from_fn(there), lanes)
                }
            } else {
                let nodes = if s.branch(whole) {
                    lifted(s, f, &load(s, strip, row, abreast), [true; STEPS])
                } else if F::NEUTRAL {
                    lifted(s, f, &some(), core::array::from_fn(there))
                } else {
                    break;
                };
                Self::tiles(s, f, nodes, lanes)
            };
            own.push(s, f, t, each, nodes);
            t += 1;
        }
        let rest = if !F::NEUTRAL && s.branch(t < tiles && first + ((t * each) as u64) < strip.rows) {
            self.ragged(s, strip, mine + (t * each) as u64, lanes)
        } else {
            [f.nothing(); C]
        };
        own.close(s, f, t, each, rest)
    }
}

impl<F: Tree, const NARROW: bool, const C: usize> Shallow<C> for Ordered<F, NARROW> {
    #[inline(always)]
    fn shallow<S: Simt>(&self, s: &S, strip: &Strip<Pitch>) -> [F::Part; C] {
        let f = &self.0;
        if s.branch(strip.rows == 4) {
            let bits: [[F::Bits; C]; 4] = load(s, strip, 0, 1);
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
    pub(super) fn ragged<S: Simt, const C: usize>(
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
            let [bits]: [[F::Bits; C]; 1] = load(s, strip, row.min(strip.rows - 1), 0);
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

/// Rows in any order.
#[derive(Clone, Copy)]
pub struct Free<F>(F);

impl<F: Heap, const C: usize> Panel<C> for Free<F> {
    type Fold = F;
    type Reduced = Pitch;

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
    fn run<S: Simt>(&self, s: &S, strip: &Strip<Pitch>, _own: Own, first: u64, tiles: u32) -> [F::Part; C] {
        let f = &self.0;
        let abreast = share(32, strip.lanes);
        let mine = first + share(s.lane(), strip.lanes) as u64;
        let each = STEPS as u32 * abreast;
        let mut acc = [f.start(); C];
        let mut t = 0;
        while s.again(t < tiles && first + ((t * each) as u64) < strip.rows) {
            let row = mine + (t * each) as u64;
            if s.branch(first + ((t + 1) * each) as u64 <= strip.rows) {
                let bits: [[F::Bits; C]; STEPS] = load(s, strip, row, abreast);
                let mut k = 0;
                while k < STEPS {
                    let place = row as u32 + k as u32 * abreast;
                    acc = core::array::from_fn(
                        #[inline(always)]
                        |j| f.one(s, acc[j], bits[k][j], place),
                    );
                    k += 1;
                }
            } else {
                let mut row = row;
                while s.again(row < strip.rows) {
                    let [bits]: [[F::Bits; C]; 1] = load(s, strip, row, 0);
                    acc = core::array::from_fn(
                        #[inline(always)]
                        |j| f.one(s, acc[j], bits[j], row as u32),
                    );
                    row += abreast as u64;
                }
            }
            t += 1;
        }
        let mut parts: [F::Part; C] = core::array::from_fn(
            #[inline(always)]
            |j| f.part(acc[j]),
        );
        let mut bit = strip.lanes;
        while s.again(bit < 32) {
            parts = core::array::from_fn(
                #[inline(always)]
                |j| warp::across(s, warp::Meet(f), parts[j], bit, 1),
            );
            bit *= 2;
        }
        parts
    }
}

impl<F: Heap, const C: usize> Shallow<C> for Free<F> {
    #[inline(always)]
    fn shallow<S: Simt>(&self, s: &S, strip: &Strip<Pitch>) -> [F::Part; C] {
        let f = &self.0;
        let mut acc = [f.start(); C];
        if s.branch(strip.rows == 4) {
            let bits: [[F::Bits; C]; 4] = load(s, strip, 0, 1);
            let mut k = 0;
            while k < 4 {
                acc = core::array::from_fn(
                    #[inline(always)]
                    |j| f.one(s, acc[j], bits[k][j], k as u32),
                );
                k += 1;
            }
            return core::array::from_fn(
                #[inline(always)]
                |j| f.part(acc[j]),
            );
        }
        let bits: [[F::Bits; C]; STEPS] = load_some(s, strip, 0, 1);
        let mut k = 0;
        while k < STEPS {
            if s.branch((k as u64) < strip.rows) {
                acc = core::array::from_fn(
                    #[inline(always)]
                    |j| f.one(s, acc[j], bits[k][j], k as u32),
                );
            }
            k += 1;
        }
        core::array::from_fn(
            #[inline(always)]
            |j| f.part(acc[j]),
        )
    }
}
