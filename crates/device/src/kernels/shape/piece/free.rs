//! Elements in any order.

use super::read::Tile;
use super::{Dense, Packs, Piece, Row, Short, Split};
use crate::kernels::fold::Heap;
use crate::kernels::recipe::{Recipe, array};
use crate::kernels::shape::warp::{self, STEPS};
use crate::kernels::source::{Bits, words};
use crate::simt::{Global, Simt};

/// Elements in any order.
#[derive(Clone, Copy)]
pub struct Free<F>(F);

impl<F: Heap> Piece for Free<F> {
    type Fold = F;
    type Reduced = Dense;
    const PER: u32 = F::Bits::PER;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe))
    }

    #[inline(always)]
    fn fold(&self) -> &F {
        &self.0
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, row: &Row<Dense>, tile: u32, tiles: u32) -> F::Part {
        let (f, per, lane) = (&self.0, F::Bits::PER, s.lane());
        let full = 256 * per;
        let mut acc = f.start();
        let mut t = 0;
        while s.again(t < tiles && (tile + t) as u64 * (full as u64) < row.len) {
            let here = Tile::of::<F::Bits>(row, tile + t);
            let w = here.read::<S, F::Bits>(s);
            let p = (tile + t) * 256 + lane;
            if s.branch(here.valid == full) {
                let mut k = 0;
                while k < STEPS {
                    acc = f.pack(s, acc, &w[k], p + 32 * k as u32);
                    k += 1;
                }
            } else {
                let whole = here.whole::<F::Bits>();
                let mut k = 0;
                while k < STEPS {
                    if s.branch(k as u32 * 32 + lane < whole) {
                        acc = f.pack(s, acc, &w[k], p + 32 * k as u32);
                    }
                    k += 1;
                }
                // The pack that the row ends in is the last of its lane, so that a lane meets its packs in their order.
                if s.branch(lane == whole & 31) {
                    let at: Global<F::Bits> = array(here.at(whole));
                    let (mut e, left) = (0, here.valid - whole * per);
                    while s.again(e < left) {
                        acc = f.one(s, acc, s.load(at, e as usize), (tile + t) * 256 + whole);
                        e += 1;
                    }
                }
            }
            t += 1;
        }
        warp::meet_lanes(s, f, f.part(acc), 32)
    }

    #[inline(always)]
    fn settle<S: Simt>(&self, s: &S, row: &Row<Dense>, part: F::Part) -> F::Part {
        let Some(p) = self.0.place(part) else { return part };
        let per = F::Bits::PER as u64;
        let (at, first) = (row.pack(p as u64), p as u64 * per);
        if s.branch(at & 15 == 0 && first + per <= row.len) {
            return self.0.placed(part, first + self.0.locate(&words(s, array(at), 16), part) as u64);
        }
        let at: Global<F::Bits> = array(at);
        let mut e = 0;
        while s.again(first + e + 1 < row.len && e + 1 < per && !self.0.found(s.load(at, e as usize), part)) {
            e += 1;
        }
        self.0.placed(part, first + e)
    }
}

impl<F: Heap> Short for Free<F> {
    #[inline(always)]
    fn short<S: Simt>(&self, s: &S, packs: &Packs, split: Split) -> [F::Part; STEPS] {
        let (f, per) = (&self.0, F::Bits::PER);
        let Packs { at, valid, .. } = *packs;
        let parts: [F::Part; STEPS] = if s.branch(packs.packed(per)) {
            let w: [[u32; 4]; STEPS] = core::array::from_fn(
                #[inline(always)]
                |k| words(s, array(at[k]), 16),
            );
            core::array::from_fn(
                #[inline(always)]
                |k| {
                    let p = split.pack(s, k as u32);
                    let part = f.part(f.pack(s, f.start(), &w[k], p));
                    match f.place(part) {
                        Some(_) => f.placed(part, (p * per + f.locate(&w[k], part)) as u64),
                        None => part,
                    }
                },
            )
        } else {
            // One element of each step at a time.
            let mut acc = [f.start(); STEPS];
            let (mut e, per) = (0, s.opaque(per));
            while s.again(e < per) {
                let bits: [F::Bits; STEPS] = core::array::from_fn(
                    #[inline(always)]
                    |k| if e < valid[k] { s.load(array(at[k]), e as usize) } else { F::Bits::ZERO },
                );
                let mut k = 0;
                while k < STEPS {
                    if s.branch(e < valid[k]) {
                        acc[k] = f.one(s, acc[k], bits[k], split.pack(s, k as u32) * per + e);
                    }
                    k += 1;
                }
                e += 1;
            }
            core::array::from_fn(
                #[inline(always)]
                |k| f.part(acc[k]),
            )
        };
        warp::short(s, parts, warp::Meet(f), 1, split)
    }
}
