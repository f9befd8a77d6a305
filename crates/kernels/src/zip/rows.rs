//! Rows of two arrays: a warp reads a tile of each.

use crate::reduce::recipe::Recipe;
use crate::reduce::shape::piece::{Dense, Piece, Row, Tile};
use crate::reduce::shape::split::{STEPS, next};
use crate::reduce::shape::stack::Lanes;
use crate::reduce::shape::warp::{self, Meet};
use crate::source::{Bits, Source};
use crate::zip::fold::{Pairs, TURN};
use warpfold_simt::{ALL, Simt};

/// The pairs of elements of two rows.
#[derive(Clone, Copy)]
pub struct Zipped<F>(F);

impl<F: Pairs> Zipped<F> {
    /// The parts over the packs of a lane, of tiles that are even.
    #[inline(always)]
    fn even<S: Simt>(&self, s: &S, tiles: [&Tile; 2]) -> [F::Part; STEPS] {
        let (mut parts, mut k) = ([self.0.nothing(); STEPS], 0);
        while s.again(s.any(ALL, k < STEPS)) {
            let found = self.0.whole(
                s,
                #[inline(always)]
                |i| tiles.map(|tile| tile.pack(s, k + i)),
            );
            parts = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| if i + TURN < STEPS { parts[i + TURN] } else { found[i + TURN - STEPS] },
            );
            k += TURN;
        }
        parts
    }

    /// The same of any tiles: pack by pack, one copy of the code.
    #[inline(always)]
    fn uneven<S: Simt>(&self, s: &S, [x, y]: [(&Row<Dense>, &Tile); 2]) -> [F::Part; STEPS] {
        let (mut parts, mut k) = ([self.0.nothing(); STEPS], 0);
        while s.again(s.any(ALL, k < STEPS)) {
            let valid = x.1.elements::<S, Own<F>>(s, k);
            let packs = [x, y].map(
                #[inline(always)]
                |(row, tile)| tile.near::<S, Own<F>>(s, k, valid, row.end()),
            );
            parts = next(parts, self.0.some(s, packs, valid));
            k += 1;
        }
        parts
    }
}

/// An element's bits.
type Own<F> = <<F as Pairs>::Source as Source>::Bits;

impl<F: Pairs> Piece for Zipped<F> {
    type Fold = F;
    type Reduced = Dense;
    const PER: u32 = Own::<F>::PER;

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
        let (f, whole) = (&self.0, 256 * Self::PER);
        // Of the second array no more is known than that the row is there.
        let end = row.len * Own::<F>::SIZE as u64;
        let second = Row { input: row.mask, x: row.mask, mask: 0, len: row.len, reduced: Dense { end } };
        let mut stack = Lanes::new(f.nothing());
        let mut t = 0;
        while s.again(t < tiles && (tile + t) as u64 * (whole as u64) < row.len) {
            let x = Tile::of::<Own<F>, Dense>(row, tile + t);
            let y = Tile::of::<Own<F>, Dense>(&second, tile + t);
            let parts = if s.branch(x.is_even::<Own<F>>() && y.is_even::<Own<F>>()) {
                self.even(s, [&x, &y])
            } else {
                self.uneven(s, [(row, &x), (&second, &y)])
            };
            stack.push_part(s, f, t, warp::tile(s, parts, Meet(f), 1));
            t += 1;
        }
        stack.close_parts(s, f, t)
    }
}
