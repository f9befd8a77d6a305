//! Rows in any order, elements of 1 or 2 bytes: a 32-bit word of columns at a time.
//!
//! Idea: the fold takes the columns of a word together, in fewer instructions than one by one, and its running values
//! are as narrow as a lane's few rows allow. Bottleneck: memory; of arg ops and of 16-bit floats, nearly the
//! instructions.

use crate::reduce::fold;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::panel::read::{FOUR, at_once, found_words};
use crate::reduce::shape::panel::tile::Tile;
use crate::reduce::shape::panel::uneven::uneven;
use crate::reduce::shape::panel::{Lines, Panel, Pitch, Strip, abreast, meet_abreast};
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

    /// Takes rows that have to be found, of which all may not be there: four at a time.
    #[inline(always)]
    fn take_found<S: Simt, const C: usize>(
        &self,
        s: &S,
        strip: &Strip<L>,
        mut running: Running<F, 4>,
        tile: Tile,
        number: u32,
    ) -> Running<F, 4> {
        let (mut k, rows) = (0, s.opaque(STEPS as u32));
        while s.again(k < rows) {
            let four = found_words::<S, F::Bits, L, C>(s, strip, tile.later(k as usize), !F::REPEATS);
            running = self.take::<S, C, FOUR>(s, running, four, number + k);
            k += FOUR as u32;
        }
        running
    }

    /// What is read for rows that are not there, unless they may be others again.
    const BLANK: Option<[u32; 4]> = if F::REPEATS { None } else { Some([0; 4]) };

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
    const TOGETHER: bool = !L::SEVERAL;

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
            let (row, number) = (mine + (t * each) as u64, t * STEPS as u32);
            if L::SEVERAL {
                running = self.take_found::<S, C>(s, strip, running, Tile::whole(row, abreast), number);
            } else {
                let tile =
                    Tile { more: strip.goes_on::<F::Bits, C>(after, whole), ..Tile::some(row, abreast, strip.rows) };
                let rows = if s.branch(strip.at_once && after <= whole) {
                    at_once::<S, F::Bits, L, C, STEPS>(s, strip, tile)
                } else {
                    uneven::<S, F::Bits, L, C>(s, strip, tile, after <= whole, Self::BLANK)
                };
                running = self.take::<S, C, STEPS>(s, running, rows, number);
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
