//! The sums of a bucket's groups, in the tree's order, without a second part. A block has a bucket, in one tile.
//!
//! The values are put in the order of their groups in shared memory. A thread has four groups; of each it adds up eight
//! neighbours at a time and keeps the nodes of eights as a binary counter. If a bucket has more than a tile, or a group
//! so many elements that its thread would keep the others waiting, the block says that there has to be a second part.
//! Bottleneck: the instructions for each bucket, which is short.

use crate::address::array;
use crate::node::{Node, get, put};
use crate::params::params;
use crate::reduce::call::{Call, results};
use crate::reduce::fold::Tree;
use crate::reduce::out::Out;
use crate::reduce::recipe::Recipe;
use crate::source::Bits;
use crate::split::DIGITS;
use crate::split::tile::{Room, STEP, place, ranks};
use warpfold_simt::{Shared, Simt};

/// Elements that a thread adds up at a time.
const EIGHT: u32 = 8;

params! {
    #[derive(Default)]
    /// Where buckets are, and where their sums go.
    pub struct SumsAt {
        /// `u16` of each element: its group in its bucket.
        pub rests: u64,
        /// The values.
        pub values: u64,
        /// `u32`: where each bucket begins, and where the last ends.
        pub buckets: u64,
        /// The first output.
        pub output: u64,
        /// Counters; their status is not used.
        pub workspace: u64,
        /// A word: set if there has to be a second part.
        pub again: u64,
    }

    /// The groups of buckets.
    pub struct Within {
        /// How many there are in all.
        pub groups: u64,
        /// Groups of a bucket.
        pub digits: u32,
        /// To fill a word.
        pub unused: u32,
        /// The bits of the result of no elements.
        pub empty: u64,
    }
}

results!(SumsAt);

/// The launch struct of sums within buckets.
pub type SumsCall = Call<Within, SumsAt>;

/// Threads of a block.
pub const SUM_THREADS: u32 = 256;
/// Elements of a thread.
const OWN: usize = 8;
/// Elements of a tile: the most of a bucket.
pub const SUM_TILE: u32 = SUM_THREADS * OWN as u32;
/// Groups of a thread.
const EACH: u32 = DIGITS / SUM_THREADS;
/// Levels of nodes of eights.
const LEVELS: u32 = 4;
/// The most elements of a group.
const LONG: u32 = (EIGHT << LEVELS) - 1;

/// The only one.
#[inline(always)]
pub fn kernel<S: Simt, F: Tree<Bits: Bits>>(s: &S, call: &SumsCall) {
    const { assert!(F::Bits::SIZE == 4 && <F::Node as Node>::WORDS == 1 && SUM_TILE <= STEP * SUM_THREADS / 32) };
    // The counters, then the values.
    let counters = s.shared::<u32, { (STEP * SUM_THREADS / 32) as usize }, 0>("values in order");
    let nodes = s.shared::<u32, { (LEVELS * DIGITS) as usize }, 1>("nodes of eights");
    let begins = s.shared::<u32, { DIGITS as usize + 1 }, 2>("where groups begin");
    let sums = s.shared::<u32, { SUM_THREADS as usize / 32 }, 3>("sums of warps");
    let room = Room { counters, sums, begins, warps: SUM_THREADS / 32 };
    let (f, tid, values) = (F::new(&call.recipe), s.thread_x(), counters.cast::<F::Bits>());
    let bucket = |k: u32| s.load(array::<u32>(call.at.buckets), (s.block_x() + k) as usize);
    let (at, end) = (bucket(0), bucket(1));
    let again = array::<u32>(call.at.again);
    if s.branch(end - at > SUM_TILE) {
        // The first part has said so.
        return;
    }
    if s.branch(at < end) {
        let rows = (end - at).div_ceil(SUM_THREADS);
        let first = at + s.warp() * 32 * rows + s.lane();
        // The last element in place of what is not there.
        let place_of = |i: usize| (first + 32 * i as u32).min(end - 1) as usize;
        let is_there = |i: usize| (i as u32) < rows && first + 32 * (i as u32) < end;
        let digits: [u32; OWN] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| s.load_stream(array::<u16>(call.at.rests), place_of(i)) as u32,
        );
        let own: [F::Bits; OWN] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| s.load_stream(array::<F::Bits>(call.at.values), place_of(i)),
        );
        let digit = |i: usize| if is_there(i) { digits[i] } else { DIGITS };
        let mut order = ranks::<S, OWN, { OWN / 2 }>(s, room, rows, digit);
        place::<S, OWN, { OWN / 2 }>(s, room, &mut order, digit);
        s.barrier();
        let mut i = 0;
        while i < OWN {
            if s.branch(is_there(i)) {
                s.put(values, order.of(i), own[i]);
            }
            i += 1;
        }
        s.barrier();
    }
    let mut k = 0;
    while s.again(k < EACH) {
        let digit = tid * EACH + k;
        let group = s.block_x() as u64 * call.shape.digits as u64 + digit as u64;
        if s.branch(digit < call.shape.digits && group < call.shape.groups) {
            let (mut from, mut count) = (0, 0);
            if s.branch(at < end) {
                from = s.get(begins, digit);
                count = s.get(begins, digit + 1) - from;
            }
            let out = Out { index: group as usize, ..call.out(0) };
            if s.branch(count == 0) {
                out.integer(s, call.recipe.output, call.shape.empty);
            } else if s.branch(count > LONG) {
                s.store_volatile(again, 0, 1);
            } else {
                let part = reduced(s, &f, values.offset(from), nodes.offset(digit), count);
                f.finish(s, &Recipe { count: count as u64, ..call.recipe }, part, out);
            }
        }
        k += 1;
    }
}

/// The part of a group's `count` values. There is room for nodes, a level [`DIGITS`] after the other.
#[inline(always)]
fn reduced<S: Simt, F: Tree<Bits: Bits>>(s: &S, f: &F, x: Shared<F::Bits>, nodes: Shared<u32>, count: u32) -> F::Part {
    let pair = |at: u32| f.pair(s, s.get(x, at), s.get(x, at + 1));
    let four = |at: u32| f.join(pair(at), pair(at + 2), 2);
    let eights = count / EIGHT;
    let mut k = 0;
    while s.again(k < eights) {
        let mut node = f.join(four(k * EIGHT), four(k * EIGHT + 4), 4);
        let mut level = 0;
        while s.again(k >> level & 1 != 0) {
            node = f.join(get(s, nodes, DIGITS, level * DIGITS, node), node, EIGHT << level);
            level += 1;
        }
        put(s, nodes, DIGITS, level * DIGITS, node);
        k += 1;
    }
    // From the right: what is before is to the left.
    let (mut part, mut is_some, mut left) = (f.nothing(), false, count);
    let before = |node: F::Part, part, is_some| if is_some { f.meet(node, part) } else { node };
    if s.branch(left & 1 != 0) {
        left -= 1;
        (part, is_some) = (f.part(f.lift(s, s.get(x, left)), 1), true);
    }
    if s.branch(left & 2 != 0) {
        left -= 2;
        (part, is_some) = (before(f.part(pair(left), 2), part, is_some), true);
    }
    if s.branch(left & 4 != 0) {
        left -= 4;
        (part, is_some) = (before(f.part(four(left), 4), part, is_some), true);
    }
    let mut level = 0;
    while s.again(eights >> level != 0) {
        if s.branch(eights >> level & 1 != 0) {
            let node = f.part(get(s, nodes, DIGITS, level * DIGITS, f.neutral()), EIGHT << level);
            (part, is_some) = (before(node, part, is_some), true);
        }
        level += 1;
    }
    part
}
