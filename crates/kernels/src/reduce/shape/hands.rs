//! A tile's packs change hands: a lane gets 8 that lie side by side, in place of every 32nd.
//!
//! Idea: memory is read best with neighbouring packs in neighbouring lanes, but the tree then joins packs across lanes
//! before anything else. A lane that has 128 bytes in sequence folds them alone, and a tile costs 5 exchanges of nodes
//! in place of 12, for 8 stores and 8 loads of shared memory. Packs are turned around in their 128 bytes, so that the
//! lanes of a load, which are 128 bytes apart, find different banks.

use crate::node::{Node, select};
use crate::reduce::fold::Tree;
use crate::reduce::shape::piece::{last_elements, packs, slow};
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::warp::{self, Join};
use crate::source::Bits;
use warpfold_simt::{ALL, Pack, Shared, Simt};

/// Packs of a warp.
const PACKS: u32 = 32 * STEPS as u32;
/// Words for the warps of a block.
const WORDS: usize = 8 * 4 * PACKS as usize;

/// A warp's room in shared memory.
#[derive(Clone, Copy)]
pub struct Hands {
    /// That of all warps.
    room: Shared<Pack<u32, 4>>,
    /// Where the warp's begins, in packs.
    first: u32,
}

impl Hands {
    /// At one place of a kernel.
    #[inline(always)]
    pub fn of<S: Simt>(s: &S) -> Self {
        let room = s.shared::<u32, WORDS, 2>("packs that change hands").cast();
        Self { room, first: s.warp() * PACKS }
    }

    /// Step `k` of a lane has pack `32 * k + lane` of the tile, and then pack `8 * lane + k`.
    #[inline(always)]
    pub fn change<S: Simt>(&self, s: &S, w: [[u32; 4]; STEPS]) -> [[u32; 4]; STEPS] {
        // Pack `p` lies at `p ^ (p / 8 % 8)`: of even steps at the first of these from their begin, of odd ones at the
        // second. They are computed again for each tile, which costs less than to keep all places.
        let lane = s.lane();
        let to = s.opaque(self.first + (lane ^ (lane >> 3)));
        let to = [to, to ^ 4];
        let from = s.opaque(self.first + STEPS as u32 * lane + (lane & 7));
        // What was there before has been read.
        s.warp_barrier(ALL);
        let mut k = 0;
        while k < STEPS {
            s.put(self.room, to[k & 1] + 32 * k as u32, Pack(w[k]));
            k += 1;
        }
        s.warp_barrier(ALL);
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| s.get(self.room, from ^ k as u32).0,
        )
    }

    /// Element `e` of a lane's packs, if they were the last to change hands.
    #[inline(always)]
    pub fn element<S: Simt, B: Bits>(&self, s: &S, lane: u32, e: u32) -> B {
        let pack = self.first + STEPS as u32 * lane + ((lane & 7) ^ (e / B::PER));
        s.get(self.room.cast::<B>(), pack * B::PER + e % B::PER)
    }

    /// The part over the first `valid` elements of a tile, fewer than all; every lane gets it.
    #[inline(always)]
    pub fn end<S: Simt, F: Tree>(&self, s: &S, f: &F, w: [[u32; 4]; STEPS], valid: u32) -> F::Part {
        let (per, lane) = (F::Bits::PER, s.lane());
        let each = STEPS as u32 * per;
        let w = self.change(s, w);
        // Of a tree that has a cheaper one, elements that are not ordinary.
        let nodes = if F::HAS_PLAIN { slow(s, f, &w) } else { packs(s, f, &w) };
        // Lanes that have all elements, and what the next one has.
        let (whole, left) = (valid / each, valid % each);
        let mut part = f.nothing();
        if s.branch(left > 0) {
            if s.branch(lane == whole) {
                part = some(s, f, &w, &nodes, left);
            }
            part = part.map(
                #[inline(always)]
                |_, word| s.shuffle_idx(ALL, word, whole),
            );
        }
        lanes_before(s, f, part, eight(f, nodes), each, whole)
    }
}

/// The part over the first `whole` lanes, of `each` elements a lane, of whose elements `node` is the node, and `part`
/// of what follows them.
#[inline(always)]
pub fn lanes_before<S, F>(s: &S, f: &F, mut part: F::Part, mut node: F::Node, each: u32, whole: u32) -> F::Part
where
    S: Simt,
    F: Tree,
{
    // Their subtrees, the smallest and last one first.
    let mut d = 0;
    while s.again(whole >> d != 0) {
        if s.branch(whole >> d & 1 == 1) {
            let first = whole >> (d + 1) << (d + 1);
            let own = node.map(
                #[inline(always)]
                |_, word| s.shuffle_idx(ALL, word, first),
            );
            part = f.meet_near(f.part(own, each << d), part);
        }
        node = warp::across(s, Join(f), node, 1 << d, each << d);
        d += 1;
    }
    part
}

/// The node over those of a lane's packs.
#[inline(always)]
pub fn eight<F: Tree>(f: &F, nodes: [F::Node; STEPS]) -> F::Node {
    let [a, b, c, d, e, g, h, i] = nodes;
    let per = F::Bits::PER;
    let [left, right] = [[a, b, c, d], [e, g, h, i]].map(
        #[inline(always)]
        |four| warp::four(f, four, per),
    );
    f.join(left, right, 4 * per)
}

/// The part over the first `count` elements of a lane's packs, fewer than all, of which these are the nodes.
#[inline(always)]
fn some<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS], nodes: &[F::Node; STEPS], count: u32) -> F::Part {
    let per = F::Bits::PER;
    let (whole, left) = (count / per, count % per);
    let mut part = f.nothing();
    if s.branch(left > 0) {
        part = last_elements(s, f, &warp::picked(*w, whole), left);
    }
    if s.branch(whole & 1 != 0) {
        part = f.meet_near(f.part(warp::pick(*nodes, whole - 1), per), part);
    }
    let [a, b, c, d, e, g, ..] = *nodes;
    let low = f.join(a, b, per);
    if s.branch(whole & 2 != 0) {
        part = f.meet_near(f.part(select(whole & 4 != 0, f.join(e, g, per), low), 2 * per), part);
    }
    if s.branch(whole & 4 != 0) {
        part = f.meet_near(f.part(f.join(low, f.join(c, d, per), 2 * per), 4 * per), part);
    }
    part
}
