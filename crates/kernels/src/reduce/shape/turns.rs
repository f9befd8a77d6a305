//! Staged outputs whose elements lie in several turns: two reduced axes that are not one axis in memory.
//!
//! Idea: outputs side by side have their runs side by side, too, in every turn of the outer axis. So a tile is a
//! stretch of memory of each turn, and each has its room in the stage, unless all turns lie in one short stretch, which
//! is staged as it lies. A lane finds a pack by one division; most packs
//! lie in one run. Outputs of more elements than a tile holds are taken in stretches, each a whole subtree. Bottleneck:
//! instructions, where packs lie in two runs.

use crate::reduce::shape::piece::{Walk, below};
use crate::reduce::shape::split::next;
use crate::reduce::shape::stage::Stage;
use crate::reduce::shape::staged::{NESTED, Staged, Tile};
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

    /// Where element `inside` of turn `turn` is in shared memory, of an output whose first turn begins at `base`.
    #[inline(always)]
    pub(super) fn place<const K: usize>(&self, shape: &Staged<K>, base: u32, turn: u32, inside: u32) -> u32 {
        if shape.layout & NESTED != 0 {
            return base + turn * shape.far as u32 + inside * shape.near;
        }
        let skipped = shape.skipped(self.skip);
        let first = (self.first as u32).wrapping_sub(skipped);
        let shift = first.wrapping_add(turn.wrapping_mul(shape.far as u32)) & 15;
        let room = (16 * turn * shape.lines.by as u32 + shift).wrapping_sub(self.first as u32 & 15);
        let own = if turn == 0 { 0u32.wrapping_sub(skipped) } else { room };
        base.wrapping_add(own).wrapping_add(inside * shape.near)
    }

    /// The words of a pair of outputs in turns, as [`Tile::pack`] has one output's elements.
    #[inline(always)]
    pub(super) fn words<S: Simt, const K: usize>(
        &self,
        s: &S,
        shape: &Staged<K>,
        stage: Stage,
        base: u32,
        [from, len]: [u32; 2],
        even: bool,
    ) -> [u32; 4] {
        let (turn, inside) = shape.run.divide_small(from);
        let at = self.place(shape, base, turn, inside);
        if s.branch(inside + 4 <= shape.run.by as u32 && from + 4 <= len) {
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| stage.twins(s, at + i as u32 * shape.near, even, false),
            );
        }
        // Rarely needed, so it is kept short.
        let (mut words, mut i, all) = ([0; 4], 0, s.opaque(4));
        while s.again(i < all) {
            let (turn, inside) = shape.run.divide_small((from + i).min(len - 1));
            words = next(words, stage.twins(s, self.place(shape, base, turn, inside), even, false));
            i += 1;
        }
        words
    }

    /// The pack of an output's turns, of which the first begins at `base`, from element `from` on. Beyond the `len`
    /// elements of the turns it is the last again.
    #[inline(always)]
    pub(super) fn pack<S: Simt, W: Walk, const K: usize>(
        &self,
        s: &S,
        shape: &Staged<K>,
        stage: Stage,
        base: u32,
        [from, len]: [u32; 2],
    ) -> [u32; 4] {
        let (run, (turn, inside)) = (shape.run.by as u32, shape.run.divide_small(from));
        // Elements of this turn. With fewer to a turn than a pack has, it could be in more than two.
        let (here, two) = (run - inside, W::TWINS && run >= W::PER);
        if s.branch(shape.near == W::Bits::SIZE && from + W::PER <= len && (here >= W::PER || two)) {
            let at = self.place(shape, base, turn, inside);
            let own = stage.pack::<S, W::Bits>(s, at >> 4, at & 15);
            if !W::TWINS || s.branch(here >= W::PER) {
                return own;
            }
            let at = self.place(shape, base, turn + 1, 0) - here * W::Bits::SIZE;
            let others = stage.pack::<S, W::Bits>(s, at >> 4, at & 15);
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| {
                    let keep = below(here * W::Bits::SIZE, i);
                    (own[i] & keep) | (others[i] & !keep)
                },
            );
        }
        stage.gather::<S, W::Bits>(
            s,
            #[inline(always)]
            |e| {
                let (turn, inside) = shape.run.divide_small((from + e).min(len - 1));
                self.place(shape, base, turn, inside)
            },
        )
    }
}
