//! Elements in the order of the tree.

use crate::node::{Node, select};
use crate::reduce::fold::Tree;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::piece::read::{Tile, below};
use crate::reduce::shape::piece::{Dense, Gather, Held, Piece, Row};
use crate::reduce::shape::split::{STEPS, next};
use crate::reduce::shape::stack::Lanes;
use crate::reduce::shape::warp;
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_simt::{ALL, Simt};

/// Elements in the order of the tree, which follow one another as `Q` says.
#[derive(Clone, Copy)]
pub struct Ordered<F, Q = Dense>(pub F, pub PhantomData<Q>);

/// The node over the first `len` of `width` elements (1, 2, 4 or 8), of which `least` are always there; of a tree with
/// a neutral node, unless they are all.
#[inline(always)]
pub(super) fn padded<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], width: u32, len: u32, least: u32) -> F::Node {
    let always = |k: usize| !F::NEUTRAL || (k as u32) < least;
    let one = |k: usize| {
        let node = f.lift(s, F::Bits::nth(w, k));
        if always(k) { node } else { select((k as u32) < len, node, f.neutral()) }
    };
    let two = |k: usize| match always(2 * k + 1) {
        true => f.pair(s, F::Bits::nth(w, 2 * k), F::Bits::nth(w, 2 * k + 1)),
        false => f.join(one(2 * k), one(2 * k + 1), 1),
    };
    let four = |k: usize| f.join(two(2 * k), two(2 * k + 1), 2);
    match width {
        1 => one(0),
        2 => two(0),
        4 => four(0),
        _ => f.join(four(0), four(1), 4),
    }
}

/// The nodes over 16 bytes of each step.
#[inline(always)]
pub(in crate::reduce::shape) fn packs<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS]) -> [F::Node; STEPS] {
    if !F::HAS_PLAIN {
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| f.pack(s, &w[k]),
        );
    }
    if s.branch(s.all(ALL, all_ordinary(s, f, w))) {
        return packs(s, &f.plain(), w).map(
            #[inline(always)]
            |node| f.raise(node),
        );
    }
    slow(s, f, w)
}

/// The same, rarely needed and so kept short: one copy, and the steps take turns. (A loop with a vote in it is not
/// unrolled.)
#[inline(always)]
fn slow<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS]) -> [F::Node; STEPS] {
    let (mut nodes, mut w) = ([f.neutral(); STEPS], *w);
    let mut k = 0;
    while s.again(s.any(ALL, k < STEPS)) {
        nodes = next(nodes, f.pack(s, &w[0]));
        w = next(w, w[0]);
        k += 1;
    }
    nodes
}

/// Whether all elements are ordinary.
#[inline(always)]
pub(in crate::reduce::shape) fn all_ordinary<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS]) -> bool {
    let per = F::Bits::PER as usize;
    let (mut all, mut k) = (true, 0);
    while k < STEPS * per {
        all &= f.is_ordinary(s, F::Bits::nth(&w[k / per], k % per));
        k += 1;
    }
    all
}

/// A lane's packs of a tile of so many bytes, with all bits set in the place of what there is not.
#[inline(always)]
fn filled_up<S: Simt>(s: &S, w: [[u32; 4]; STEPS], bytes: u32) -> [[u32; 4]; STEPS] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let left = bytes.saturating_sub(16 * (32 * k as u32 + s.lane()));
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| w[k][i] | !below(left, i),
            )
        },
    )
}

/// The node over a whole tile.
#[inline(always)]
fn filled<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS]) -> F::Node {
    let per = F::Bits::PER;
    if !F::HAS_PLAIN {
        return warp::tile(s, packs(s, f, w), warp::Join(f), per);
    }
    if s.branch(s.all(ALL, all_ordinary(s, f, w))) {
        return f.raise(filled(s, &f.plain(), w));
    }
    warp::tile(s, slow(s, f, w), warp::Join(f), per)
}

/// The part over the first `valid` elements of 16 bytes, fewer than all.
#[inline(always)]
pub(super) fn some<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], valid: u32) -> F::Part {
    let one = |k: usize| f.lift(s, F::Bits::nth(w, k));
    let two = |k: usize| f.pair(s, F::Bits::nth(w, 2 * k), F::Bits::nth(w, 2 * k + 1));
    let four = |k: usize| f.join(two(2 * k), two(2 * k + 1), 2);
    let per = F::Bits::PER;
    let mut part = f.nothing();
    if s.branch(valid & 1 != 0) {
        let mut node = one(0);
        let mut k = 2;
        while k < per {
            node = select(valid - 1 == k, one(k as usize), node);
            k += 2;
        }
        part = f.part(node, 1);
    }
    if per >= 4 && s.branch(valid & 2 != 0) {
        let mut node = two(0);
        let mut k = 2;
        while k < per as usize / 2 {
            node = select(valid / 4 == k as u32 / 2, two(k), node);
            k += 2;
        }
        part = f.meet(f.part(node, 2), part);
    }
    if per >= 8 && s.branch(valid & 4 != 0) {
        let mut node = four(0);
        if per == 16 {
            node = select(valid & 8 != 0, four(2), node);
        }
        part = f.meet(f.part(node, 4), part);
    }
    if per == 16 && s.branch(valid & 8 != 0) {
        part = f.meet(f.part(f.join(four(0), four(1), 4), 8), part);
    }
    part
}

impl<F: Tree, Q> Ordered<F, Q> {
    /// A tile that the row ends in.
    #[inline(always)]
    pub fn end<S: Simt>(&self, s: &S, tile: &Tile, w: &[[u32; 4]; STEPS]) -> F::Part {
        let (f, per, lane) = (&self.0, F::Bits::PER, s.lane());
        let whole = tile.whole::<F::Bits>();
        let left = tile.valid - whole * per;
        let mut last = f.nothing();
        if s.branch(left > 0 && lane == whole & 31) {
            let mine = warp::picked(*w, whole >> 5);
            last = if F::NEUTRAL { f.part(padded(s, f, &mine, per, left, 1), left) } else { some(s, f, &mine, left) };
        }
        // Once for each warp, so it is kept short where nodes are large.
        let nodes = if F::HAS_PLAIN {
            packs(s, f, w)
        } else if F::Node::WORDS > 2 {
            slow(s, f, w)
        } else {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| if s.branch(32 * (k as u32) < whole) { f.pack(s, &w[k]) } else { f.neutral() },
            )
        };
        let parts: [F::Part; STEPS] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let p = k as u32 * 32 + lane;
                let part = select(p == whole, last, f.nothing());
                select(p < whole, f.part(nodes[k], per), part)
            },
        );
        warp::tile(s, parts, warp::Meet(f), 1)
    }
}

impl<F: Tree, Q: Gather> Piece for Ordered<F, Q> {
    type Fold = F;
    type Reduced = Q;
    const PER: u32 = F::Bits::PER;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe), PhantomData)
    }

    #[inline(always)]
    fn fold(&self) -> &F {
        &self.0
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, row: &Row<Q>, tile: u32, tiles: u32) -> F::Part {
        let (f, whole) = (&self.0, 256 * F::Bits::PER);
        let mut stack = Lanes::new(F::Large::zero());
        let mut rest = f.nothing();
        let mut t = 0;
        while s.again(t < tiles && (tile + t) as u64 * (whole as u64) < row.len) {
            let here = Tile::of::<F::Bits, Q>(row, tile + t);
            let (f, mut w) = self.0.whole(s, Q::read::<S, F::Bits>(s, row, &here));
            if F::COUNTS && s.branch(here.valid < whole) {
                w = filled_up(s, w, here.valid * F::Bits::SIZE);
            } else if s.branch(here.valid < whole) {
                rest = Ordered::<F, Q>(f, PhantomData).end(s, &here, &w);
                break;
            }
            stack.push(s, &f, t, whole, f.large(filled(s, &f, &w), whole));
            t += 1;
        }
        stack.close(s, f, t, whole, rest)
    }
}

impl<F: Tree> Held for Ordered<F> {
    type Bits = F::Bits;
    const FREE: bool = false;

    #[inline(always)]
    fn blank(&self) -> F::Bits {
        self.0.blank().unwrap_or(F::Bits::ZERO)
    }

    #[inline(always)]
    fn single<S: Simt>(&self, s: &S, bits: F::Bits) -> F::Part {
        self.0.part(self.0.lift(s, bits), 1)
    }

    #[inline(always)]
    fn held<S: Simt>(&self, s: &S, w: &[[u32; 4]; 2], count: [u32; 2], _before: u32, lanes: u32) -> F::Part {
        let (f, w) = if F::Bits::SIZE >= 4 && self.0.blank().is_some() { self.0.whole(s, *w) } else { (self.0, *w) };
        let f = &f;
        let [first, second] = two(s, f, &w, count);
        if s.branch(lanes == 1) {
            return f.meet(first, second);
        }
        warp::meet_two(s, f, [first, second], lanes)
    }
}

/// The parts over the first `count` elements of two packs, in every lane its own.
#[inline(always)]
fn two<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; 2], count: [u32; 2]) -> [F::Part; 2] {
    let per = F::Bits::PER;
    if F::HAS_PLAIN {
        let bits = |k: u32| F::Bits::nth(&w[(k / per) as usize], (k % per) as usize);
        let none = |k: u32| k % per >= count[(k / per) as usize];
        if s.branch(s.all(ALL, (0..2 * per).all(|k| none(k) || f.is_ordinary(s, bits(k))))) {
            let plain = f.plain();
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| {
                    let node = padded(s, &plain, &w[k], per, count[k], 0);
                    // Nothing has no scale, and the plain tree's has one.
                    select(count[k] > 0, f.part(f.raise(node), count[k]), f.nothing())
                },
            );
        }
    } else if F::NEUTRAL && F::Node::WORDS <= F::Bits::WORDS {
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                // An element that changes nothing costs less than to ask whether there is one.
                let node = match f.blank() {
                    Some(_) if F::Bits::SIZE >= 4 => f.pack(s, &w[k]),
                    _ if k == 1 && !s.branch(s.any(ALL, count[1] > 0)) => f.neutral(),
                    _ => padded(s, f, &w[k], per, count[k], 0),
                };
                f.part(node, count[k])
            },
        );
    }
    // Rarely needed, or slow in any case: one copy.
    let (mut parts, mut w, mut count, mut k) = ([f.nothing(); 2], *w, count, 0);
    while s.again(s.any(ALL, k < 2)) {
        let mut part = select(count[0] == per, f.part(f.pack(s, &w[0]), per), f.nothing());
        if s.branch(count[0] > 0 && count[0] < per) {
            part = if F::NEUTRAL {
                f.part(padded(s, f, &w[0], per, count[0], 1), count[0])
            } else {
                some(s, f, &w[0], count[0])
            };
        }
        parts = next(parts, part);
        (w, count) = ([w[1], w[0]], [count[1], count[0]]);
        k += 1;
    }
    parts
}
