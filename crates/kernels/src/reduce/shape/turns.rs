//! Staged outputs whose elements lie in several turns: two reduced axes that are not one axis in memory.
//!
//! Idea: outputs side by side have their runs side by side, too, in every turn of the outer axis. So a tile is a
//! stretch of memory of each turn, and each has its room in the stage. A lane finds a pack by one division; most packs
//! lie in one run. Outputs of more elements than a tile holds are taken in stretches, each a whole subtree.
//! Bottleneck: instructions, where packs lie in two runs.

use crate::reduce::shape::stage::Stage;
use crate::reduce::shape::staged::{Staged, Tile};
use crate::source::Bits;
use warpfold_simt::Simt;

impl Tile {
    /// Of a stretch: bytes of the first turn that precede it and are not staged, and how many bytes fewer that turn has
    /// than others.
    #[inline(always)]
    pub(super) fn cut<const K: usize>(&self, shape: &Staged<K>) -> (u32, u32) {
        let run = shape.run.by as u32;
        let over = (self.skip + shape.len.min(run)).max(run) - run;
        (shape.skipped(self.skip), if shape.per_tile == 1 { over * shape.near } else { 0 })
    }

    /// Where element `i` of an output's turns is in shared memory, of which the first begins at `base`.
    #[inline(always)]
    fn place<const K: usize>(&self, shape: &Staged<K>, base: u32, i: u32) -> u32 {
        let ((turn, inside), skipped) = (shape.run.divide_small(i), shape.skipped(self.skip));
        let first = (self.first as u32).wrapping_sub(skipped);
        let shift = first.wrapping_add(turn.wrapping_mul(shape.far as u32)) & 15;
        let room = (16 * turn * shape.lines.by as u32 + shift).wrapping_sub(self.first as u32 & 15);
        let own = if turn == 0 { 0u32.wrapping_sub(skipped) } else { room };
        base.wrapping_add(own).wrapping_add(inside * shape.near)
    }

    /// The pack of an output's turns, of which the first begins at `base`, from element `from` on. Beyond the `len`
    /// elements of the turns it is the last again.
    #[inline(always)]
    pub(super) fn pack<S: Simt, B: Bits, const K: usize>(
        &self,
        s: &S,
        shape: &Staged<K>,
        stage: Stage,
        base: u32,
        [from, len]: [u32; 2],
    ) -> [u32; 4] {
        let inside = shape.run.divide_small(from).1;
        let whole = inside + B::PER <= shape.run.by as u32 && from + B::PER <= len;
        if s.branch(whole && shape.near == B::SIZE) {
            let at = self.place(shape, base, from);
            return stage.pack::<S, B>(s, at >> 4, at & 15);
        }
        stage.gather::<S, B>(
            s,
            #[inline(always)]
            |e| self.place(shape, base, (from + e).min(len - 1)),
        )
    }
}
