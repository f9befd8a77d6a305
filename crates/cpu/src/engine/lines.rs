//! Segments of many short lines of the axis that is the fastest in memory. Tiles of neighbouring lines are transposed
//! in the cache, so that each index along the axis is a row, and segments are reduced as those of rows are.

use warpfold_array::problem::{At, Dim, Problem, Walk};

use super::Work;
use super::cuts::Cuts;
use super::nodes::Items;
use super::segments::Place;
use super::stored::Stored;
use crate::loops::{Item, Value};
use crate::moves::TILE;
use crate::output::Output;
use crate::policy::{LINES_ABREAST, TILE_ITEMS};

/// Elements between the rows of a tile, so that they do not compete for one cache set.
const PAD: usize = 16;

impl Work<'_> {
    /// The most lines whose tile stays in the cache; `None` if they are too few to be worth it.
    pub(super) fn lines_abreast(&self) -> Option<usize> {
        let line = self.problem.count.saturating_mul(self.facts.item);
        let lines = (TILE_ITEMS / line.max(1)).min(LINES_ABREAST) / TILE * TILE;
        let many = self.problem.kept.last().is_some_and(|lane| lane.len >= TILE);
        (many && lines >= TILE).then_some(lines)
    }

    /// The segments of some lines at a time.
    ///
    /// # Safety
    /// As of [`Work::segments`], whose checks have been made.
    pub(super) unsafe fn segments_of_tiles(&self, cuts: Cuts<'_>, most: usize, out: &Output<Value>) {
        let (lane, others) = self.problem.kept.split_last().expect("lines");
        // Tiles of about as many lines each.
        let tiles = lane.len.div_ceil(most);
        let width = lane.len.div_ceil(tiles);
        self.quiet_tasks(self.problem.outputs / lane.len * tiles, &|task| {
            let (walk, first) = (Walk::new(others, self.base, task / tiles), task % tiles * width);
            let place = Place {
                at: walk.at().step(lane, first),
                out: walk.out() + first as isize * lane.out,
                width: width.min(lane.len - first),
            };
            // SAFETY: the caller vouches for elements and places; each task writes outputs of its own.
            unsafe { self.segments_of_tile(cuts, lane, &place, out) };
        });
    }

    /// The segments of the lines from `place` on.
    unsafe fn segments_of_tile(&self, cuts: Cuts<'_>, lane: &Dim, place: &Place, out: &Output<Value>) {
        let (size, rows, width) = (self.facts.item, self.problem.count, place.width);
        let (mut tile, mut room) = (Items::new(), Items::new());
        let pitch = width + PAD;
        let x: *mut Item = tile.room(rows * pitch * size);
        // SAFETY: the caller vouches for the lines, and there is room for the elements of all of them.
        unsafe { self.transpose(place.at, &self.problem.inner(), rows, lane, width, &mut room, x, pitch) };
        let axis = Dim { len: rows, x: (pitch * size) as isize, mask: 0, out: 0 };
        let problem = Problem { kept: Vec::new(), reduced: vec![axis], ..self.problem.clone() };
        let load = Stored { bytes: size, numbers: self.load.whole() };
        let work = Work { load: &load, problem: &problem, ..*self };
        let lane = Dim { x: size as isize, mask: 0, ..*lane };
        let place = Place { at: At { x: x.cast_const().cast(), mask: std::ptr::null() }, ..*place };
        // SAFETY: the elements that were just written are the kernel's, and lie along the two axes; the caller vouches
        // for the places.
        unsafe { work.short_segments_of_rows(cuts, 0, &lane, &place, out) };
    }
}
