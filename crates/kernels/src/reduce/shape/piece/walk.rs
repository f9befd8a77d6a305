//! How a lane walks along a stretch of a few packs of one output, which it gets one after the other.
//!
//! Idea: nodes of whole packs meet as a binary counter (`counter.rs`); what is left at the end is a part. One copy of
//! the code for a pack serves all of them.

use crate::node::{Node, select};
use crate::reduce::fold::{Heap, Parts, Tree, Twins};
use crate::reduce::shape::piece::counter::{evenly, node, part};
use crate::reduce::shape::piece::few::{self, FEW};
use crate::reduce::shape::piece::free::filled;
use crate::reduce::shape::piece::read::below;
use crate::reduce::shape::piece::stretch::{Stretch, Team};
use crate::reduce::shape::piece::{Free, Held, Ordered, Piece};
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::warp::{Combine, Join, MeetBrief, MeetNear};
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_simt::{ALL, Simt};

/// The part of a stretch.
pub trait Walk: Piece {
    /// An element in memory.
    type Bits: Bits;
    /// Packs as the walk that is returned takes them, and whether all of their elements are ordinary.
    #[inline(always)]
    fn ready<S: Simt>(&self, _s: &S, packs: [[u32; 4]; STEPS]) -> (Self, [[u32; 4]; STEPS], bool) {
        (*self, packs, true)
    }
    /// The part of the stretches of all lanes that share an output, in the lane with the first; `read` returns a lane's
    /// packs, and is told of whole ones. What a pack has beyond the stretch may be anything.
    fn walk<S: Simt>(
        &self,
        s: &S,
        stretch: Stretch,
        ordinary: bool,
        read: impl Fn(u32, bool) -> [u32; 4],
    ) -> <Self::Fold as Parts>::Part;
    /// Whether there is [`Walk::lines`].
    const FREE: bool = false;
    /// The part of an output whose `bytes` bytes, at least 32, begin `shift` bytes after a line does, in any order.
    /// Lanes that share it take its lines in turn. `read` returns the 16 bytes that begin so many bytes after line `q`.
    #[inline(always)]
    fn lines<S: Simt>(
        &self,
        _s: &S,
        _bytes: [u32; 2],
        _team: Team,
        _read: impl Fn(u32, u32) -> [u32; 4],
    ) -> <Self::Fold as Parts>::Part {
        self.fold().nothing()
    }
    /// Whether there is [`Walk::twins`].
    const TWINS: bool = false;
    /// As [`Walk::walk`], of two outputs side by side: of the halves of words, which are a pack's elements.
    #[inline(always)]
    fn twins<S: Simt>(
        &self,
        _s: &S,
        _stretch: Stretch,
        _read: impl Fn(u32, bool) -> [u32; 4],
    ) -> [<Self::Fold as Parts>::Part; 2] {
        [self.fold().nothing(); 2]
    }
    /// See [`Tree::TURNS`]; heaps would need registers for it, too.
    const TURNS: bool = false;
    /// Whether there is [`Walk::few`].
    const HAS_FEW: bool = true;
    /// The part of an output of `len` elements, from 2 to [`FEW`]; those that follow may be anything.
    #[inline(always)]
    fn few<S: Simt>(
        &self,
        _s: &S,
        _elements: &[Self::Bits; FEW as usize],
        _len: u32,
        _ordinary: bool,
    ) -> <Self::Fold as Parts>::Part {
        self.fold().nothing()
    }
    /// The part of one element, if an output has no more.
    fn alone<S: Simt>(&self, s: &S, bits: Self::Bits) -> <Self::Fold as Parts>::Part;
}

/// What the lanes of a team have meets; the first gets it. Where a lane has no neighbour, what it has is the whole.
#[inline(always)]
pub(in crate::reduce::shape) fn upwards<S: Simt, C: Combine>(s: &S, c: C, mut node: C::Node, team: Team) -> C::Node {
    let mut by = 1;
    while s.again(by < team.lanes) {
        let got = node.map(|_, word| s.shuffle_idx(ALL, word, s.lane() + by * team.apart));
        node = select(team.own + by < team.lanes, c.combine(node, got, 1), node);
        by *= 2;
    }
    node
}

/// The same of parts in any order.
#[inline(always)]
fn brief<S: Simt, F: Heap>(s: &S, f: &F, part: F::Part, team: Team) -> F::Part {
    if s.branch(team.lanes > 1) { f.part_of(upwards(s, MeetBrief(f), f.brief(part), team)) } else { part }
}

impl<F: Tree> Walk for Ordered<F> {
    type Bits = F::Bits;
    const TURNS: bool = F::TURNS;
    const TWINS: bool = F::TWINS;

    #[inline(always)]
    fn twins<S: Simt>(&self, s: &S, stretch: Stretch, read: impl Fn(u32, bool) -> [u32; 4]) -> [F::Part; 2] {
        Ordered::<_>(Twins(self.0), PhantomData).walk(s, stretch, true, read)
    }

    #[inline(always)]
    fn ready<S: Simt>(&self, s: &S, packs: [[u32; 4]; STEPS]) -> (Self, [[u32; 4]; STEPS], bool) {
        let (f, packs) = self.0.whole(s, packs);
        (Self(f, self.1), packs, !F::HAS_PLAIN || self.0.are_ordinary(s, &packs))
    }

    #[inline(always)]
    fn walk<S: Simt>(&self, s: &S, stretch: Stretch, ordinary: bool, read: impl Fn(u32, bool) -> [u32; 4]) -> F::Part {
        let (f, team) = (&self.0, stretch.team);
        if !F::NEUTRAL {
            return upwards(s, MeetNear(f), part(s, f, stretch, read), team);
        }
        // Filled up, stretches are whole subtrees.
        if F::HAS_PLAIN && s.branch(ordinary) {
            let plain = f.plain();
            let found = f.raise(upwards(s, Join(&plain), evenly(s, &plain, stretch, &read), team));
            // Nothing has no scale, and the plain tree's node has one.
            return select(stretch.count > 0, f.part(found, stretch.count), f.nothing());
        }
        f.part(upwards(s, Join(f), node(s, f, stretch, read), team), stretch.count)
    }

    #[inline(always)]
    fn few<S: Simt>(&self, s: &S, e: &[F::Bits; FEW as usize], len: u32, ordinary: bool) -> F::Part {
        let f = &self.0;
        if !F::NEUTRAL {
            return few::over(s, f, e, len, |node, count| f.part(node, count), |left, right, _| f.meet(left, right));
        }
        if F::HAS_PLAIN && s.branch(ordinary) {
            let plain = f.plain();
            let join = |left, right, each| plain.join(left, right, each);
            return f.part(f.raise(few::over(s, &plain, e, len, |node, _| node, join)), len);
        }
        f.part(few::over(s, f, e, len, |node, _| node, |left, right, each| f.join(left, right, each)), len)
    }

    #[inline(always)]
    fn alone<S: Simt>(&self, s: &S, bits: F::Bits) -> F::Part {
        self.0.part(self.0.lift(s, bits), 1)
    }
}

impl<F: Heap> Walk for Free<F> {
    type Bits = F::Bits;
    const FREE: bool = true;

    #[inline(always)]
    fn walk<S: Simt>(&self, s: &S, stretch: Stretch, _ordinary: bool, read: impl Fn(u32, bool) -> [u32; 4]) -> F::Part {
        let (f, per) = (&self.0, F::Bits::PER);
        let (whole, left) = (stretch.count / per, stretch.count % per);
        let mut acc = f.start();
        let mut k = 0;
        while s.again(k + 2 <= stretch.packs) {
            if s.branch(k + 2 <= whole) {
                let w = [read(k, true), read(k + 1, true)];
                acc = f.pack(s, f.pack(s, acc, &w[0], k), &w[1], k + 1);
            }
            k += 2;
        }
        if s.branch(whole & 1 == 1) {
            acc = f.pack(s, acc, &read(whole - 1, true), whole - 1);
        }
        if s.branch(left > 0) {
            let last = read(whole, false);
            let last = filled::<F>(&last, F::Bits::nth(&last, 0), |i| below(left * F::Bits::SIZE, i));
            acc = f.pack(s, acc, &last, whole);
        }
        let mut part = f.nothing();
        if s.branch(stretch.count > 0) {
            part = f.part(acc);
            if let Some(k) = f.place(part) {
                let at = f.locate(&read(k, false), part);
                part = f.placed(part, (stretch.first + k * per + at) as u64);
            }
        }
        brief(s, f, part, stretch.team)
    }

    #[inline(always)]
    fn lines<S: Simt>(
        &self,
        s: &S,
        [shift, bytes]: [u32; 2],
        team: Team,
        read: impl Fn(u32, u32) -> [u32; 4],
    ) -> F::Part {
        let (f, per, end) = (&self.0, F::Bits::PER, shift + bytes);
        let (mut acc, mut q) = (f.start(), team.own);
        while s.again(16 * q < end) {
            let mut w = read(q, 0);
            if s.branch(q == 0 && shift > 0) {
                w = filled::<F>(&w, F::Bits::nth(&w, per as usize - 1), |i| !below(shift, i));
            }
            if s.branch(end - 16 * q < 16) {
                w = filled::<F>(&w, F::Bits::nth(&w, 0), |i| below(end - 16 * q, i));
            }
            acc = f.pack(s, acc, &w, q);
            q += team.lanes;
        }
        let mut part = f.nothing();
        if s.branch(16 * team.own < end) {
            part = f.part(acc);
            if let Some(q) = f.place(part) {
                // Of the first line, what precedes the output is no match.
                let after = if q == 0 { shift } else { 0 };
                let at = 16 * q + after - shift;
                part = f.placed(part, (at / F::Bits::SIZE + f.locate(&read(q, after), part)) as u64);
            }
        }
        brief(s, f, part, team)
    }

    #[inline(always)]
    fn few<S: Simt>(&self, s: &S, e: &[F::Bits; FEW as usize], len: u32, _ordinary: bool) -> F::Part {
        let f = &self.0;
        let mut acc = f.one(s, f.one(s, f.start(), e[0], 0), e[1], 1);
        let mut k = 2;
        while k < FEW as usize {
            if s.branch((k as u32) < len) {
                acc = f.one(s, acc, e[k], k as u32);
            }
            k += 1;
        }
        let part = f.part(acc);
        if let Some(k) = f.place(part) { f.placed(part, k as u64) } else { part }
    }

    #[inline(always)]
    fn alone<S: Simt>(&self, s: &S, bits: F::Bits) -> F::Part {
        Held::single(self, s, bits)
    }
}
