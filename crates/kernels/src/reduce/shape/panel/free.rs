//! Rows in any order, an element at a time.

use crate::reduce::fold::Heap;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::panel::read::{load, load_first, load_up_to};
use crate::reduce::shape::panel::tile::Tile;
use crate::reduce::shape::panel::{Lines, Panel, Pitch, Shallow, Strip, abreast, meet_abreast};
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::stack::Own;
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_simt::Simt;

/// Rows in any order, which follow one another as `L` says.
#[derive(Clone, Copy)]
pub struct Free<F, L = Pitch>(F, PhantomData<L>);

impl<F: Heap, L: Lines, const C: usize> Panel<C> for Free<F, L> {
    type Fold = F;
    type Reduced = L;
    const UNITS: bool = !L::SEVERAL;
    const WRITES: Option<u32> = if !L::SEVERAL && F::NARROW && F::Bits::SIZE <= 2 { Some(F::Bits::SIZE) } else { None };

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe), PhantomData)
    }

    #[inline(always)]
    fn fold(&self) -> &F {
        &self.0
    }

    #[inline(always)]
    fn at_once(reduced: &L, address: u64) -> bool {
        reduced.aligned() && address.is_multiple_of(C as u64 * F::Bits::SIZE as u64)
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, strip: &Strip<L>, _own: Own, first: u64, tiles: u32) -> [F::Part; C] {
        let f = &self.0;
        let (mine, abreast) = abreast(s, first, strip.lanes);
        let each = STEPS as u32 * abreast;
        let mut acc = [f.start(); C];
        let mut t = 0;
        while s.again(t < tiles && first + ((t * each) as u64) < strip.rows) {
            let row = mine + (t * each) as u64;
            if s.branch(first + ((t + 1) * each) as u64 <= strip.rows) {
                let bits: [[F::Bits; C]; STEPS] = load(s, strip, Tile { row, step: abreast }, false);
                let mut k = 0;
                while k < STEPS {
                    let place = row as u32 + k as u32 * abreast;
                    acc = warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |j| f.one(s, acc[j], bits[k][j], place),
                    );
                    k += 1;
                }
            } else {
                let bits: [[F::Bits; C]; STEPS] = load_first(s, strip, Tile { row, step: abreast }, false);
                let mut k = 0;
                while k < STEPS {
                    let row = row + (k as u32 * abreast) as u64;
                    if s.branch(row < strip.rows) {
                        acc = warpfold_simt::array::from_fn(
                            #[inline(always)]
                            |j| f.one(s, acc[j], bits[k][j], row as u32),
                        );
                    }
                    k += 1;
                }
            }
            t += 1;
        }
        let parts = warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| f.part(acc[j]),
        );
        meet_abreast(s, f, parts, strip.lanes)
    }
}

impl<F: Heap, const C: usize> Shallow<C> for Free<F> {
    const SIZE: u32 = F::Bits::SIZE;

    #[inline(always)]
    fn shallow<S: Simt>(&self, s: &S, strip: &Strip<Pitch>) -> [F::Part; C] {
        if s.branch(strip.rows == 1) {
            return self.up_to::<S, C, 1>(s, strip);
        }
        if s.branch(strip.rows == 2) {
            return self.up_to::<S, C, 2>(s, strip);
        }
        if s.branch(strip.rows <= 4) {
            return self.up_to::<S, C, 4>(s, strip);
        }
        let f = &self.0;
        let mut acc = [f.start(); C];
        let bits: [[F::Bits; C]; STEPS] = load_first(s, strip, Tile { row: 0, step: 1 }, false);
        let mut k = 0;
        while k < STEPS {
            if s.branch((k as u64) < strip.rows) {
                acc = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |j| f.one(s, acc[j], bits[k][j], k as u32),
                );
            }
            k += 1;
        }
        acc.map(
            #[inline(always)]
            |acc| f.part(acc),
        )
    }
}

impl<F: Heap> Free<F> {
    /// The parts of more than half of `N` rows, and at most all.
    #[inline(always)]
    fn up_to<S: Simt, const C: usize, const N: usize>(&self, s: &S, strip: &Strip<Pitch>) -> [F::Part; C] {
        let f = &self.0;
        let rows = strip.rows as u32;
        let bits: [[F::Bits; C]; N] = load_up_to(s, strip, rows);
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                let (mut acc, mut k) = (f.start(), 0);
                while k < N {
                    let with = f.one(s, acc, bits[k][j], k as u32);
                    // What is there already changes no extremum.
                    acc = if F::REPEATS || k <= N / 2 || (k as u32) < rows { with } else { acc };
                    k += 1;
                }
                f.part(acc)
            },
        )
    }
}
