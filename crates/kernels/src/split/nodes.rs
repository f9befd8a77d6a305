//! Sums of 64 neighbours of a group, where they lie. A block has a chunk, and moves no element.
//!
//! A tile is put in the order of its digits in shared memory (`order.rs`). A thread has a digit, whose ranks it counts:
//! 8 elements from a multiple of 8 are a whole subtree of their group, and so are 64. Those of 64 are written down as
//! nodes; what a tile has of one that goes on in the next tile is kept as a binary counter. Nodes that go on in another
//! chunk are left in parts: their eights that are whole, and the elements of others, which [`super::joints`] joins. Of
//! a digit that much of the tile has, nodes are listed for all warps. Then a group is a segment of nodes.
//! Bottleneck: latency, as a multiprocessor has one block, which waits for all its warps five times for each tile.

use crate::address::array;
use crate::node::{Node, get, put};
use crate::reduce::fold::Tree;
use crate::reduce::recipe::flag;
use crate::source::Bits;
use crate::split::group::{Group, one, tree, write};
use crate::split::order::{WARPS, WORDS, begin, clear, place, tally};
use crate::split::piece::{Piece, Pieces, labels, some};
use crate::split::{DIGITS, Split, WIDE};
use warpfold_simt::{Order, Shared, Simt};

/// Elements of the least node that is written down.
pub const EIGHT: u32 = 8;
/// Elements of a node.
pub const NODE: u32 = EIGHT * EIGHT;
/// Nodes of how many sizes a digit keeps.
const LEVELS: u32 = 6;
/// Rows that a warp reads at a time.
const OWN: usize = 8;
/// Elements of a tile.
const TILE: u32 = 32768;
/// Words of shared memory: counters, then values in order, then what digits keep.
const ROOM: usize = (WARPS * WORDS + TILE + LEVELS * DIGITS) as usize;
/// Elements of a digit in a tile that its thread reduces alone.
const ALONE: u32 = 3 * NODE;
/// Nodes of an entry of the list, at most: one for each lane.
const LISTED: u32 = 32;
/// Words of the list.
const LIST: usize = 2 * (TILE / ALONE + TILE / (NODE * LISTED)) as usize;

/// Shared memory.
#[derive(Clone, Copy)]
struct Room {
    counters: Shared<u32>,
    sums: Shared<u32>,
    values: Shared<u32>,
    /// Nodes of 1 to 32 elements of each digit.
    kept: Shared<u32>,
    /// Pairs of words: a place and a number of nodes, and where they go.
    list: Shared<u32>,
    /// How many.
    listed: Shared<u32>,
}

/// A thread's digit of a tile.
struct Own<'a, S, F> {
    s: &'a S,
    call: &'a Split,
    f: F,
    room: Room,
    group: Group,
}

/// The only one.
#[inline(always)]
pub fn kernel<S: Simt, F: Tree<Bits: Bits>>(s: &S, call: &Split) {
    const { assert!(F::Bits::SIZE == 4 && <F::Node as Node>::WORDS == 1 && F::NEUTRAL && WIDE == DIGITS) };
    let words = s.room::<u32, ROOM>("elements in order");
    let values = words.offset(WARPS * WORDS);
    let room = Room {
        counters: words,
        sums: s.shared::<u32, { WARPS as usize }, 0>("sums of warps"),
        values,
        kept: values.offset(TILE),
        list: s.shared::<u32, LIST, 1>("nodes for all warps"),
        listed: s.shared::<u32, 1, 2>("how many"),
    };
    let f: F = tree(call);
    let mut pieces = Pieces::of(s, call, s.block_x());
    while let Some(piece) = pieces.next(s, call) {
        let total = one(s, call.at.totals, piece.bucket);
        let (before, all) = crate::block::scan_of(s, room.sums, total, WARPS);
        let own = Own { s, call, f, room, group: Group::of(s, call, &piece, total, piece.start + before) };
        if s.branch(piece.is_first) {
            own.cut(&piece, all);
        }
        let (mut at, mut rank) = (piece.from, own.group.from);
        while s.again(at < piece.to) {
            rank += own.tile(rank, at, piece.to.min(at + TILE));
            at += TILE;
        }
        if s.branch(piece.from < piece.to && own.group.to == own.group.total) {
            own.end();
        }
        s.barrier();
    }
}

impl<S: Simt, F: Tree<Bits: Bits>> Own<'_, S, F> {
    /// Writes down where the nodes of the group begin. There is never more than one too much, and that is filled with
    /// what changes nothing.
    #[inline(always)]
    fn cut(&self, piece: &Piece, all: u32) {
        let Self { s, call, group, .. } = *self;
        let cuts = array::<u32>(call.at.starts);
        if s.branch(s.thread_x() < call.digits && group.number < call.parts) {
            let (first, next) = (group.index(NODE, 0), (group.start + group.total) / NODE + group.number + 1);
            s.store(cuts, group.number as usize, first);
            if s.branch(first + group.total.div_ceil(NODE) < next) {
                write(s, call.at.nodes, next - 1, self.f.neutral());
            }
            // The sum of nothing is +0.0, and has no sign but an initial value's.
            if s.branch(group.total == 0 && call.flags & flag::INITIAL == 0) {
                s.store(array::<u32>(call.at.nodes), first as usize, 0);
            }
        }
        if s.branch(piece.bucket + 1 == call.buckets && s.thread_x() == 0) {
            s.store(cuts, call.parts as usize, (piece.start + all) / NODE + call.parts);
        }
    }

    /// The last node of a group that ends here.
    #[inline(always)]
    fn end(&self) {
        let Self { call, group, .. } = *self;
        let (rank, s) = (group.total, self.s);
        let is_kept = |each: u32| !rank.is_multiple_of(each) && rank / each * each >= group.whole(each)[0];
        let (mut node, mut level) = (self.f.neutral(), 0);
        let most = if is_kept(NODE) { LEVELS } else { EIGHT.ilog2() };
        if s.branch(is_kept(NODE) || is_kept(EIGHT)) {
            while s.again(level < most) {
                if s.branch(rank >> level & 1 != 0) {
                    node = self.f.join(self.kept(level), node, 1 << level);
                }
                level += 1;
            }
            if s.branch(most == LEVELS) {
                write(s, call.at.nodes, group.index(NODE, rank), node);
            } else {
                write(s, call.at.eights, group.index(EIGHT, rank), node);
            }
        }
    }

    /// A node of `1 << level` elements, kept from before.
    #[inline(always)]
    fn kept(&self, level: u32) -> F::Node {
        get(self.s, self.room.kept, DIGITS, level * DIGITS + self.s.thread_x(), self.f.neutral())
    }

    #[inline(always)]
    fn keep(&self, level: u32, node: F::Node) {
        put(self.s, self.room.kept, DIGITS, level * DIGITS + self.s.thread_x(), node);
    }

    #[inline(always)]
    fn values(&self, at: u32) -> Shared<F::Bits> {
        self.room.values.offset(at).cast()
    }

    /// Puts a tile in order, and reduces what it has of each group; returned is how many elements of the thread's.
    #[inline(always)]
    fn tile(&self, before: u32, at: u32, end: u32) -> u32 {
        let Self { s, call, room, .. } = *self;
        let own = room.counters.offset(s.warp() * WORDS);
        let rows = (end - at).div_ceil(WIDE);
        let first = at + s.warp() * 32 * rows;
        let until = (first + 32 * rows).min(end);
        clear(s, own);
        let mut from = first;
        while s.again(from < until) {
            let whole = from + 32 * OWN as u32 <= until;
            let keys: [u32; OWN] = labels(s, call, whole, from + s.lane(), 32, until);
            tally(s, own, keys);
            from += 32 * OWN as u32;
        }
        s.barrier();
        if s.branch(s.thread_x() == 0) {
            s.put(room.listed, 0, 0);
        }
        let (begin, count) = begin(s, room.counters, room.sums);
        s.barrier();
        from = first;
        while s.again(from < until) {
            let (here, whole) = (from + s.lane(), from + 32 * OWN as u32 <= until);
            let keys: [u32; OWN] = labels(s, call, whole, here, 32, until);
            let values: [u32; OWN] = some(s, call.at.values, whole, here, 32, until);
            place(
                s,
                own,
                call.bits,
                keys,
                values,
                #[inline(always)]
                |place, _, value| s.put(room.values, place, value),
            );
            from += 32 * OWN as u32;
        }
        s.barrier();
        self.take(before, begin, count);
        s.barrier();
        let (mut entry, listed) = (s.warp(), s.get(room.listed, 0));
        while s.again(entry < listed) {
            let (what, to) = (s.get(room.list, 2 * entry), s.get(room.list, 2 * entry + 1));
            if s.branch(s.lane() < what >> 16) {
                write(s, call.at.nodes, to + s.lane(), self.turned((what & 0xffff) + NODE * s.lane()));
            }
            entry += WARPS;
        }
        count
    }

    /// The node of 64 elements. Each lane begins at another of them, which is another bank.
    #[inline(always)]
    fn turned(&self, at: u32) -> F::Node {
        let (f, by, x) = (&self.f, self.s.lane(), self.values(at));
        let one = |k: u32| f.lift(self.s, self.s.get(x, k ^ by));
        let two = |k: u32| f.join_lanes(by & 1 != 0, one(k + 1), one(k), 1);
        let four = |k: u32| f.join_lanes(by & 2 != 0, two(k + 2), two(k), 2);
        let eight = |k: u32| f.join_lanes(by & 4 != 0, four(k + 4), four(k), 4);
        let sixteen = |k: u32| f.join_lanes(by & 8 != 0, eight(k + 8), eight(k), 8);
        let half = |k: u32| f.join_lanes(by & 16 != 0, sixteen(k + 16), sixteen(k), 16);
        f.join(half(0), half(32), 32)
    }

    /// The node of `1 << level` elements, at most eight.
    #[inline(always)]
    fn few(&self, at: u32, level: u32) -> F::Node {
        let (s, f, x) = (self.s, &self.f, self.values(at));
        let pair = |at: u32| f.pair(s, s.get(x, at), s.get(x, at + 1));
        let four = |at: u32| f.join(pair(at), pair(at + 2), 2);
        match level {
            0 => f.lift(s, s.get(x, 0)),
            1 => pair(0),
            2 => four(0),
            _ => f.join(four(0), four(4), 4),
        }
    }

    /// Takes eight elements of a group, from that rank on.
    #[inline(always)]
    fn eight(&self, rank: u32, mut node: F::Node) {
        let Self { s, call, group, .. } = *self;
        let [head, tail] = group.whole(NODE);
        if s.branch(rank < head || rank >= tail) {
            return write(s, call.at.eights, group.index(EIGHT, rank), node);
        }
        let mut level = EIGHT.ilog2();
        while s.again(level < LEVELS && rank >> level & 1 != 0) {
            node = self.f.join(self.kept(level), node, 1 << level);
            level += 1;
        }
        if s.branch(level == LEVELS) {
            write(s, call.at.nodes, group.index(NODE, rank), node);
        } else {
            self.keep(level, node);
        }
    }

    /// Leaves elements of eights that other chunks have the rest of.
    #[inline(always)]
    fn leave(&self, rank: &mut u32, at: &mut u32, end: u32) {
        while self.s.again(*at < end) {
            let to = (self.group.start + *rank) as usize;
            self.s.store(array::<u32>(self.call.at.moved), to, self.s.get(self.room.values, *at));
            (*at, *rank) = (*at + 1, *rank + 1);
        }
    }

    /// Reduces `count` elements of the group that begin at a place in the tile, from that rank on.
    #[inline(always)]
    fn take(&self, mut rank: u32, mut at: u32, count: u32) {
        let Self { s, room, group, .. } = *self;
        let ([head, tail], end, eight) = (group.whole(EIGHT), at + count, EIGHT.ilog2());
        if s.branch(rank < head) {
            let until = end.min(at + (head - rank));
            self.leave(&mut rank, &mut at, until);
        }
        let whole = if rank < tail { end.min(at + (tail - rank)) } else { at };
        // From where the last tile has ended to the end of eight elements.
        let mut level = 0;
        while level < eight {
            let each = 1 << level;
            if s.branch(rank & (2 * each - 1) == each && whole - at >= each) {
                let (mut node, mut up) = (self.few(at, level), level);
                while s.again(up < eight && rank >> up & 1 != 0) {
                    node = self.f.join(self.kept(up), node, 1 << up);
                    up += 1;
                }
                (at, rank) = (at + each, rank + each);
                if s.branch(up == eight) {
                    self.eight(rank - EIGHT, node);
                } else {
                    self.keep(up, node);
                }
            }
            level += 1;
        }
        let [head, tail] = group.whole(NODE);
        while s.again(whole - at >= EIGHT) {
            let is_whole = rank.is_multiple_of(NODE) && rank >= head && rank < tail;
            if s.branch(whole - at > ALONE && is_whole) {
                let some = ((whole - at).min(tail - rank) / NODE).min(LISTED);
                let entry = s.atomic_add_shared(room.listed, 0, 1u32, Order::Relaxed);
                s.put(room.list, 2 * entry, at | some << 16);
                s.put(room.list, 2 * entry + 1, group.index(NODE, rank));
                (at, rank) = (at + some * NODE, rank + some * NODE);
            } else {
                self.eight(rank, self.few(at, eight));
                (at, rank) = (at + EIGHT, rank + EIGHT);
            }
        }
        // What is left goes on in the next tile.
        level = eight;
        while level > 0 {
            level -= 1;
            if s.branch(whole - at >= 1 << level) {
                self.keep(level, self.few(at, level));
                (at, rank) = (at + (1 << level), rank + (1 << level));
            }
        }
        self.leave(&mut rank, &mut at, end);
    }
}
