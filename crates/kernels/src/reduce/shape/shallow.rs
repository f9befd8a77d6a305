//! Shallow columns: at most 8 rows, so that one lane has all of a column.
//!
//! Idea: no lane needs another, so there is no shared memory, no barrier and no loop. A lane reads its columns of every
//! row at once, and writes their results. Columns are dealt out to neighbouring lanes, so that results are written side
//! by side: a sector of 32 bytes that is written in pieces costs as much as many. Of 1 and 2 bytes, if results are as
//! narrow, a lane reads and writes several at a time instead. A reduction of nothing is one row. Bottleneck: memory.

use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::recipe::{Recipe, flag};
use crate::reduce::shape::narrow::write;
use crate::reduce::shape::panel::{self, Pitch, Strip};
use crate::reduce::shape::piece::{Outputs, divide};
use warpfold_simt::Simt;

params! {
    /// Outputs, and how rows and columns lie.
    pub struct Shallow[; const K] {
        /// The kept axes but for the columns.
        pub outputs: Outputs<K>,
        /// Columns.
        pub width: u64,
        /// Bytes from column to column.
        pub x: i64,
        /// Elements from column to column in the output.
        pub out: i64,
        /// Rows, at most 8.
        pub rows: u64,
        /// Whether a lane has columns side by side.
        pub together: u32,
        /// Whether results are as narrow as elements, and lie side by side.
        pub narrow: u32,
        /// Blocks side by side, of so many columns each as its threads take.
        pub panels: u64,
        /// How rows follow one another.
        pub reduced: Pitch,
    }
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, P: panel::Shallow<C>, const K: usize, const C: usize>(s: &S, call: &Call<Shallow<K>>) {
    let panel = P::new(&call.recipe);
    let (f, shape) = (panel.fold(), &call.shape);
    let (outer, number) = divide(s.block_x() as u64, shape.panels);
    let at = shape.outputs.at(outer);
    let together = P::SIZE <= 2 && shape.together != 0;
    let first = (number * (s.block_dim_x() / 32) as u64 + s.warp() as u64) * 32 * C as u64;
    if s.branch(first >= shape.width) {
        return;
    }
    // Of the last warp's lanes one may have less.
    let whole = shape.width % C as u64 == 0 || shape.width - first >= 32 * C as u64;
    let at_once = together && whole && P::at_once(&shape.reduced, call.at.input);
    let (column, spread) =
        if together { (first + (s.lane() * C as u32) as u64, 1) } else { (first + s.lane() as u64, 32u32) };
    let has_columns = column < shape.width;
    let x = |column: u64| call.at.input.wrapping_add((at.x + column as i64 * shape.x) as u64);
    let strip = Strip {
        x: x(if has_columns { column } else { first }),
        mask: 0,
        columns: if has_columns { (shape.width - column + spread as u64 - 1) >> spread.trailing_zeros() } else { 0 },
        at_once,
        spread,
        across: shape.x,
        rows: shape.rows,
        lanes: 32,
        panel: x(first),
        beside: (shape.width - first).min(32 * C as u64) as u32,
        input: call.at.input,
        reduced: shape.reduced,
    };
    let found = panel.shallow(s, &strip);
    let to = at.out + column as i64 * shape.out;
    if P::SIZE <= 2 && s.branch(shape.narrow != 0) {
        let results = found.map(
            #[inline(always)]
            |part| f.narrow(s, &call.recipe, part),
        );
        let to = call.at.output.wrapping_add((to * P::SIZE as i64) as u64);
        return write(s, to, results, P::SIZE, strip.columns.min(2 * C as u64) as u32);
    }
    // No means: results of a lane's columns are written as one, and what comes between them would part them.
    let recipe = Recipe { flags: call.recipe.flags & !flag::MEANS, ..call.recipe };
    let mut j = 0;
    while j < C {
        if s.branch((j as u64) < strip.columns) {
            let column = column + (j as u32 * spread) as u64;
            f.finish(s, &recipe, found[j], call.out(at.out + column as i64 * shape.out));
        }
        j += 1;
    }
}
