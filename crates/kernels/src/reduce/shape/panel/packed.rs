//! Rows in any order, elements of 1 or 2 bytes: a 32-bit word of columns at a time.
//!
//! Idea: the fold takes the columns of a word together, in fewer instructions than one by one, and its running values
//! are as narrow as a lane's few rows allow. Bottleneck: memory; of arg ops, nearly the instructions.

use crate::reduce::fold;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::panel::read::{at_once, dealt, load_up_to, load_words, together};
use crate::reduce::shape::panel::shift::{can_shift, shifted};
use crate::reduce::shape::panel::tile::{FOUR, Tile};
use crate::reduce::shape::panel::{Lines, Panel, Pitch, Shallow, Strip, abreast, meet_abreast};
use crate::reduce::shape::piece::share;
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::stack::Own;
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_simt::Simt;

/// See the module. Rows follow one another as `L` says.
#[derive(Clone, Copy)]
pub struct Packed<F, L = Pitch>(F, PhantomData<L>);

/// What a lane has of its columns: a value for each word.
type Running<F, const WORDS: usize> = [<F as fold::Packed>::Columns; WORDS];

impl<F: fold::Packed, L: Lines> Packed<F, L> {
    /// Words of 16 bytes; a lane uses the first so many.
    const MOST: usize = 4;

    /// Words of a lane's columns.
    const fn words<const C: usize>() -> usize {
        C * F::Bits::SIZE as usize / 4
    }

    /// Takes rows, of which the first is the lane's row `number`.
    #[inline(always)]
    fn take<S: Simt, const C: usize, const N: usize>(
        &self,
        s: &S,
        mut running: Running<F, 4>,
        rows: [[u32; 4]; N],
        number: u32,
    ) -> Running<F, 4> {
        let mut k = 0;
        while k < N {
            let mut i = 0;
            while i < Self::words::<C>() {
                running[i] = self.0.row(s, running[i], rows[k][i], number + k as u32);
                i += 1;
            }
            k += 1;
        }
        running
    }

    /// Takes rows that are read in more than one piece, or not all there: four at a time.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "what a tile is, in words")]
    fn rest<S: Simt, const C: usize>(
        &self,
        s: &S,
        strip: &Strip<L>,
        mut running: Running<F, 4>,
        tile: Tile,
        [whole, after]: [u64; 2],
        number: u32,
        rows: u32,
    ) -> Running<F, 4> {
        let (mut k, rows) = (0, s.opaque(rows));
        while s.again(k < rows) {
            let four = load_words::<S, F::Bits, L, C>(s, strip, tile.later(k as usize), [whole, after], !F::REPEATS);
            running = self.take::<S, C, FOUR>(s, running, four, number + k);
            k += FOUR as u32;
        }
        running
    }

    /// The parts of so many rows; `place` says where a row of a column is.
    #[inline(always)]
    fn parts<const C: usize>(
        &self,
        running: Running<F, 4>,
        taken: u32,
        place: impl Fn(u32, usize) -> u64,
    ) -> [F::Part; C] {
        let per = 4 / F::Bits::SIZE as usize;
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| self.0.column(running[j / per], j % per, taken, |number| place(number, j)),
        )
    }
}

impl<F: fold::Packed, L: Lines, const C: usize> Panel<C> for Packed<F, L> {
    type Fold = F;
    type Reduced = L;
    const SEVERAL: bool = !L::SEVERAL;
    const UNITS: bool = !L::SEVERAL;
    const TOGETHER: bool = !L::SEVERAL;
    const WRITES: Option<u32> = if !L::SEVERAL && F::NARROW { Some(F::Bits::SIZE) } else { None };

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        const { assert!(Self::words::<C>() >= 1 && Self::words::<C>() <= Self::MOST) };
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
        // Rows that have all elements.
        let whole = strip.rows - (strip.reduced.tail() != 0 && strip.rows > 0) as u64;
        let mut running = [f.begin(); 4];
        let mut t = 0;
        while s.again(t < tiles && first + ((t * each) as u64) < strip.rows) {
            let after = first + ((t + 1) * each) as u64;
            let tile = Tile { row: mine + (t * each) as u64, step: abreast };
            let number = t * STEPS as u32;
            // Of 8 bytes, all words cost less than to have some from the next lane.
            let last = tile.later(STEPS - 1).row;
            let can_shift = Self::words::<C>() == 2 && !strip.at_once && can_shift::<F::Bits, L, C>(strip, last);
            if !L::SEVERAL && s.branch((strip.at_once || can_shift) && after <= whole) {
                let rows = if Self::words::<C>() != 2 || s.branch(strip.at_once) {
                    at_once::<S, F::Bits, L, C, STEPS>(s, strip, tile, STEPS as u32)
                } else {
                    shifted::<S, F::Bits, L, C, STEPS>(s, strip, tile, STEPS as u32)
                };
                running = self.take::<S, C, STEPS>(s, running, rows, number);
            } else {
                running = self.rest::<S, C>(s, strip, running, tile, [whole, after], number, STEPS as u32);
            }
            t += 1;
        }
        // Rows of the array that lie in one of these follow one another, as do their columns.
        let (apart, width) = (strip.reduced.each(), share(C as u32, strip.reduced.each() as u32));
        let parts = self.parts(running, t * STEPS as u32, |number, j| {
            (mine + (number * abreast) as u64) * apart + (j as u32 >> width.trailing_zeros()) as u64
        });
        let mut parts = meet_abreast(s, f, parts, strip.lanes);
        let mut half = C / 2;
        while half > 0 {
            if s.branch(width as usize <= half) {
                let mut j = 0;
                while j < half {
                    parts[j] = f.meet(parts[j], parts[j + half]);
                    j += 1;
                }
            }
            half /= 2;
        }
        parts
    }
}

impl<F: fold::Packed, const C: usize> Shallow<C> for Packed<F> {
    const SIZE: u32 = F::Bits::SIZE;

    #[inline(always)]
    fn shallow<S: Simt>(&self, s: &S, strip: &Strip<Pitch>) -> [F::Part; C] {
        let begin = [self.0.begin(); 4];
        let place = |number: u32, _: usize| number as u64;
        let tile = Tile { row: 0, step: 1 };
        if s.branch(strip.at_once && strip.rows == 1) {
            let row = at_once::<S, F::Bits, Pitch, C, 1>(s, strip, tile, 1);
            return self.parts(self.take::<S, C, 1>(s, begin, row, 0), 1, place);
        }
        let can_shift = || strip.spread == 1 && can_shift::<F::Bits, Pitch, C>(strip, strip.last());
        if s.branch(strip.rows == 2 && (strip.at_once || can_shift())) {
            let rows: [[F::Bits; C]; 2] = load_up_to(s, strip, 2);
            return self.parts(self.take::<S, C, 2>(s, begin, rows.map(together), 0), 2, place);
        }
        let taken = (strip.rows as u32).next_multiple_of(FOUR as u32);
        if s.branch(strip.at_once) {
            let (mut running, mut k) = (begin, 0);
            while s.again(k < taken) {
                let there = strip.rows as u32 - k;
                let mut rows = at_once::<S, F::Bits, Pitch, C, FOUR>(s, strip, tile.later(k as usize), there);
                if !F::REPEATS {
                    rows = warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |i| if (i as u32) < there { rows[i] } else { [0; 4] },
                    );
                }
                running = self.take::<S, C, FOUR>(s, running, rows, k);
                k += FOUR as u32;
            }
            return self.parts(running, taken, place);
        }
        if s.branch(strip.spread == 1) {
            let strip = Strip { at_once: false, ..*strip };
            return self.parts(self.rest::<S, C>(s, &strip, begin, tile, [0, taken as u64], 0, taken), taken, place);
        }
        // Four rows at once: a column's elements are read one by one.
        let (mut running, mut row) = (begin, 0);
        while s.again(row + 4 <= strip.rows) {
            let rows: [[F::Bits; C]; 4] = dealt(s, strip, Tile { row, ..tile }, 0, 4);
            running = self.take::<S, C, 4>(s, running, rows.map(together), row as u32);
            row += 4;
        }
        while s.again(row < strip.rows) {
            let rows: [[F::Bits; C]; 1] = dealt(s, strip, Tile { row, ..tile }, 0, 1);
            running = self.take::<S, C, 1>(s, running, rows.map(together), row as u32);
            row += 1;
        }
        self.parts(running, strip.rows as u32, place)
    }
}
