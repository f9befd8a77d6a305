//! What is chosen from: packs of 16 bytes.

use core::marker::PhantomData;

use super::Select;
use super::candidate::{Candidate, Wide};
use crate::address::array;
use crate::sort::key::{Elements, Key, kind};
use warpfold_simt::{Pack, Simt};

/// Packs of a thread in a step.
pub const PACKS: usize = 4;

/// A list of candidates, in packs of `N`.
pub trait Input<const N: usize> {
    /// What they are.
    type Of: Candidate;

    /// Packs, of which the first and the last may have fewer.
    fn packs(&self) -> u32;
    /// Of the packs `first`, `first + apart` and so on, [`PACKS`] in all, a candidate that is not below any of the
    /// pack, and one that is not above its greatest; without those that are above `most`, if there is such a bound.
    /// Beyond the last pack is nothing.
    fn best<S: Simt>(&self, s: &S, at: [u32; 2], most: (Self::Of, bool)) -> [(Self::Of, Self::Of); PACKS];
    /// The candidates of a pack; nothing where it has none.
    fn candidates<S: Simt>(&self, s: &S, pack: u32) -> [Self::Of; N];
}

/// Elements of so many bytes, in packs of `N`.
pub trait Size<const N: usize> {
    /// Their candidates.
    type Of: Candidate;
    /// The elements of a pack.
    fn unpack(words: [u32; 4]) -> [<Self::Of as Candidate>::Key; N];
    /// Element number `at` from an address.
    fn element<S: Simt>(s: &S, address: u64, at: u64) -> <Self::Of as Candidate>::Key;
}

macro_rules! size {
    ($($name:ident of $t:ty, $n:literal: $of:ty, $unpack:expr;)*) => {$(
        #[doc = concat!("Elements as `", stringify!($t), "`.")]
        pub enum $name {}
        impl Size<$n> for $name {
            type Of = $of;
            #[inline(always)]
            fn unpack(words: [u32; 4]) -> [<$of as Candidate>::Key; $n] {
                warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |i| $unpack(words, i),
                )
            }
            #[inline(always)]
            fn element<S: Simt>(s: &S, address: u64, at: u64) -> <$of as Candidate>::Key {
                s.load(array::<$t>(address), at as usize).into()
            }
        }
    )*};
}
size! {
    One of u8, 16: u64, |words: [u32; 4], i: usize| words[i / 4] >> (8 * (i % 4)) & 0xff;
    Two of u16, 8: u64, |words: [u32; 4], i: usize| words[i / 2] >> (16 * (i % 2)) & 0xffff;
    Four of u32, 4: u64, |words: [u32; 4], i: usize| words[i];
    Eight of u64, 2: Wide, |words: [u32; 4], i: usize| (words[2 * i + 1] as u64) << 32 | words[2 * i] as u64;
}

/// Elements side by side, of a row or a part of it.
pub struct Row<'a> {
    of: &'a Elements,
    flip: u64,
    /// Of the pack with the first.
    address: u64,
    /// Places of that pack before the first.
    head: u32,
    /// Places up to the end, with those.
    end: u32,
    /// The index of the first place.
    index: u32,
}

impl<'a> Row<'a> {
    /// A part of a row.
    #[inline(always)]
    pub fn part<const N: usize>(call: &'a Select, row: u64, part: u64) -> Self {
        let from = part * call.part;
        let first = call.at.input + row * call.step + from * (16 / N as u64);
        let head = (first as u32 & 15) / (16 / N as u32);
        let len = (call.len - from).min(call.part) as u32;
        let index = (from as u32).wrapping_sub(head);
        Row { of: &call.elements, flip: call.flip, address: first & !15, head, end: head + len, index }
    }

    #[inline(always)]
    fn key<K: Key>(&self, raw: K, of: &Elements) -> K {
        K::of(raw.ranked(of).bits() ^ self.flip)
    }

    /// Whether a pack has all of its places.
    #[inline(always)]
    fn is_whole<const N: usize>(&self, pack: u32) -> bool {
        (pack > 0 || self.head == 0) && (pack + 1) * N as u32 <= self.end
    }

    /// As [`Input::best`], of elements of a kind.
    #[inline(always)]
    fn best_of<S: Simt, B: Size<N>, const N: usize>(
        &self,
        s: &S,
        [first, apart]: [u32; 2],
        (most, is_bound): (B::Of, bool),
        of: &Elements,
    ) -> [(B::Of, B::Of); PACKS] {
        // All of these are read before any is used.
        let words: [[u32; 4]; PACKS] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                let pack = first + j as u32 * apart;
                if s.branch(self.is_whole::<N>(pack)) {
                    s.load_stream(array::<Pack<u32, 4>>(self.address), pack as usize).0
                } else {
                    [0; 4]
                }
            },
        );
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                let pack = first + j as u32 * apart;
                let (raw, mut i) = (B::unpack(words[j]), 0);
                let mut best = <B::Of as Candidate>::Key::of(0);
                while i < N {
                    let key = self.key(raw[i], of);
                    best = best.max(if key > most.key() { Key::of(0) } else { key });
                    i += 1;
                }
                let index = self.index.wrapping_add(pack * N as u32);
                let (upper, lower) = (B::Of::new(best, index), B::Of::new(best, index.wrapping_add(N as u32 - 1)));
                let is_whole = self.is_whole::<N>(pack);
                // Which of those that are equal to `most` are left is not known here, nor whether there is any, if the
                // best is the least key of all.
                let is_left = !is_bound || best != most.key() && best != Key::of(0);
                let is_known = is_whole && is_left;
                // Of a pack that is not whole, each is looked at.
                let rest = if pack * (N as u32) < self.end { B::Of::ANY } else { B::Of::NOTHING };
                (if is_whole { upper } else { rest }, if is_known { lower } else { B::Of::NOTHING })
            },
        )
    }

    /// The candidates of a pack, an element at a time.
    #[inline(always)]
    fn some<S: Simt, B: Size<N>, const N: usize>(&self, s: &S, pack: u32) -> [B::Of; N] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                let at = pack * N as u32 + i as u32;
                if s.branch(at >= self.head && at < self.end) {
                    let raw = B::element(s, self.address, at as u64);
                    B::Of::new(self.key(raw, self.of), self.index.wrapping_add(at))
                } else {
                    B::Of::NOTHING
                }
            },
        )
    }
}

/// A row of elements of a size.
pub struct Sized<'a, B>(pub Row<'a>, pub PhantomData<B>);

impl<B: Size<N>, const N: usize> Input<N> for Sized<'_, B> {
    type Of = B::Of;

    #[inline(always)]
    #[allow(clippy::manual_div_ceil)] // That has a comparison more.
    fn packs(&self) -> u32 {
        (self.0.end + N as u32 - 1) / N as u32
    }

    #[inline(always)]
    fn best<S: Simt>(&self, s: &S, at: [u32; 2], most: (B::Of, bool)) -> [(B::Of, B::Of); PACKS] {
        let row = &self.0;
        // Code for each kind, which has no choices in it.
        if s.branch(row.of.kind == kind::FLOAT) {
            row.best_of::<S, B, N>(s, at, most, &Elements { kind: kind::FLOAT, ..*row.of })
        } else if s.branch(row.of.kind == kind::SIGNED) {
            row.best_of::<S, B, N>(s, at, most, &Elements { kind: kind::SIGNED, ..*row.of })
        } else if s.branch(row.of.kind == kind::UNSIGNED) {
            row.best_of::<S, B, N>(s, at, most, &Elements { kind: kind::UNSIGNED, ..*row.of })
        } else {
            row.best_of::<S, B, N>(s, at, most, &Elements { kind: kind::TRUTH, ..*row.of })
        }
    }

    #[inline(always)]
    fn candidates<S: Simt>(&self, s: &S, pack: u32) -> [B::Of; N] {
        let row = &self.0;
        if s.branch(row.is_whole::<N>(pack)) {
            let raw = B::unpack(s.load(array::<Pack<u32, 4>>(row.address), pack as usize).0);
            let index = row.index.wrapping_add(pack * N as u32);
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| B::Of::new(row.key(raw[i], row.of), index + i as u32),
            );
        }
        row.some::<S, B, N>(s, pack)
    }
}

/// What has been chosen from the parts of a row: candidates in global memory, each a pack.
pub struct Parts<C> {
    /// Of the first.
    pub address: u64,
    /// How many.
    pub count: u32,
    /// Of what kind.
    pub of: PhantomData<C>,
}

impl<C: Candidate> Input<1> for Parts<C> {
    type Of = C;

    #[inline(always)]
    fn packs(&self) -> u32 {
        self.count
    }

    #[inline(always)]
    fn best<S: Simt>(&self, s: &S, [first, apart]: [u32; 2], _: (C, bool)) -> [(C, C); PACKS] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                let at = first + j as u32 * apart;
                let found = if s.branch(at < self.count) { self.candidates(s, at)[0] } else { C::NOTHING };
                (found, found)
            },
        )
    }

    #[inline(always)]
    fn candidates<S: Simt>(&self, s: &S, pack: u32) -> [C; 1] {
        [C::load(s, self.address, pack as u64)]
    }
}
