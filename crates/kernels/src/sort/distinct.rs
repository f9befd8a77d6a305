//! Distinct values, by a bit for each that there could be: keys are in order but for their lowest [`LOW`] bits.
//!
//! Those that agree in all other bits are a *bucket*. A block sets the bits of a bucket's keys in shared memory, learns
//! how many bits there are in buckets before it ([`crate::sort::back`]), and writes its own as values; in which order
//! keys come does not matter. Buckets of very many keys are set by many blocks before that, in global memory
//! ([`flood`]).
//!
//! Bottleneck: instructions, and waiting. Of 2^26 random keys a thread has 16, and 32 words to look at.

use crate::address::array;
use crate::block::scan;
use crate::block::{THREADS, WARPS};
use crate::block::{each, each_of_grid};
use crate::params::params;
use crate::sort::key::{Elements, kind, write};
use crate::sort::sorted::{Sorted, element};
use crate::sort::state::{FOUND, PLACES, State};
use warpfold_simt::{ALL, Order, Pack, Shared, Simt};

/// Bits of a key that need no order.
pub const LOW: u32 = 18;
/// Words of a bucket's bits: 32 to a thread.
pub const WORDS: usize = 1 << (LOW - 5);
/// Keys that one block sets.
pub const MANY: u32 = 1 << 17;
/// Values that are put side by side at a time.
const ROOM: usize = 3072;
/// Values that one thread puts there at most, since the others wait for it.
const CROWD: u32 = 128;

params! {
    #[derive(Default)]
    /// Where keys and their buckets are, and where values go.
    pub struct DistinctAt {
        /// The elements.
        pub input: u64,
        /// Keys, wherever the sort has left them.
        pub keys: [u64; 2],
        /// What [`State`] says.
        pub state: u64,
        /// `u32`: where each bucket begins, and where the last ends.
        pub starts: u64,
        /// [`WORDS`] words for each [`MANY`] keys: the bits of a larger bucket are at the number of its first key. Zero
        /// before [`flood`].
        pub bits: u64,
        /// Elements: one for each distinct key.
        pub values: u64,
    }

    /// Keys, their buckets and their values.
    pub struct Distinct at DistinctAt {
        /// How many elements.
        pub n: u64,
        /// What they are.
        pub elements: Elements,
        /// How many buckets.
        pub buckets: u32,
        /// See [`crate::sort::heads::Heads`].
        pub tiles: u32,
        /// Likewise.
        pub places: u32,
        /// Likewise.
        pub converted: u32,
    }
}

impl Distinct {
    #[inline(always)]
    fn sorted<S: Simt>(&self, s: &S) -> Sorted {
        Sorted::of(s, self.at.state, self.at.input, self.at.keys, [0; 2], self.converted)
    }

    /// Where a bucket begins and ends.
    #[inline(always)]
    fn bucket<S: Simt>(&self, s: &S, bucket: u32) -> (u32, u32) {
        let starts = array::<u32>(self.at.starts).offset(bucket as usize);
        (s.load(starts, 0), s.load(starts, 1))
    }

    /// The first word in global memory of a bucket of more than [`MANY`] keys.
    #[inline(always)]
    fn words(from: u32) -> usize {
        (from / MANY) as usize * WORDS
    }
}

/// The place of a word: threads, each of which has 32 words, find them in different banks, and so do keys that are
/// close.
#[inline(always)]
fn place(word: u32) -> u32 {
    let (thread, i) = (word >> 5, word & 31);
    i * THREADS + (thread ^ i)
}

/// Makes a bucket's bits zero.
#[inline(always)]
fn clear<S: Simt>(s: &S, bits: Shared<u32>) {
    let lines = bits.cast::<Pack<u32, 4>>();
    for i in 0..WORDS as u32 / 4 / THREADS {
        s.put(lines, i * THREADS + s.thread_x(), Pack([0; 4]));
    }
}

/// Sets the bits of keys number `from` to `to`.
#[inline(always)]
fn set<S: Simt>(s: &S, call: &Distinct, sorted: &Sorted, bits: Shared<u32>, from: u32, to: u32) {
    let mut at = from + s.thread_x();
    while s.again(at < to) {
        let keys: [u32; 8] = sorted.keys::<S, u32, 8, { THREADS as usize }>(s, &call.elements, at, to);
        for (i, key) in keys.into_iter().enumerate() {
            if s.branch(at + i as u32 * THREADS < to) {
                let word = (key & ((1 << LOW) - 1)) >> 5;
                s.atomic_or_shared(bits, place(word), 1 << (key & 31), Order::Relaxed);
            }
        }
        at += 8 * THREADS;
    }
}

/// Where each bucket begins, by halving.
#[inline(always)]
pub fn starts<S: Simt>(s: &S, call: &Distinct) {
    let sorted = call.sorted(s);
    each_of_grid(
        s,
        call.buckets as u64 + 1,
        #[inline(always)]
        |bucket| {
            let (mut low, mut high) = (0, call.n as u32);
            while s.again(low < high) {
                let middle = low + (high - low) / 2;
                let [key] = sorted.keys::<S, u32, 1, 1>(s, &call.elements, middle, call.n as u32);
                if s.branch(((key >> LOW) as u64) < bucket) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            s.store(array::<u32>(call.at.starts), bucket as usize, low);
        },
    );
}

/// Sets the bits of buckets of more than [`MANY`] keys. A block has so many keys, which are those of two such buckets
/// at most: the first's and the last's.
#[inline(always)]
pub fn flood<S: Simt>(s: &S, call: &Distinct) {
    let bits = s.shared::<u32, WORDS, 0>("bits");
    let (tid, n, sorted) = (s.thread_x(), call.n as u32, call.sorted(s));
    let first = s.block_x() * MANY;
    let end = n.min(first + MANY);
    let [[low], [high]] = [first, end - 1].map(
        #[inline(always)]
        |at| sorted.keys::<S, u32, 1, 1>(s, &call.elements, at, n),
    );
    let (mut bucket, mut more) = (low >> LOW, true);
    while s.again(more) {
        let (from, to) = call.bucket(s, bucket);
        if s.branch(to - from > MANY) {
            clear(s, bits);
            s.barrier();
            set(s, call, &sorted, bits, from.max(first), to.min(end));
            s.barrier();
            let all = array::<u32>(call.at.bits).offset(Distinct::words(from));
            each(s, tid, WORDS as u32, |i| {
                let word = s.get(bits, i);
                if s.branch(word != 0) {
                    s.atomic_or(all, i as usize, word, Order::Relaxed);
                }
            });
            s.barrier();
        }
        more = bucket != high >> LOW;
        bucket = high >> LOW;
    }
}

/// Writes the values of each bucket.
#[inline(always)]
pub fn values<S: Simt>(s: &S, call: &Distinct) {
    let bits = s.shared::<u32, WORDS, 0>("bits");
    let room = s.shared::<u32, ROOM, 1>("values side by side");
    let warps = s.shared::<u32, { WARPS as usize }, 2>("sums of warps");
    let number = s.shared::<u32, 3, 3>("number of the bucket, values before it, and whether a thread has a crowd");
    let (tid, state) = (s.thread_x(), State::at(call.at.state));
    if s.branch(tid == 0) {
        s.put(number, 0, state.ticket(s, PLACES as u32));
        s.put(number, 2, 0);
    }
    s.barrier();
    let bucket = s.get(number, 0);
    let (from, to) = call.bucket(s, bucket);
    // A thread has 32 words, and a bit for each that is not zero.
    let word = |i: u32| s.get(bits, place(32 * tid + i));
    let (mut many, mut filled, mut before, mut all) = (0, 0, 0, 0);
    if s.branch(from < to) {
        if s.branch(to - from > MANY) {
            let all = array::<u32>(call.at.bits).offset(Distinct::words(from));
            each(s, tid, WORDS as u32, |i| s.put(bits, i, s.load(all, i as usize)));
        } else {
            clear(s, bits);
            s.barrier();
            set(s, call, &call.sorted(s), bits, from, to);
        }
        s.barrier();
        for i in 0..32 {
            let word = word(i);
            many += word.count_ones();
            filled |= ((word != 0) as u32) << i;
        }
        (before, all) = scan(s, warps, many);
        if s.branch(many > CROWD) {
            s.atomic_or_shared(number, 2, 1, Order::Relaxed);
        }
    }
    if s.branch(s.warp() == 0) {
        let back = state.heads(call.tiles, call.places);
        if s.branch(tid == 0) {
            back.publish(s, bucket, all);
        }
        let of_buckets = back.before_together(s, bucket, all);
        if s.branch(tid == 0) {
            s.put(number, 1, of_buckets);
            if s.branch(bucket + 1 == call.buckets) {
                s.store(state.words(), FOUND, of_buckets + all);
            }
        }
    }

    s.barrier();
    let to = s.get(number, 1);
    let share = Share { bucket, many, before, all, to };
    if s.branch(s.get(number, 2) == 0) {
        by_threads(s, call, share, filled, bits, room);
    } else {
        by_words(s, call, share, bits);
    }
}

/// What a thread has of a bucket's values: so many, after so many others, of all. They are written after `to` others.
#[derive(Clone, Copy)]
struct Share {
    bucket: u32,
    many: u32,
    before: u32,
    all: u32,
    to: u32,
}

/// Writes values: a thread goes from one of its bits to the next, in words that have any, and values meet in shared
/// memory.
#[inline(always)]
fn by_threads<S: Simt>(s: &S, call: &Distinct, share: Share, filled: u32, bits: Shared<u32>, room: Shared<u32>) {
    let (tid, of) = (s.thread_x(), &call.elements);
    let (mut next, mut filled, mut left, mut high, mut done) = (share.before, filled, 0u32, 0, 0);
    while s.again(done < share.all) {
        let end = (share.before + share.many).min(done + ROOM as u32);
        while s.again(next < end) {
            if s.branch(left == 0) {
                let word = 32 * tid + filled.trailing_zeros();
                filled &= filled.wrapping_sub(1);
                (left, high) = (s.get(bits, place(word)), share.bucket << LOW | word << 5);
            }
            s.put(room, next - done, high | left.trailing_zeros());
            left &= left.wrapping_sub(1);
            next += 1;
        }
        s.barrier();
        // One loop for each kind, which has no choices in it.
        let (to, len) = (share.to + done, (share.all - done).min(ROOM as u32));
        let write_all = |kind: u32| {
            let of = Elements { kind, ..*of };
            each(s, tid, len, |i| {
                let bits = element(s, call.at.state, &of, s.get(room, i));
                write(s, call.at.values, of.size, (to + i) as usize, bits);
            });
        };
        if s.branch(of.kind == kind::SIGNED) {
            write_all(kind::SIGNED);
        } else if s.branch(of.kind == kind::FLOAT) {
            write_all(kind::FLOAT);
        } else {
            write_all(kind::UNSIGNED);
        }
        s.barrier();
        done += ROOM as u32;
    }
}

/// Writes values: a warp takes the words of one of its threads after the other, and each lane has a bit.
#[inline(always)]
fn by_words<S: Simt>(s: &S, call: &Distinct, share: Share, bits: Shared<u32>) {
    let (lane, mut owner) = (s.lane(), 0);
    while s.again(owner < 32) {
        let words = s.warp() * 1024 + owner * 32;
        let word = s.get(bits, place(words + lane));
        let mut left = s.ballot(ALL, word != 0);
        let mut next = share.to + s.shuffle_idx(ALL, share.before, owner);
        while s.again(left != 0) {
            let i = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            let set = s.shuffle_idx(ALL, word, i);
            if s.branch(set >> lane & 1 != 0) {
                let before = (set & ((1 << lane) - 1)).count_ones();
                let bits = element(s, call.at.state, &call.elements, share.bucket << LOW | (words + i) << 5 | lane);
                write(s, call.at.values, call.elements.size, (next + before) as usize, bits);
            }
            next += set.count_ones();
        }
        owner += 1;
    }
}
