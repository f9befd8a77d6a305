//! Staged outputs of 2 bytes side by side, of which a lane takes two at once.
//!
//! Idea: a row of outputs side by side has an element of each of two neighbours in a word. So a lane reads a word where
//! it would read an element, and does for two outputs what else it would do for one. Bottleneck: instructions.

use crate::node::publish;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::shape::piece::{Stretch, Team, Walk};
use crate::reduce::shape::split::next;
use crate::reduce::shape::stage::Stage;
use crate::reduce::shape::staged::{ODD, Staged, TURNED, Tile};
use crate::source::Bits;
use warpfold_simt::Simt;

impl Tile {
    /// The outputs of the tile, which is staged, in pairs.
    #[inline(always)]
    pub(super) fn twins<S: Simt, W: Walk, const K: usize>(
        &self,
        s: &S,
        walk: &W,
        call: &Call<Staged<K>>,
        stage: Stage,
        flat: bool,
    ) {
        let shape = &call.shape;
        let (pairs, per, near) = (shape.width.by as u32, u32::PER, shape.near);
        let total = self.units * pairs;
        let turned = W::TURNS && shape.layout & TURNED != 0;
        let apart = if turned { shape.far as u32 } else { 0 };
        let even = (self.first as u32 | shape.pitch as u32 | near | apart) & 3 == 0;
        let (abreast, (number, own)) = (shape.abreast.by as u32, shape.abreast.divide_small(s.lane()));
        let team = Team { own: number, lanes: shape.lanes, apart: abreast };
        let mine = number * shape.packs * per;
        let mut o = own;
        while s.again(o - own < total) {
            let there = o < total;
            let [unit, pair, base] = self.output(s, shape, if there { o } else { 0 });
            let mut len = shape.len;
            if s.branch(shape.row > 0) {
                len = (shape.row - self.before(shape, unit, turned)).min(len as u64) as u32;
            }
            let count = if there { (len.max(mine) - mine).min(shape.packs * per) } else { 0 };
            let stretch = Stretch { first: mine, count, packs: shape.packs, team };
            let last = base + (len - 1) * near;
            let read = |k: u32, whole: bool| {
                let from = mine + per * k;
                if s.branch(turned) {
                    return self.words(s, shape, stage, base, [from, len].map(|i| i + self.skip), even);
                }
                let (at, last) = (base + from * near, if whole { u32::MAX } else { last });
                let word = |i: usize, flat| stage.twins(s, (at + i as u32 * near).min(last), even, flat);
                if s.branch(flat) {
                    warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |i| word(i, true),
                    )
                } else {
                    warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |i| word(i, false),
                    )
                }
            };
            let mut parts = walk.twins(s, stretch, read);
            // One copy of the end for both.
            let alone = shape.layout & ODD != 0 && pair + 1 == pairs;
            let (mut column, end) = (2 * pair, 2 * pair + if alone { 1 } else { 2 });
            while s.again(column < end) {
                if s.branch(there && mine == 0) {
                    let out = self.out + unit as i64 * shape.out + column as i64 * shape.beside;
                    if s.branch(shape.row > 0) {
                        let before = self.before(shape, unit, turned) + column as u64 * shape.beyond;
                        publish(s, call.partials(), out as usize, walk.fold().moved(parts[0], before));
                    } else {
                        walk.fold().finish(s, &call.recipe, parts[0], call.out(out));
                    }
                }
                parts = next(parts, parts[0]);
                column += 1;
            }
            o += abreast;
        }
    }
}
