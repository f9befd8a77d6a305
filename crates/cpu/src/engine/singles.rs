//! The route of outputs that have one element each, so that nothing is reduced: elements become results without nodes.

use warpfold_array::problem::{At, Walk};

use super::Work;
use super::lane::Lane;
use super::nodes::Items;
use crate::loops::Value;
use crate::output::Output;
use crate::policy::{BLOCK, CHUNK, STRIP_BYTES};

impl Work<'_> {
    /// Writes the results of elements along `lane`, a block of them at a time.
    pub(super) unsafe fn singles(&self, lane: usize, out: &Output<Value>) {
        let (lane, mut others) = self.take_kept(lane);
        let mut lane = Lane::of(lane);
        // Short axes that follow one another in memory are one lane.
        while lane.dim.len * self.problem.size < STRIP_BYTES
            && let Some(next) = others.iter().position(|dim| lane.goes_on(dim))
        {
            lane.append(others.remove(next));
        }
        let piece = lane.dim.len.min(CHUNK);
        let pieces = lane.dim.len.div_ceil(piece);
        let (all, each) = (self.problem.outputs / lane.dim.len * pieces, CHUNK / piece);
        self.tasks(all.div_ceil(each), &|task| {
            let mut items = Items::new();
            let (from, to) = (task * each, all.min((task + 1) * each));
            let mut walk = Walk::new(&others, self.base, from / pieces);
            for i in from..to {
                let first = i % pieces * piece;
                let n = piece.min(lane.dim.len - first);
                // SAFETY: these elements lie along the lane, which the caller vouches for; tasks have disjoint outputs.
                unsafe { self.some_singles(&lane, walk.at(), walk.out(), first, n, &mut items, out) };
                if first + n == lane.dim.len {
                    walk.advance();
                }
            }
        });
    }

    /// The results of `n` elements along a lane, from number `first` on. `base` is the lane's first element, and `at`
    /// the place of its output.
    ///
    /// # Safety
    /// The elements are readable; no other task writes the places.
    #[expect(clippy::too_many_arguments, reason = "a part of a lane")]
    pub(super) unsafe fn some_singles(
        &self,
        lane: &Lane,
        base: At,
        at: isize,
        first: usize,
        n: usize,
        items: &mut Items,
        out: &Output<Value>,
    ) {
        let end = first + n;
        for first in (first..end).step_by(BLOCK) {
            let n = BLOCK.min(end - first);
            // SAFETY: the caller vouches for the elements and the places; `store_along` has room for the results.
            unsafe {
                let x = self.run_of(base.step(&lane.dim, first), &lane.dim, n, items);
                self.store_along(out, at, lane, first, n, &|to, some| {
                    let x = x.wrapping_byte_add(some.start * self.facts.item);
                    self.kernel.single(x, some.len(), to);
                });
            }
        }
    }
}
