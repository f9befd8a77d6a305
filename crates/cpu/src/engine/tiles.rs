//! The route for reductions over several axes between whose elements a few outputs lie: say, over axes 0 and 2 of
//! three, or over two outer axes of which the slower one in memory is the faster one of the index.
//!
//! A stretch of a slow reduced axis, the lane, has a stretch of the sequence of each of the outputs within; if outer
//! reduced axes lie within it, too, one for each of their indices. Such a tile is read in the order of memory, and each
//! stretch is brought together in the cache. There it is a part of a [`Span`]. Tiles are a power of two of the lane
//! long, so that their parts are cut into few nodes.

use warpfold_array::problem::{At, Dim, Problem, Walk};

use super::Work;
use super::columns::rows_per_task;
use super::nodes::{Items, Nodes};
use super::slabs::steps as places;
use super::span::Span;
use super::stored::Sequences;
use crate::loops::{Item, Value};
use crate::moves::{by_size, copy, copy_runs};
use crate::output::Output;
use crate::policy::{BLOCK, LINES, TILE_ITEMS};
use crate::transpose::{Rows, take_apart};

/// Elements between the stretches of outputs in a tile, so that they do not compete for one cache set.
const PAD: usize = 16;

/// The axes of a problem, and a part of the lane.
struct Tiles<'a> {
    lane: Dim,
    /// Reduced axes within the lane.
    inner: &'a [Dim],
    /// Elements of one index of the lane, for one output.
    depth: usize,
    /// Kept axes within the lane.
    within: &'a [Dim],
    /// Steps in memory to the outputs within the lane, and to the sequences of each of them.
    steps: Vec<isize>,
    /// Sequences of an output: outer indices within the lane.
    sequences: usize,
    /// Indices of the lane in a tile, a power of two.
    width: usize,
}

impl Work<'_> {
    /// Reduces outputs tile by tile. `lane` is the number of the lane in [`Problem::reduced`], `within` is how many of
    /// the last of [`Problem::kept`] are within it, `beside` how many of the reduced axes before it.
    pub(super) unsafe fn tiles(&self, lane: usize, within: usize, beside: usize, out: &Output<Value>) {
        let Problem { kept, reduced, count, outputs, .. } = self.problem;
        let (outer, rest) = reduced.split_at(lane);
        let (lane, inner) = (rest[0], &rest[1..]);
        let (others, within) = kept.split_at(kept.len() - within);
        let (outer, beside) = outer.split_at(outer.len() - beside);
        let steps = places(&[within, beside].concat(), |dim| dim.x);
        let sequences: usize = beside.iter().map(|dim| dim.len).product();
        let (depth, abreast): (usize, usize) = (inner.iter().map(|dim| dim.len).product(), steps.len());
        let width = 1 << (TILE_ITEMS / self.facts.item.max(1) / (depth * abreast)).max(1).ilog2();
        let width = width.min(lane.len.next_power_of_two());
        let tiles = Tiles { lane, inner, depth, within, steps, sequences, width };
        let (outer_len, sides) = (count / (lane.len * depth * sequences), outputs * sequences / abreast);
        let each = rows_per_task(lane.len, sides * outer_len, self.threads, tiles.width);
        let parts = lane.len.div_ceil(each);
        let per_side = outer_len * parts;
        let spans = self.quiet_results(sides * per_side, |task| {
            let base = Walk::new(others, self.base, task / per_side).at();
            let (o, from) = (task % per_side / parts, task % parts * each);
            let at = Walk::new(outer, base, o).at();
            // SAFETY: this part of the lane lies within what the caller vouches for.
            unsafe { self.some_tiles(&tiles, at, from, lane.len.min(from + each), o * sequences) }
        });
        let outs = places(within, |dim| dim.out);
        let mut root = Nodes::new(self.facts.node);
        let mut walk = Walk::new(others, self.base, 0);
        for spans in spans.chunks(per_side) {
            for (output, place) in outs.iter().enumerate() {
                let mut whole = Span::new(self.kernel, 0);
                for parts in spans.chunks(parts) {
                    for sequence in output * sequences..(output + 1) * sequences {
                        for part in parts {
                            whole.join(self.kernel, &part[sequence]).expect("parts of a sequence follow one another");
                        }
                    }
                }
                // SAFETY: there are elements, so `root` writes a node; this thread alone writes results.
                unsafe {
                    root.write(1, |to| {
                        whole.root(self.kernel, std::ptr::null(), 0, to);
                    });
                    self.finish(out, walk.out() + place, root.first(), 1, *count);
                }
            }
            walk.advance();
        }
    }

    /// The span of each sequence within the lane, over its indices `from..to`. `before` are the sequences of an output
    /// before its first one.
    unsafe fn some_tiles(&self, tiles: &Tiles<'_>, base: At, from: usize, to: usize, before: usize) -> Vec<Span> {
        let Tiles { lane, depth, ref steps, width, .. } = *tiles;
        let size = self.facts.item;
        let pitch = width * depth + PAD;
        let (mut stored, mut tile) = (Items::new(), Items::new());
        let start = |i: usize| (((before + i % tiles.sequences) * lane.len + from) * depth) as u64;
        let mut spans: Vec<Span> = (0..steps.len()).map(|i| Span::new(self.kernel, start(i))).collect();
        let x = tile.room(steps.len() * pitch * size);
        for first in (from..to).step_by(width) {
            let n = width.min(to - first);
            let (at, sequences) = (base.step(&lane, first), Sequences { number: steps.len(), len: n * depth, pitch });
            // SAFETY: the caller vouches for these indices of the lane; the tile has room for `width` of each output,
            // and those that are read have been written.
            unsafe {
                self.brought(&sequences, tiles.within, at.mask, &mut stored, x, &|work, to| {
                    work.fill(tiles, at, n, to, pitch);
                });
                for (output, span) in spans.iter_mut().enumerate() {
                    span.extend(self.kernel, x.byte_add(output * pitch * size), n * depth);
                }
            }
            self.tell(n * depth * steps.len());
        }
        spans
    }

    /// Brings the elements of each sequence within `n` indices of the lane together: those of sequence i from
    /// element `i * pitch` on.
    unsafe fn fill(&self, tiles: &Tiles<'_>, base: At, n: usize, to: *mut Item, pitch: usize) {
        let Tiles { lane, inner, depth, within, ref steps, .. } = *tiles;
        let (size, raw) = (self.facts.item, self.problem.size as isize);
        if within.is_empty() {
            // SAFETY: the caller's.
            return unsafe { self.fill_blocks(tiles, base, n, to, pitch) };
        }
        let mut items = Items::new();
        let &nearest = within.last().expect("an output");
        let Some(&run) = inner.last() else {
            // Rows of the outputs' elements. SAFETY: the caller's.
            return unsafe { self.transpose(base, &nearest, steps.len(), &lane, n, &mut items, to, pitch) };
        };
        if inner.len() > 1 || run.x != raw {
            // Outputs lie side by side, so the lines of each index of the lane are transposed.
            let row = steps.len() as isize * size as isize;
            let is_near = within.len() == 1 && nearest.x == raw && lane.x == row && self.load.direct();
            if is_near && n > 1 {
                // Lines of all indices follow one another, a few bytes of each index. They are read as they lie.
                let (bytes, whole) = (n * row as usize, self.load.whole());
                let lines = items.room(depth * bytes);
                let rows = Rows { n: depth, columns: steps.len(), step: n * steps.len(), bytes: size, whole };
                let mut walk = Walk::new(inner, base, 0);
                for line in 0..depth {
                    // SAFETY: the caller vouches for the lines, for each of which there is room.
                    unsafe { copy(walk.at().x, lines.byte_add(line * bytes).cast(), bytes) };
                    walk.advance();
                }
                for i in 0..n {
                    // SAFETY: all lines have been copied; the caller vouches for room for the elements.
                    unsafe {
                        let from = lines.byte_add(i * row as usize).cast_const();
                        take_apart(from, rows, to.byte_add(i * depth * size), pitch);
                    }
                }
                return;
            }
            for i in 0..n {
                let mut walk = Walk::new(inner, base.step(&lane, i), 0);
                let mut done = 0;
                while done < depth {
                    let lines = (run.len - done % run.len).min(LINES.max(BLOCK / steps.len()));
                    // SAFETY: the caller vouches for the lines, and for room for them.
                    unsafe {
                        let to = to.byte_add((i * depth + done) * size);
                        self.transpose(walk.at(), &nearest, steps.len(), &run, lines, &mut items, to, pitch);
                    }
                    done += lines;
                    walk = Walk::new(inner, base.step(&lane, i), done % depth);
                }
            }
            return;
        }
        // Each output's run is a row of its own, and all runs of an index of the lane may follow one another.
        let dense = steps.iter().enumerate().all(|(i, &step)| step == i as isize * depth as isize * run.x);
        let dense = dense && run.x == raw && within.iter().all(|dim| dim.mask == dim.x / raw * run.mask);
        let adjacent = dense && lane.x == (depth * steps.len()) as isize * raw && lane.mask == lane.x / raw * run.mask;
        let together = if adjacent { n } else { 1 };
        for i in (0..n).step_by(together) {
            let at = base.step(&lane, i);
            // SAFETY: the caller vouches for the runs of the `together` indices from `i` on, and for room for them.
            unsafe {
                if dense {
                    let elements = together * depth * steps.len();
                    let x = self.run_of(at, &run, elements, &mut items);
                    let (to, bytes) = (to.byte_add(i * depth * size), depth * size);
                    if depth == 2 && bytes <= 8 && pitch.is_multiple_of(depth) {
                        // A pair is one element of twice the size.
                        let pairs = Rows::dense(together, steps.len(), bytes, self.load.whole());
                        take_apart(x, pairs, to, pitch / depth);
                    } else {
                        copy_runs(x, [together, steps.len()], depth, size, to, pitch);
                    }
                    continue;
                }
                let mut walk = Walk::new(within, at, 0);
                for output in 0..steps.len() {
                    self.load.gather(walk.at(), &run, depth, to.byte_add((output * pitch + i * depth) * size));
                    walk.advance();
                }
            }
        }
    }

    /// The same where each index of the lane has a block of the array: each sequence has some of its elements, in any
    /// order of memory.
    unsafe fn fill_blocks(&self, tiles: &Tiles<'_>, base: At, n: usize, to: *mut Item, pitch: usize) {
        let Tiles { lane, inner, depth, ref steps, .. } = *tiles;
        let size = self.facts.item;
        // Runs of a few elements are moved as one.
        let run = inner.last().filter(|run| run.x == size as isize && (run.len * size).is_power_of_two());
        let run = run.map_or(1, |run| run.len).min((16 / size).max(1));
        let places = places(inner, |dim| dim.x);
        let places: Vec<isize> = places.into_iter().step_by(run).collect();
        let offsets = steps.iter().flat_map(|step| places.iter().map(move |place| step + place)).collect::<Vec<_>>();
        let bytes = run * size;
        let side_by_side = offsets.iter().enumerate().all(|(i, &at)| at == (i * bytes) as isize);
        let place = |sequence: usize, i: usize| to.wrapping_byte_add((sequence * pitch + i * depth) * size);
        // SAFETY: the caller vouches for the elements of `n` indices, and for room for `pitch` of each sequence, of
        // which each has `depth` for an index.
        unsafe {
            if places.len() == 1 && side_by_side && (lane.x as usize).is_multiple_of(bytes) {
                let whole = self.load.whole() && bytes <= 8;
                let rows = Rows { n, columns: steps.len(), step: lane.x as usize / bytes, bytes, whole };
                return take_apart(base.x.cast(), rows, to, pitch / run);
            }
            by_size!(bytes, T => for i in 0..n {
                let x = base.x.wrapping_byte_add(i * lane.x as usize);
                for (sequence, offsets) in offsets.chunks(places.len()).enumerate() {
                    let to = place(sequence, i).cast::<T>();
                    for (i, &offset) in offsets.iter().enumerate() {
                        to.add(i).write_unaligned(x.byte_offset(offset).cast::<T>().read_unaligned());
                    }
                }
            }, else for i in 0..n {
                let x = base.x.wrapping_byte_add(i * lane.x as usize);
                for (j, &offset) in offsets.iter().enumerate() {
                    let to = place(j / places.len(), i).byte_add(j % places.len() * bytes);
                    copy(x.byte_offset(offset).cast(), to, bytes);
                }
            });
        }
    }
}
