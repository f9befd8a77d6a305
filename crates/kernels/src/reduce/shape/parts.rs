//! Parts from the workspace, reduced by one block: the last of those that left them.

use crate::node::{MOST, Node, fetch, get, put};
use crate::reduce::fold::Parts;
use crate::reduce::shape::stack::Lanes;
use crate::reduce::shape::warp::meet_lanes;
use warpfold_simt::{Global, Order, Pack, Shared, Simt};

/// Words of shared memory for one node of each of 32 warps.
pub const SLOTS: usize = 32 * MOST;

/// Words of a part of which a lane can have several at once.
pub const FEW: u32 = 10;

/// The part of the block's warps, in their order; warp 0 gets it. There is a barrier in it.
#[inline(always)]
pub fn meet_warps<S: Simt, F: Parts>(s: &S, f: &F, slots: Shared<u32>, part: F::Part) -> F::Part {
    let (warps, lane) = (s.block_dim_x() / 32, s.lane());
    if s.branch(lane == 0) {
        put(s, slots, 32, s.warp(), part);
    }
    s.barrier();
    let mut part = f.nothing();
    if s.branch(s.warp() == 0) {
        if s.branch(lane < warps) {
            part = get(s, slots, 32, lane, part);
        }
        part = meet_lanes(s, f, part, 32);
    }
    part
}

/// Parts that a thread takes at once: so many neighbours that all fit the registers.
pub const fn abreast(words: u32) -> u64 {
    match words {
        0..=2 => 16,
        3..=FEW => 4,
        _ => 1,
    }
}

/// Parts side by side.
#[derive(Clone, Copy)]
pub struct Left {
    /// All parts.
    pub parts: Global<u32>,
    /// The number of the first of these among them.
    pub first: usize,
    /// How many these are.
    pub count: u64,
    /// Whether an earlier launch left them, so that they are read by lines, as elements are.
    pub there: bool,
}

/// Their part; warp 0 gets it.
#[inline(always)]
pub fn reduce<S: Simt, F: Parts>(s: &S, f: &F, slots: Shared<u32>, left: Left) -> F::Part {
    match abreast(F::Part::WORDS) {
        16 => reduce_by::<S, F, 16>(s, f, slots, left),
        4 => reduce_by::<S, F, 4>(s, f, slots, left),
        _ => reduce_by::<S, F, 1>(s, f, slots, left),
    }
}

/// The part of a row's parts, in the first of `lanes` lanes (a power of two); warps have several rows, and a lane has
/// all of its parts at once.
#[inline(always)]
pub fn beside<S: Simt, F: Parts>(s: &S, f: &F, left: Left, lanes: u32) -> F::Part {
    let own = (s.lane() & (lanes - 1)) as u64;
    let part = match abreast(F::Part::WORDS) {
        16 => neighbours::<S, F, 16>(s, f, left, 16 * own),
        4 => neighbours::<S, F, 4>(s, f, left, 4 * own),
        _ => neighbours::<S, F, 1>(s, f, left, own),
    };
    meet_lanes(s, f, part, lanes)
}

/// Lines of 16 bytes that [`neighbours`] have, at most.
const LINES: usize = 10;

/// The part of `N` parts, 16, 4 or 1, from number `own` on.
#[inline(always)]
fn neighbours<S: Simt, F: Parts, const N: usize>(s: &S, f: &F, left: Left, own: u64) -> F::Part {
    let (words, first) = (F::Part::WORDS as usize, (left.first + own as usize) * F::Part::WORDS as usize);
    let some: [F::Part; N] = if N > 1 && s.branch(left.there && own + N as u64 <= left.count && first.is_multiple_of(4))
    {
        // Word by word, a warp would ask for each sector eight times.
        let lines: [[u32; 4]; LINES] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| if 4 * k < N * words { s.load(left.parts.cast::<Pack<u32, 4>>(), first / 4 + k).0 } else { [0; 4] },
        );
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| f.nothing().map(|i, _| lines[(j * words + i as usize) / 4][(j * words + i as usize) % 4]),
        )
    } else {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                let is = own + (j as u64) < left.count;
                if s.branch(is) {
                    fetch(s, left.parts, left.first + own as usize + j, f.nothing())
                } else {
                    f.nothing()
                }
            },
        )
    };
    let two = |j: usize| f.meet(some[j], some[j + 1]);
    let four = |j: usize| f.meet(two(j), two(j + 2));
    let eight = |j: usize| f.meet(four(j), four(j + 4));
    match N {
        16 => f.meet(eight(0), eight(8)),
        4 => four(0),
        _ => some[0],
    }
}

/// As [`reduce`], with `N` parts of each thread at a time: 16, 4 or 1.
#[inline(always)]
fn reduce_by<S: Simt, F: Parts, const N: usize>(s: &S, f: &F, slots: Shared<u32>, left: Left) -> F::Part {
    let mut stack = Lanes::new(f.nothing());
    let at_once = s.block_dim_x() as u64 * N as u64;
    let (mut done, mut i) = (0, 0);
    while s.again(done < left.count) {
        let part = neighbours::<S, F, N>(s, f, left, done + (s.thread_x() * N as u32) as u64);
        let part = meet_warps(s, f, slots, meet_lanes(s, f, part, 32));
        stack.push_part(s, f, i, part);
        s.barrier();
        done += at_once;
        i += 1;
    }
    stack.close_parts(s, f, i)
}

/// Blocks that share a row and whose parts one of them reduces: as many as it takes at once. A level of blocks that
/// wait for one another costs more than a few more parts.
pub const fn group<P: Node>() -> u64 {
    grouped(P::WORDS)
}

/// The same, of parts of so many words.
pub const fn grouped(words: u32) -> u64 {
    256 * abreast(words)
}

/// Blocks that share a panel of columns and whose parts one of them reduces: their eighths are as many as a block has
/// warps, so they fit its slots.
pub const PANEL_GROUP: u64 = 64;

/// Parts that the blocks of one row or panel need room for: one each, and one for each group of blocks, and so on; so
/// many that the next ones' begin with a line.
pub const fn room(blocks: u64) -> u64 {
    (blocks + blocks / 32 + 4).next_multiple_of(4)
}

/// Counters that they need in groups of `size`: one for each group, one for each group of groups, and so on.
pub const fn turns(blocks: u64, size: u64) -> u64 {
    if blocks <= size { 1 } else { 2 * blocks / size + 4 }
}

/// Where a block stands among those that share a row or a panel. Groups of them reduce their parts first, then groups
/// of groups, so that no block has many to go through.
#[derive(Clone, Copy)]
pub struct Turn {
    /// Where this level's parts begin.
    base: u64,
    /// And its counters.
    counters: u64,
    /// This one's number among `all`.
    index: u64,
    all: u64,
    size: u64,
}

impl Turn {
    /// Block `index` of the `all` that share set number `set`; groups have `size`.
    #[inline(always)]
    pub fn first(set: u64, index: u64, all: u64, size: u64) -> Self {
        Self { base: set * room(all), counters: set * turns(all, size), index, all, size }
    }
    #[inline(always)]
    fn group(&self) -> u64 {
        self.index / self.size
    }
    /// Where this one's part goes.
    #[inline(always)]
    pub fn own(&self) -> u64 {
        self.base + self.index
    }
    /// The group's first part.
    #[inline(always)]
    pub fn from(&self) -> u64 {
        self.base + self.group() * self.size
    }
    /// The group's parts.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        (self.all - self.group() * self.size).min(self.size)
    }
    /// Counts this one in; true for the last of its group. `publish` has been called by this thread, or before a
    /// barrier.
    #[inline(always)]
    pub fn arrive<S: Simt>(&self, s: &S, counters: Global<u32>) -> bool {
        let before = s.atomic_add(counters, (self.counters + self.group()) as usize, 1u32, Order::AcqRel);
        before as u64 + 1 == self.count()
    }
    /// Makes the group's counter zero again.
    #[inline(always)]
    pub fn reset<S: Simt>(&self, s: &S, counters: Global<u32>) {
        s.store_volatile(counters, (self.counters + self.group()) as usize, 0);
    }
    /// The group among groups; none if it is the only one.
    #[inline(always)]
    pub fn next(&self) -> Option<Self> {
        let groups = self.all.div_ceil(self.size);
        let next = Self {
            base: self.base + self.all,
            counters: self.counters + groups,
            index: self.group(),
            all: groups,
            size: self.size,
        };
        (groups > 1).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks through the levels of a set's last block, which has the highest number in each.
    #[test]
    fn sets_have_parts_and_counters_of_their_own() {
        let few = 1..10_000;
        let many = (14..31).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1]);
        for all in few.chain(many) {
            for size in [PANEL_GROUP, grouped(15), grouped(3), grouped(1)] {
                let next = Turn::first(1, 0, all, size);
                let mut turn = Some(Turn::first(0, all - 1, all, size));
                while let Some(here) = turn {
                    assert!(here.own() < next.own(), "part {} of {all} in groups of {size}", here.own());
                    let counter = here.counters + here.group();
                    assert!(counter < next.counters, "counter {counter} of {all} in groups of {size}");
                    turn = here.next();
                }
            }
        }
    }
}
