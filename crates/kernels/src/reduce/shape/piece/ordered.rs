//! Elements in the order of the tree.

use crate::node::{Node, select};
use crate::reduce::fold::Tree;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::hands::{Hands, eight};
use crate::reduce::shape::piece::nodes::{all_ordinary, last_elements, packs, padded, slow, some};
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

/// Whether packs of tiles that a row ends in change hands: parts of several words cost more to meet. Trees that count
/// have no such tiles.
const fn end_by_hands<F: Tree>() -> bool {
    F::Node::WORDS > F::Bits::WORDS && !F::COUNTS
}

/// Whether those of whole tiles do. Nodes of two words cost less to exchange than packs: on an H200, var f32
/// (65536,1024) along axis 1 took 65 us, and 69 by hands; but var f64 (67108,500) 133 and 104.
const fn all_by_hands<F: Tree>() -> bool {
    end_by_hands::<F>() && F::Node::WORDS > 2
}

/// The node over a whole tile, of packs that have changed `hands` or not.
#[inline(always)]
fn filled<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS], hands: bool) -> F::Node {
    let per = F::Bits::PER;
    let joined = |nodes: [F::Node; STEPS]| match hands {
        true => warp::lanes(s, eight(f, nodes), warp::Join(f), STEPS as u32 * per),
        false => warp::tile(s, nodes, warp::Join(f), per),
    };
    if !F::HAS_PLAIN {
        return joined(packs(s, f, w));
    }
    if s.branch(s.all(ALL, all_ordinary(s, f, w))) {
        return f.raise(filled(s, &f.plain(), w, hands));
    }
    joined(slow(s, f, w))
}

/// The node over the first `valid` elements of a tile, by the cheaper tree, which nothing more changes. None, if there
/// is no such tree, or if not all elements are ordinary.
#[inline(always)]
fn plain_end<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS], valid: u32) -> Option<F::Node> {
    if !F::HAS_PLAIN || !s.branch(s.all(ALL, all_ordinary(s, f, w))) {
        return None;
    }
    let (plain, per) = (f.plain(), F::Bits::PER);
    // Steps in which every lane has a whole pack, and what the lane has in the step that follows them.
    let steps = valid / (32 * per);
    let own = valid.saturating_sub((32 * steps + s.lane()) * per);
    let last = padded(s, &plain, &warp::picked(*w, steps), per, own, 0);
    let nodes = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let node = if s.branch((k as u32) < steps) { plain.pack(s, &w[k]) } else { plain.neutral() };
            select(k as u32 == steps, last, node)
        },
    );
    Some(f.raise(warp::tile(s, nodes, warp::Join(&plain), per)))
}

impl<F: Tree, Q> Ordered<F, Q> {
    /// A tile that the row ends in.
    #[inline(always)]
    fn end<S: Simt>(&self, s: &S, tile: &Tile, w: &[[u32; 4]; STEPS]) -> F::Part {
        let (f, per, lane) = (&self.0, F::Bits::PER, s.lane());
        let whole = tile.whole::<F::Bits>();
        let left = tile.valid - whole * per;
        let mut last = f.nothing();
        if s.branch(left > 0 && lane == whole & 31) {
            last = last_elements(s, f, &warp::picked(*w, whole >> 5), left);
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
        let hands = if const { end_by_hands::<F>() } { Some(Hands::of(s)) } else { None };
        let mut t = 0;
        while s.again(t < tiles && (tile + t) as u64 * (whole as u64) < row.len) {
            let here = Tile::of::<F::Bits, Q>(row, tile + t);
            let (f, mut w) = self.0.whole(s, Q::read::<S, F::Bits>(s, row, &here));
            if F::COUNTS && s.branch(here.valid < whole) {
                w = filled_up(s, w, here.valid * F::Bits::SIZE);
            } else if s.branch(here.valid < whole) {
                rest = if let Some(node) = plain_end(s, &f, &w, here.valid) {
                    f.part(node, here.valid)
                } else if let Some(hands) = hands {
                    hands.end(s, &f, w, here.valid)
                } else {
                    Ordered::<F, Q>(f, PhantomData).end(s, &here, &w)
                };
                break;
            }
            if let Some(hands) = hands
                && all_by_hands::<F>()
            {
                w = hands.change(s, w);
            }
            stack.push(s, &f, t, whole, f.large(filled(s, &f, &w, all_by_hands::<F>()), whole));
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
        let (f, w) = self.0.whole(s, *w);
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
