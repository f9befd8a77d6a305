//! Tiles of memory, whose elements are reduced in another order than they lie in.
//!
//! Idea: an output's elements are *columns*, one after the other, whose *rows* follow one another in the order of the
//! tree. Neighbours in memory are columns of a *run*, in any order. A block copies the rows of some neighbouring
//! columns to shared memory by whole lines. From there a thread takes a *window*, a whole subtree of 128 bytes of one
//! column, and leaves its part in the workspace, where another launch reduces the parts. Where the rows of each column
//! are is found once for a tile, in a table, so any layout costs the same. Long columns are cut: a tile has the windows
//! that begin in its rows, and reads on until they end, if need be in the next column. Short ones are whole in a tile,
//! and windows go on from one to the next. Bottleneck: instructions, most of which
//! find a tile and its lines; and banks, where rows begin anywhere.

mod axes;
mod copy;
mod quads;
mod tile;
mod windows;

pub use axes::{Axes, Axis};
pub use tile::{GROUPS, LINES, ROWS, THREADS, Tiled, WIDE, WINDOW};

use crate::reduce::call::Call;
use crate::reduce::fold::Tree;
use crate::reduce::shape::piece::PACKS;
use crate::source::Bits;
use tile::{BEYOND, Stage, Tile};
use warpfold_simt::Simt;

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, F: Tree, const K: usize>(s: &S, call: &Call<Tiled<K>>) {
    let f = F::new(&call.recipe);
    let stage = Stage {
        lines: s.shared::<u16, { 8 * LINES }, 0>("a tile").cast(),
        groups: s.shared::<i32, GROUPS, 1>("where groups are"),
        shifts: s.shared::<u16, GROUPS, 2>("where they begin"),
        next: s.shared::<u64, { WIDE + BEYOND }, 3>("where next columns are"),
        rows: s.shared::<u16, ROWS, 4>("where rows are"),
    };
    let tile = Tile::new(s, call);
    tile.find(s, stage);
    s.barrier();
    tile.read(s, stage);
    // Beside the copies.
    tile.table(s, stage, PACKS * F::Bits::PER);
    if s.branch(call.shape.spread == 0) {
        tile.read_on(s, stage);
    }
    s.copied();
    if s.branch(call.shape.spread != 0) {
        s.barrier();
        tile.read_on_whole(s, stage);
    }
    s.barrier();
    tile.windows(s, &f, stage);
}
