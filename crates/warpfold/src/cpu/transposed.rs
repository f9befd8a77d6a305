//! The route on which the fastest axis in memory is an outer reduced one: the sum of a transposed matrix.
//!
//! Index order and memory order disagree, and rows need not start at a multiple of anything. So a task takes some lanes
//! (indices of the fastest axis in memory), copies tiles of them into index order, and keeps one [`Span`] per lane.

use warpfold_core::Span;

use super::engine::{Job, Out, Output};
use super::kernel::{Acc, Item, Kernel};
use super::load::Load;
use super::policy::{TILE_DEPTH, TILE_LANES};
use crate::problem::{At, Dim, Walk};

/// From one lane to the next in a turned tile: not a power of two, so that lanes do not compete for one cache set.
const PITCH: usize = TILE_DEPTH + 16;

/// Elements that a task copies, if there are so many.
const TASK: usize = 1 << 20;

impl<K: Kernel, L: Load<Item<K>>> Job<'_, K, L>
where
    Out<K>: Send,
{
    /// See the module.
    pub(super) unsafe fn transposed(&self, lane: usize, out: &Output<Out<K>>) {
        let (outer, rest) = self.problem.reduced.split_at(lane);
        let (lane, inner) = (rest[0], &rest[1..]);
        let depth: usize = inner.iter().map(|d| d.len).product();
        let outer_len: usize = outer.iter().map(|d| d.len).product();
        let groups = lane.len.div_ceil(TILE_LANES);
        let slice = (TASK / TILE_LANES).min(depth);
        let slices = depth.div_ceil(slice);
        let per_output = outer_len * groups * slices;
        let spans = self.results(self.problem.outputs * per_output, |task| {
            let base = Walk::new(&self.problem.kept, self.base, task / per_output).at();
            let at = task % per_output;
            let (o, group, s) = (at / slices / groups, at / slices % groups, at % slices);
            let tile = Tile {
                base: Walk::new(outer, base, o).at().step(&lane, group * TILE_LANES),
                lane,
                inner,
                lanes: TILE_LANES.min(lane.len - group * TILE_LANES),
                first: (o * lane.len + group * TILE_LANES) * depth,
                depth,
                from: s * slice,
                to: depth.min((s + 1) * slice),
            };
            // SAFETY: the caller's.
            unsafe { self.lanes(&tile) }
        });
        let reducer = self.kernel.reducer();
        let mut walk = Walk::new(&self.problem.kept, self.base, 0);
        for spans in spans.chunks(per_output) {
            let mut whole = Span::new(0);
            for slices in spans.chunks(slices) {
                for i in 0..slices[0].len() {
                    for slice in slices {
                        whole.join(reducer, &slice[i]).expect("slices of a lane, and lanes, follow one another");
                    }
                }
            }
            // SAFETY: one writer per output.
            unsafe { self.finish(out, walk.out(), whole.root(reducer).expect("count is not 0")) };
            walk.advance();
        }
    }

    /// One span per lane of a tile.
    unsafe fn lanes(&self, tile: &Tile<'_>) -> Vec<Span<Acc<K>>> {
        let Tile { lanes, first, depth, .. } = *tile;
        let mut spans: Vec<Span<Acc<K>>> =
            (0..lanes).map(|i| Span::new((first + i * depth + tile.from) as u64)).collect();
        let mut line: Vec<Item<K>> = Vec::with_capacity(lanes);
        let mut turned: Vec<Item<K>> = Vec::with_capacity(lanes * PITCH);
        let mut walk = Walk::new(tile.inner, tile.base, tile.from);
        for start in (tile.from..tile.to).step_by(TILE_DEPTH) {
            let n = TILE_DEPTH.min(tile.to - start);
            // SAFETY: the caller's; `turned` has room for `n` elements of every lane, and all are written.
            unsafe {
                for i in 0..n {
                    let x = self.run_of(walk.at(), &tile.lane, lanes, &mut line);
                    for (lane, &x) in x.iter().enumerate() {
                        turned.as_mut_ptr().add(lane * PITCH + i).write(x);
                    }
                    walk.advance();
                    if i % 32 == 31 || i + 1 == n {
                        self.tell((i % 32 + 1) * lanes);
                    }
                }
            }
            for (lane, span) in spans.iter_mut().enumerate() {
                // SAFETY: just written.
                let x = unsafe { std::slice::from_raw_parts(turned.as_ptr().add(lane * PITCH), n) };
                extend(self.kernel, span, x);
            }
        }
        spans
    }
}

/// Some lanes of one output, and the part of them that a task reduces.
struct Tile<'a> {
    base: At,
    lane: Dim,
    inner: &'a [Dim],
    lanes: usize,
    /// The index of the first lane's first element.
    first: usize,
    /// Elements of a whole lane.
    depth: usize,
    from: usize,
    to: usize,
}

/// Appends a run of elements to a span: the fewest canonical nodes that make it up.
pub fn extend<K: Kernel>(kernel: &K, span: &mut Span<Acc<K>>, mut x: &[Item<K>]) {
    while !x.is_empty() {
        let at = span.end();
        let aligned = at.trailing_zeros().min(super::policy::BLOCK.ilog2());
        let level = aligned.min(x.len().ilog2());
        let (now, later) = x.split_at(1 << level);
        span.push(kernel.reducer(), level, kernel.block(now, at));
        x = later;
    }
}
