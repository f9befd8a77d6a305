//! The sums of a bucket's groups, in the tree's order, without a second part. A block has a bucket.
//!
//! A tile's values are put in the order of their groups in shared memory; a thread has the same groups in all tiles.
//! Of a group it adds up eight neighbours at a time and keeps the nodes of eights as a binary counter; what is left of
//! a tile waits for the next. A group that has very many elements of a tile would keep the others waiting: then the
//! block says that there has to be a second part. Bottleneck: shared memory.

use crate::address::array;
use crate::node::{Node, get, put};
use crate::params::params;
use crate::reduce::call::{Call, Results};
use crate::reduce::fold::Tree;
use crate::reduce::out::Out;
use crate::reduce::recipe::Recipe;
use crate::source::Bits;
use crate::split::DIGITS;
use crate::split::tile::{Ranks, Room, STEP, place, ranks};
use warpfold_simt::{Order, Shared, Simt};

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
        /// The most elements of a group in a tile.
        pub most: u32,
        /// The bits of the result of no elements.
        pub empty: u64,
    }
}

impl Results for SumsAt {
    #[inline(always)]
    fn output(&self) -> u64 {
        self.output
    }
    #[inline(always)]
    fn workspace(&self) -> u64 {
        self.workspace
    }
}

/// The launch struct of sums within buckets.
pub type SumsCall = Call<Within, SumsAt>;

/// What the threads of a block keep.
#[derive(Clone, Copy)]
struct Kept<B> {
    /// A tile's values, in the order of their groups.
    values: Shared<B>,
    /// Up to seven values of each group, from the tiles before; none if there is one tile.
    waiting: Shared<B>,
    has_waiting: bool,
    /// Nodes of eights: one of each group on each level.
    nodes: Shared<u32>,
}

/// Of a block of `WARPS` warps, whose threads have `OWN` elements of a tile each, twice `HALF`. Words of shared memory:
/// `SHARED` for a tile or its counters, `WAITING` for values that wait, or 1 if a bucket has one tile, `NODES` for nodes.
#[inline(always)]
pub fn kernel<
    S: Simt,
    F: Tree<Bits: Bits>,
    const WARPS: usize,
    const OWN: usize,
    const HALF: usize,
    const SHARED: usize,
    const WAITING: usize,
    const NODES: usize,
>(
    s: &S,
    call: &SumsCall,
) {
    const { assert!(F::Bits::SIZE == 4 && <F::Node as Node>::WORDS == 1) };
    const { assert!(SHARED >= WARPS * STEP as usize && SHARED >= WARPS * 32 * OWN && 2 * HALF == OWN && OWN % 8 == 0) };
    let counters = s.shared::<u32, SHARED, 0>("values in order");
    let waiting = s.shared::<F::Bits, WAITING, 1>("values that wait");
    let nodes = s.shared::<u32, NODES, 2>("nodes of eights");
    let begins = s.shared::<u32, { DIGITS as usize + 1 }, 3>("where groups begin");
    let sums = s.shared::<u32, WARPS, 4>("sums of warps");
    let stop = s.shared::<u32, 1, 5>("whether there has to be a second part");
    let room = Room { counters, sums, begins, warps: WARPS as u32 };
    let kept = Kept { values: counters.cast(), waiting, has_waiting: WAITING > 1, nodes };
    let (f, threads, tid) = (F::new(&call.recipe), 32 * WARPS as u32, s.thread_x());
    let bucket = |k: u32| s.load(array::<u32>(call.at.buckets), (s.block_x() + k) as usize);
    let (mut at, end) = (bucket(0), bucket(1));
    let again = array::<u32>(call.at.again);
    if s.branch(tid == 0) {
        s.put(stop, 0, s.load_volatile(again, 0));
    }
    // How many elements of each of its groups a thread has seen.
    let mut seen = [0; 4];
    let each = DIGITS / threads;
    s.barrier();
    while s.again(at < end && s.get(stop, 0) == 0) {
        let here = (end - at).min(threads * OWN as u32);
        let rows = here.div_ceil(threads);
        let first = at + s.warp() * 32 * rows + s.lane();
        let last = at + here;
        // The last element in place of what is not there.
        let place_of = |first: u32, i: usize| (first + 32 * i as u32).min(last - 1) as usize;
        let is_there = |first: u32, i: usize| (i as u32) < rows && first + 32 * (i as u32) < last;
        let mut digits = Ranks([0; HALF]);
        let mut i = 0;
        while i < OWN {
            digits.add(i, s.load_stream(array::<u16>(call.at.rests), place_of(first, i)) as u32);
            i += 1;
        }
        let digit = |first: u32, i: usize| if is_there(first, i) { digits.of(i) } else { DIGITS };
        let mut order = ranks::<S, OWN, HALF>(
            s,
            room,
            rows,
            #[inline(always)]
            |i| digit(first, i),
        );
        // Anew: what was kept for each row would take as many registers.
        let again_first = s.anew(first);
        place::<S, OWN, HALF>(
            s,
            room,
            &mut order,
            #[inline(always)]
            |i| digit(again_first, i),
        );
        s.barrier();
        let first = s.anew(first);
        i = 0;
        while i < OWN {
            let values: [F::Bits; 8] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| s.load_stream(array::<F::Bits>(call.at.values), place_of(first, i + k)),
            );
            let mut k = 0;
            while k < 8 {
                if s.branch(is_there(first, i + k)) {
                    s.put(kept.values, order.of(i + k), values[k]);
                }
                k += 1;
            }
            i += 8;
        }
        s.barrier();
        let mut k = 0;
        while k < 4 {
            let digit = tid * each + k as u32;
            if s.branch((k as u32) < each) {
                let from = s.get(begins, digit);
                let len = s.get(begins, digit + 1) - from;
                if s.branch(len > call.shape.most) {
                    s.atomic_or_shared(stop, 0, 1, Order::Relaxed);
                } else if s.branch(len > 0) {
                    add(s, &f, kept, digit, seen[k], from, len);
                    seen[k] += len;
                }
            }
            k += 1;
        }
        at += here;
        s.barrier();
    }
    if s.branch(s.get(stop, 0) != 0) {
        if s.branch(tid == 0) {
            s.store_volatile(again, 0, 1);
        }
        return;
    }
    let mut k = 0;
    while k < 4 {
        let digit = tid * each + k as u32;
        let group = s.block_x() as u64 * call.shape.digits as u64 + digit as u64;
        if s.branch((k as u32) < each && digit < call.shape.digits && group < call.shape.groups) {
            let place = s.get(begins, digit + 1).wrapping_sub(seen[k] % EIGHT);
            finish(s, &f, call, kept, (digit, place), seen[k], group);
        }
        k += 1;
    }
}

/// Adds `len` values of a group, from place `from` in the tile, to the `seen` before.
#[inline(always)]
fn add<S: Simt, F: Tree<Bits: Bits>>(
    s: &S,
    f: &F,
    kept: Kept<F::Bits>,
    digit: u32,
    seen: u32,
    from: u32,
    len: u32,
) {
    let old = seen % EIGHT;
    let value = |j: u32| {
        if s.branch(j < old) { s.get(kept.waiting, j * DIGITS + digit) } else { s.get(kept.values, from + j - old) }
    };
    let (mut j, all, mut eights) = (0, old + len, seen / EIGHT);
    while s.again(j + EIGHT <= all) {
        let pair = |k: u32| f.pair(s, value(j + k), value(j + k + 1));
        let mut node = f.join(f.join(pair(0), pair(2), 2), f.join(pair(4), pair(6), 2), 4);
        let mut level = 0;
        while s.again(eights >> level & 1 != 0) {
            let left = get(s, kept.nodes, DIGITS, level * DIGITS + digit, node);
            node = f.join(left, node, EIGHT << level);
            level += 1;
        }
        put(s, kept.nodes, DIGITS, level * DIGITS + digit, node);
        eights += 1;
        j += EIGHT;
    }
    if !kept.has_waiting {
        return;
    }
    // Those that wait already stay where they are.
    let mut k = if j == 0 { old } else { 0 };
    while s.again(j + k < all) {
        s.put(kept.waiting, k * DIGITS + digit, s.get(kept.values, from + j + k - old));
        k += 1;
    }
}

/// Writes the result of a group of `count` elements, the last of which are at `place` if there is one tile.
#[inline(always)]
fn finish<S: Simt, F: Tree<Bits: Bits>>(
    s: &S,
    f: &F,
    call: &SumsCall,
    kept: Kept<F::Bits>,
    (digit, place): (u32, u32),
    count: u32,
    group: u64,
) {
    let out = Out { index: group as usize, ..call.out(0) };
    if s.branch(count == 0) {
        return out.integer(s, call.recipe.output, call.shape.empty);
    }
    let value = |j: u32| {
        if kept.has_waiting { s.get(kept.waiting, j * DIGITS + digit) } else { s.get(kept.values, place + j) }
    };
    // From the right: what is before is to the left.
    let (mut part, mut left) = (f.nothing(), count % EIGHT);
    let mut is_some = false;
    if s.branch(left & 1 != 0) {
        left -= 1;
        (part, is_some) = (f.part(f.lift(s, value(left)), 1), true);
    }
    if s.branch(left & 2 != 0) {
        left -= 2;
        let node = f.part(f.pair(s, value(left), value(left + 1)), 2);
        (part, is_some) = (if is_some { f.meet(node, part) } else { node }, true);
    }
    if s.branch(left & 4 != 0) {
        let node = f.join(f.pair(s, value(0), value(1)), f.pair(s, value(2), value(3)), 2);
        let node = f.part(node, 4);
        (part, is_some) = (if is_some { f.meet(node, part) } else { node }, true);
    }
    let (eights, mut level) = (count / EIGHT, 0);
    while s.again(eights >> level != 0) {
        if s.branch(eights >> level & 1 != 0) {
            let node = get(s, kept.nodes, DIGITS, level * DIGITS + digit, f.neutral());
            let node = f.part(node, EIGHT << level);
            (part, is_some) = (if is_some { f.meet(node, part) } else { node }, true);
        }
        level += 1;
    }
    f.finish(s, &Recipe { count: count as u64, ..call.recipe }, part, out);
}
