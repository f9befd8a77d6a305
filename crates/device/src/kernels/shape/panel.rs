//! How a warp gets the parts of some columns, each over a stretch of rows.

use super::piece::{next, share};
use super::stack::{Few, Own};
use super::warp::{self, STEPS};
use crate::kernels::fold::{Heap, Parts, Tree};
use crate::kernels::node::{Node, select};
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

impl Strip<Pitch> {
    /// Only one of the lane's columns, or its last.
    #[inline(always)]
    fn column<B: Bits>(&self, j: u32) -> Self {
        let j = (j as u64).min(self.columns.max(1) - 1) * self.spread as u64;
        Self { x: self.x.wrapping_add(j * B::SIZE as u64), columns: 1, at_once: false, ..*self }
    }
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

/// Rows in the order of the tree; `NARROW` if fewer than 32 lanes lie side by side.
#[derive(Clone, Copy)]
pub struct Ordered<F, const NARROW: bool>(pub(super) F);

impl<F: Tree, const NARROW: bool> Ordered<F, NARROW> {
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
        // Rarely taken, so it is kept short: one copy, and the columns take turns. (A loop with a vote in it is not unrolled.)
        let (mut found, mut bits) = ([f.neutral(); C], *bits);
        let mut j = 0;
        while s.again(s.any(ALL, j < C)) {
            let nodes: [F::Node; STEPS] = core::array::from_fn(
                #[inline(always)]
                |k| select(whole || there(k), f.lift(s, bits[k][0]), f.neutral()),
            );
            let four = if !NARROW {
                core::array::from_fn(
                    #[inline(always)]
                    |k| f.join(nodes[2 * k], nodes[2 * k + 1], 1),
                )
            } else {
                warp::fold(s, warp::Join(f), nodes, lanes, 1)
            };
            found = next(found, Self::above(s, f, four, lanes));
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
    pub(super) fn tiles<S: Simt, G: Tree, const C: usize>(
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
        core::array::from_fn(
            #[inline(always)]
            |j| {
                let column = core::array::from_fn(
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
            core::array::from_fn(
                #[inline(always)]
                |k| f.pair(s, bits[2 * k], bits[2 * k + 1]),
            )
        } else {
            warp::pairs(s, f, bits, lanes)
        };
        Self::above(s, f, pairs, lanes)
    }

    /// The node over four nodes of pairs of rows: of neighbouring steps, or, with fewer than 32 lanes, of neighbouring lanes.
    #[inline(always)]
    fn above<S: Simt, G: Tree>(s: &S, f: &G, n: [G::Node; STEPS / 2], lanes: u32) -> G::Node {
        if !NARROW {
            return warp::four(f, n, 2);
        }
        if s.branch(lanes == 16) {
            let n: [G::Node; 4] = core::array::from_fn(
                #[inline(always)]
                |k| warp::across(s, warp::Join(f), n[k], 16, 2),
            );
            return warp::four(f, n, 4);
        }
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
            let bits = if s.branch(whole) {
                load(s, strip, row, abreast)
            } else if F::NEUTRAL {
                load_some(s, strip, row, abreast)
            } else {
                break;
            };
            let nodes: [F::Node; C] = if F::NEUTRAL {
                Self::nodes(s, f, &bits, whole, there, lanes)
            } else {
                Self::tiles(s, f, &bits, lanes)
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
                    let two = |k: usize| f.pair(s, bits[k][j], bits[k + 1][j]);
                    f.part(f.join(two(0), two(2), 2), 4)
                },
            );
        }
        let bits: [[F::Bits; C]; STEPS] = load_some(s, strip, 0, 1);
        if s.branch(strip.rows < STEPS as u64) {
            return core::array::from_fn(
                #[inline(always)]
                |j| {
                    let column = core::array::from_fn(
                        #[inline(always)]
                        |k| bits[k][j],
                    );
                    self.few(s, column, strip.rows as u32)
                },
            );
        }
        core::array::from_fn(
            #[inline(always)]
            |j| {
                let two = |k: usize| f.pair(s, bits[k][j], bits[k + 1][j]);
                f.part(warp::four(f, [two(0), two(2), two(4), two(6)], 2), STEPS as u32)
            },
        )
    }
}

impl<F: Tree, const NARROW: bool> Ordered<F, NARROW> {
    /// Fewer than eight rows of one column: their parts are the nodes of four, of two and of one row.
    #[inline(always)]
    fn few<S: Simt>(&self, s: &S, bits: [F::Bits; STEPS], left: u32) -> F::Part {
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

    /// The rows that are left, of a fold without a neutral node. Once for each lane, so it is kept short: the columns take turns,
    /// and with fewer than 32 lanes the steps, too.
    #[inline(always)]
    pub(super) fn ragged<S: Simt, const C: usize>(
        &self,
        s: &S,
        strip: &Strip<Pitch>,
        row: u64,
        lanes: u32,
    ) -> [F::Part; C] {
        let f = &self.0;
        let abreast = share(32, lanes);
        let mut found = [f.nothing(); C];
        let (mut j, all) = (0, s.opaque(C as u32));
        while s.again(j < all) {
            let column = strip.column::<F::Bits>(j);
            let bits: [[F::Bits; 1]; STEPS] = load_some(s, &column, row, abreast);
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
