//! Elements in any order.

use crate::address::array;
use crate::node::select;
use crate::reduce::fold::Heap;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::piece::read::{Tile, below};
use crate::reduce::shape::piece::{Dense, Gather, Held, Piece, Row};
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::warp;
use crate::source::{Bits, words};
use core::marker::PhantomData;
use warpfold_simt::{Pod, Simt};

/// Elements in any order, which follow one another as `Q` says.
#[derive(Clone, Copy)]
pub struct Free<F, Q = Dense>(pub(super) F, PhantomData<Q>);

impl<F: Heap, Q: Gather> Piece for Free<F, Q> {
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
        let f = &self.0;
        let full = 256 * F::Bits::PER;
        let mut acc = f.start();
        let mut t = 0;
        while s.again(t < tiles && (tile + t) as u64 * (full as u64) < row.len) {
            let here = if Q::SEVERAL {
                Tile::of::<F::Bits, Q>(row, tile + t)
            } else {
                Tile::lined::<F::Bits, Q>(row, tile + t)
            };
            let place = (tile + t) * 256;
            if s.branch(here.is_even::<F::Bits>()) {
                let w = here.even(s);
                if F::TOGETHER {
                    acc = f.packs(s, acc, &w);
                }
                let mut k = 0;
                while !F::TOGETHER && k < STEPS {
                    acc = f.pack(s, acc, &w[k], place + s.lane() + 32 * k as u32);
                    k += 1;
                }
            } else if Q::SEVERAL {
                acc = self.torn(s, acc, &here, row, place);
            } else {
                acc = self.uneven(s, acc, &here, place);
            }
            t += 1;
        }
        warp::meet_lanes(s, f, f.part(acc), 32)
    }

    #[inline(always)]
    fn settle<S: Simt>(&self, s: &S, row: &Row<Q>, part: F::Part) -> F::Part {
        let Some(p) = self.0.place(part) else { return part };
        let (p, per) = (p as u64, F::Bits::PER as u64);
        let shift = row.x & 15;
        // The line, if runs do not differ in where they start, and if it has nothing of what comes before.
        let line = row.find::<F::Bits>(p * per).0 - shift;
        if s.branch(Q::in_lines(row) && (p > 0 || shift == 0) && line + 16 <= row.end()) {
            let first = p * per - shift / F::Bits::SIZE as u64;
            return self.0.placed(part, first + self.0.locate(&words(s, array(line), 16), part) as u64);
        }
        let mut i = (p * per).saturating_sub(per - 1);
        while s.again(
            i + 1 < row.len.min((p + 1) * per) && !self.0.found(s.load(array(row.find::<F::Bits>(i).0), 0), part),
        ) {
            i += 1;
        }
        self.0.placed(part, i)
    }
}

impl<F: Heap, Q: Gather> Free<F, Q> {
    /// Takes a tile that may be in several runs.
    #[inline(always)]
    fn torn<S: Simt>(&self, s: &S, mut acc: F::Acc, here: &Tile, row: &Row<Q>, place: u32) -> F::Acc {
        let (f, lane, per) = (&self.0, s.lane(), F::Bits::PER);
        let w = Q::read::<S, F::Bits>(s, row, here);
        let whole = here.whole::<F::Bits>();
        let mut k = 0;
        while k < STEPS {
            let p = 32 * k as u32 + lane;
            if s.branch(p < whole) {
                acc = f.pack(s, acc, &w[k], place + p);
            }
            k += 1;
        }
        let left = here.valid - whole * per;
        if s.branch(left > 0 && lane == whole & 31) {
            let last = warp::picked(w, whole >> 5);
            let like = F::Bits::nth(&last, 0);
            let last = filled::<F>(&last, like, |i| below(left * F::Bits::SIZE, i));
            acc = f.pack(s, acc, &last, place + whole);
        }
        acc
    }

    /// Takes a tile that does not begin and end with a line: its lines as they are, but for the first and the last.
    /// Line `q` has place `place + q`, so that the place of an element, counted in lines, is that of the pack that it
    /// is in, or the next; the last may be the 257th.
    #[inline(always)]
    fn uneven<S: Simt>(&self, s: &S, mut acc: F::Acc, here: &Tile, place: u32) -> F::Acc {
        let (f, lane) = (&self.0, s.lane());
        let (w, last) = here.lines::<S, F::Bits>(s);
        let (whole, left) = here.ends::<F::Bits>();
        if s.branch(here.shift != 0 && whole > 0 && lane == 0) {
            let like = F::Bits::nth(&w[0], F::Bits::PER as usize - 1);
            let first = filled::<F>(&w[0], like, |i| !below(here.shift, i));
            acc = f.pack(s, acc, &first, place);
        }
        let from = (here.shift != 0) as u32;
        let mut k = 0;
        while k < STEPS {
            let q = 32 * k as u32 + lane;
            if s.branch(q >= from && q < whole) {
                acc = f.pack(s, acc, &w[k], place + q);
            }
            k += 1;
        }
        // A lane meets its lines in their order.
        if s.branch(left > 0 && lane == whole & 31) {
            let left = if whole == 0 { left - here.shift } else { left };
            let last = here.last::<S, F::Bits>(s, last, left / F::Bits::SIZE);
            let like = F::Bits::nth(&last, 0);
            acc = f.pack(s, acc, &filled::<F>(&last, like, |i| below(left, i)), place + whole);
        }
        acc
    }
}

/// Sixteen bytes with what changes nothing where `keep` of a word has no bits: zeros, or `like`, which is there
/// already.
#[inline(always)]
pub(super) fn filled<F: Heap>(w: &[u32; 4], like: F::Bits, keep: impl Fn(usize) -> u32) -> [u32; 4] {
    let bits = like.to_bits();
    let low = bits as u32;
    let fill = match (F::REPEATS, F::Bits::SIZE) {
        (false, _) => [0; 2],
        (_, 1) => [low * 0x0101_0101; 2],
        (_, 2) => [low * 0x1_0001; 2],
        (_, 4) => [low; 2],
        _ => [low, (bits >> 32) as u32],
    };
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| (w[i] & keep(i)) | (fill[i % 2] & !keep(i)),
    )
}

impl<F: Heap> Held for Free<F> {
    type Bits = F::Bits;
    const FREE: bool = true;

    #[inline(always)]
    fn blank(&self) -> F::Bits {
        self.0.blank().unwrap_or(F::Bits::ZERO)
    }

    #[inline(always)]
    fn single<S: Simt>(&self, s: &S, bits: F::Bits) -> F::Part {
        let part = self.0.part(self.0.one(s, self.0.start(), bits, 0));
        if self.0.place(part).is_some() { self.0.placed(part, 0) } else { part }
    }

    #[inline(always)]
    fn held<S: Simt>(&self, s: &S, w: &[[u32; 4]; 2], count: [u32; 2], before: u32, lanes: u32) -> F::Part {
        let (f, per, mut w) = (&self.0, F::Bits::PER, *w);
        if F::Bits::SIZE < 4 || s.branch(f.blank().is_none()) {
            let first = F::Bits::nth(&w[0], 0);
            w = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| {
                    let there = |i: usize| if (i as u32) < count[k] { u32::MAX } else { 0 };
                    let keep =
                        |i: usize| if F::Bits::SIZE == 4 { there(i) } else { below(count[k] * F::Bits::SIZE, i) };
                    filled::<F>(&w[k], first, keep)
                },
            );
        }
        let mut part = f.part(f.two(s, &w, count));
        if let Some(k) = f.place(part) {
            let at = f.locate(&select(k == 1, w[1], w[0]), part) + if k == 1 { per * lanes } else { 0 };
            part = f.placed(part, (before + at) as u64);
        }
        if F::REPEATS { select(count[0] > 0, part, f.nothing()) } else { part }
    }

    #[inline(always)]
    fn together<S: Simt>(&self, s: &S, part: F::Part, lanes: u32) -> F::Part {
        let f = &self.0;
        f.part_of(warp::across_lanes(s, warp::MeetBrief(f), f.brief(part), lanes))
    }
}
