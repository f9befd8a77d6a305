//! A team chooses the first k of a row, or of a part of one.

use core::marker::PhantomData;

use super::candidate::Candidate;
use super::input::{Input, PACKS, Parts, Row, Size, Sized};
use super::narrow::{Narrowed, narrow};
use super::order::{OF_WARP, order};
use super::team::{Block, COUNTERS, Team, Words};
use super::{OWN, Select};
use crate::address::array;
use crate::sort::key::{Key, read, write};
use warpfold_simt::{Order, Simt};

/// The word of a team that counts candidates. After it are those that say how many fitted, of three turns: one is
/// written, one has been read, and one is cleared.
const COUNT: u32 = 0;
/// All of a turn fitted.
const ALL_FITTED: u32 = u32::MAX;

/// Of elements of a size, in packs of `N`.
#[inline(always)]
pub fn elements<S: Simt, T: Team, B: Size<N>, const N: usize>(s: &S, call: &Select) {
    let team = T::number(s);
    if s.branch(team >= call.rows * call.parts.by) {
        return;
    }
    let (row, part) = call.parts.divide(team);
    let input = Sized::<B>(Row::part::<N>(call, row, part), PhantomData);
    let is_bound = call.first > 0;
    let most = if s.branch(is_bound) { B::Of::load(s, call.at.last, row).below() } else { B::Of::ANY };
    let found = choose::<S, T, _, N>(s, call, &input, (most, is_bound));
    if s.branch(call.parts.by > 1) {
        let mut j = T::rank(s);
        while s.again(j < call.k) {
            let candidate = if s.branch(j < found.count) { found.get(s, j) } else { B::Of::NOTHING };
            B::Of::store(s, call.at.parts, team * call.k as u64 + j as u64, candidate);
            j += T::THREADS;
        }
    } else {
        found.write::<S, T>(s, call, row);
    }
}

/// Of what has been chosen from parts.
#[inline(always)]
pub fn parts<S: Simt, C: Candidate>(s: &S, call: &Select) {
    let row = s.block_x() as u64;
    let count = call.parts.by * call.k as u64;
    let input = Parts::<C> { address: call.at.parts + row * count * C::BYTES, count: count as u32, of: PhantomData };
    choose::<S, Block, _, 1>(s, call, &input, (C::ANY, false)).write::<S, Block>(s, call, row);
}

/// What has been chosen, in order.
struct Found<C: Candidate> {
    room: C::Room,
    /// The first of the team's.
    base: u32,
    /// How many, of which the first k count.
    count: u32,
}

impl<C: Candidate> Found<C> {
    #[inline(always)]
    fn get<S: Simt>(&self, s: &S, j: u32) -> C {
        C::get(s, self.room, self.base + j)
    }

    /// Writes the values and indices of a row.
    #[inline(always)]
    fn write<S: Simt, T: Team>(&self, s: &S, call: &Select, row: u64) {
        let (outer, beside) = call.inner.divide(row);
        let of = &call.elements;
        let mut j = T::rank(s);
        while s.again(j < call.k) {
            let candidate = self.get(s, j);
            let key = C::Key::of(candidate.key().bits() ^ call.flip);
            let index = candidate.index();
            let to = (outer * call.all as u64 + (call.first + j) as u64) * call.inner.by + beside;
            // A zero may have either sign.
            let value = if s.branch(key.is_zero(of)) {
                let [value] = read::<S, 1>(s, call.at.input + row * call.step, of.size, index as u64, 1, u64::MAX);
                value
            } else {
                key.element(of).bits()
            };
            write(s, call.at.values, of.size, to as usize, value);
            s.store(array::<i64>(call.at.places), to as usize, index as i64);
            if s.branch(call.again != 0 && j + 1 == call.k) {
                C::store(s, call.at.last, row, candidate);
            }
            j += T::THREADS;
        }
    }
}

/// The first k of what is not above a bound, if there is one.
#[inline(always)]
fn choose<S: Simt, T: Team, I: Input<N>, const N: usize>(
    s: &S,
    call: &Select,
    input: &I,
    most: (I::Of, bool),
) -> Found<I::Of> {
    let words = T::own_words(s);
    let team = Chooser::<I::Of> {
        words,
        room: T::room::<S, I::Of>(s),
        base: T::of_block(s) * T::ROOM,
        k: call.k,
        bits: 8 * call.elements.size,
    };
    let rank = T::rank(s);
    if s.branch(rank < COUNTERS) {
        s.put(words.of, words.counters + rank, if rank == COUNT { 0 } else { ALL_FITTED });
    }
    T::meet(s);
    // What is not above it is none of the first k.
    let mut least = I::Of::NOTHING;
    let (packs, mut from, mut turn) = (input.packs(), 0, 0);
    while s.again(from < packs) {
        let best = input.best(s, [from + rank, T::THREADS], most);
        if s.branch(from == 0 && packs * N as u32 > T::ROOM) {
            let marks = best.map(
                #[inline(always)]
                |(_, lower)| lower,
            );
            least = team.mark::<S, T>(s, marks);
        }
        let (mut wanted, mut j) = (0, 0);
        while j < PACKS {
            wanted |= (best[j].0.is_above(least) as u32) << j;
            j += 1;
        }
        loop {
            let refused = team.put::<S, T, I, N>(s, input, (from + rank, wanted), [least, most.0], turn);
            let next = if turn == 2 { 0 } else { turn + 1 };
            if s.branch(rank == 0) {
                s.put(words.of, words.counters + 1 + next, ALL_FITTED);
            }
            T::meet(s);
            let fitted = s.get(words.of, words.counters + 1 + turn);
            turn = next;
            if !s.branch(fitted != ALL_FITTED) {
                break;
            }
            // A quarter of what is not needed stays, so that few digits are looked at.
            least = team.keep::<S, T>(s, fitted, call.k + (T::ROOM - call.k) / 4);
            wanted = refused;
        }
        from += PACKS as u32 * T::THREADS;
    }
    let mut count = s.get(words.of, words.counters + COUNT);
    let few = call.k.next_power_of_two();
    if s.branch(count > 2 * few.max(OF_WARP / 2)) {
        T::meet(s);
        team.keep::<S, T>(s, count, few);
        count = s.get(words.of, words.counters + COUNT);
    }
    order::<S, T, I::Of>(s, team.room, team.base, count);
    Found { room: team.room, base: team.base, count }
}

/// A team's memory, and what it chooses.
struct Chooser<C: Candidate> {
    words: Words,
    room: C::Room,
    /// Its first candidate.
    base: u32,
    k: u32,
    /// Bits of a key.
    bits: u32,
}

impl<C: Candidate> Chooser<C> {
    /// A candidate below the k-th of the marks of all threads. Each mark stands for an element that is not below it,
    /// and for which no other one stands.
    #[inline(always)]
    fn mark<S: Simt, T: Team>(&self, s: &S, marks: [C; PACKS]) -> C {
        let limit = self.k + self.k / 4 + T::THREADS / 32;
        // Four for each of the first k are enough to keep nearly all out.
        let floor = if s.branch(4 * self.k <= T::THREADS) {
            let mut greatest = marks[0];
            for other in &marks[1..] {
                greatest = if other.is_above(greatest) { *other } else { greatest };
            }
            narrow::<S, T, C, 1>(s, self.words, &[greatest], [self.k, limit], self.bits).floor
        } else {
            narrow::<S, T, C, PACKS>(s, self.words, &marks, [self.k, limit], self.bits).floor
        };
        floor.below()
    }

    /// Keeps at most `limit` of the first `count` candidates that have been put down, with the first k among them. What
    /// is not above the result is none of the first k. The team has met before, and has met after.
    #[inline(always)]
    fn keep<S: Simt, T: Team>(&self, s: &S, count: u32, limit: u32) -> C {
        let own: [C; OWN] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                let at = i as u32 * T::THREADS + T::rank(s);
                if s.branch(at < count) { C::get(s, self.room, self.base + at) } else { C::NOTHING }
            },
        );
        let counter = self.words.counters + COUNT;
        if s.branch(T::rank(s) == 0) {
            s.put(self.words.of, counter, 0);
        }
        let Narrowed { kept, floor } = narrow::<S, T, C, OWN>(s, self.words, &own, [self.k, limit], self.bits);
        let mut at = self.base + s.atomic_add_shared(self.words.of, counter, kept.count_ones(), Order::Relaxed);
        let mut i = 0;
        while i < OWN {
            if s.branch(kept >> i & 1 != 0) {
                C::put(s, self.room, at, own[i]);
                at += 1;
            }
            i += 1;
        }
        T::meet(s);
        floor.below()
    }

    /// Puts down what is above `least` and not above `most` in the packs from `first` on, of which a bit says that it
    /// is wanted. The bits of those that did not fit.
    #[inline(always)]
    fn put<S: Simt, T: Team, I: Input<N, Of = C>, const N: usize>(
        &self,
        s: &S,
        input: &I,
        (first, wanted): (u32, u32),
        [least, most]: [C; 2],
        turn: u32,
    ) -> u32 {
        let Words { of: words, counters, .. } = self.words;
        let (mut left, mut refused) = (wanted, 0);
        while s.again(left != 0) {
            let some = input.candidates(s, first + left.trailing_zeros() * T::THREADS);
            let (mut passes, mut i) = (0, 0);
            while i < N {
                passes |= ((some[i].is_above(least) && !some[i].is_above(most)) as u32) << i;
                i += 1;
            }
            if s.branch(passes != 0) {
                let count = passes.count_ones();
                let mut at = s.atomic_add_shared(words, counters + COUNT, count, Order::Relaxed);
                if s.branch(at + count <= T::ROOM) {
                    let mut i = 0;
                    while i < N {
                        if s.branch(passes >> i & 1 != 0) {
                            C::put(s, self.room, self.base + at, some[i]);
                            at += 1;
                        }
                        i += 1;
                    }
                } else {
                    refused |= left & left.wrapping_neg();
                    // What comes later does not fit either: there is one such place.
                    if s.branch(at <= T::ROOM) {
                        s.put(words, counters + 1 + turn, at);
                    }
                }
            }
            left &= left - 1;
        }
        refused
    }
}
