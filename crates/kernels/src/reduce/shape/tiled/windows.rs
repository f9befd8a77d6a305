//! Windows of a tile: what each of its threads reduces.

use super::tile::{Stage, THREADS, Tile};
use crate::node::publish;
use crate::reduce::fold::Tree;
use crate::reduce::recipe::code;
use crate::reduce::shape::piece::{Ordered, PACKS, Stretch, Team, Walk, followed, packs};
use crate::reduce::shape::split::STEPS;
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_core::DType;
use warpfold_simt::{ALL, Shared, Simt};

/// A thread's window.
struct Window {
    /// The number of its first element in the output.
    number: u64,
    /// Elements, none if there is no such window.
    count: u32,
    /// Its output's place among parts.
    out: i64,
    /// Where its column is in shared memory; if rows are equally far apart, its first element.
    first: Shared<u8>,
    /// Where its rows are.
    rows: Shared<u16>,
    /// Bytes from row to row, if they are equally far apart.
    even: u32,
}

impl<const K: usize> Tile<'_, K> {
    /// The window with this number among the tile's.
    #[inline(always)]
    fn window<S: Simt>(&self, s: &S, stage: Stage, i: u32, len: u32) -> Window {
        let shape = &self.call.shape;
        let (c, mut row, number, out, there);
        if s.branch(shape.spread != 0) {
            let (before, own) = self.at(0);
            let start = (before as u32).wrapping_neg() % len + i * len;
            (c, row) = shape.fresh.divide_small(start);
            (number, out) = (before + start as u64, own);
            there = c < self.width;
        } else {
            (row, c) = shape.wide.divide_small(i);
            let (column, own) = self.at(c);
            let before = column.wrapping_add(self.row);
            out = own;
            row = (before as u32).wrapping_neg() % len + row * len;
            number = before.wrapping_add(row as u64);
            there = c < self.width && row < shape.fresh.by as u32 && self.row + (row as u64) < shape.rows;
        }
        let all = shape.columns * shape.rows;
        let count = if there && number < all { (all - number).min(len as u64) as u32 } else { 0 };
        let (c, row) = if count > 0 { (c, row) } else { (0, 0) };
        let mut first = stage.lines.cast::<u8>().offset(c * shape.near as u32);
        let even = if shape.spread != 0 { 0 } else { shape.even };
        if s.branch(even != 0) {
            let group = shape.group.divide_small(row).0;
            first = first.offset(16 * group * shape.pitch + s.get(stage.shifts, group) as u32);
        }
        Window { number, count, out, first, rows: stage.rows.offset(row), even: s.opaque(even) }
    }

    /// Leaves the parts of all windows.
    #[inline(always)]
    pub(super) fn windows<S: Simt, F: Tree>(&self, s: &S, f: &F, stage: Stage) {
        let (shape, len) = (&self.call.shape, PACKS * F::Bits::PER);
        let whole = shape.spread != 0;
        // Lanes of a warp have windows of different columns, which are in different banks.
        let all =
            if whole { shape.spread } else { (shape.fresh.by as u32 / len * shape.wide.by as u32).div_ceil(THREADS) };
        let mut turn = if whole { s.warp() } else { 0 };
        while s.again(turn < all) {
            let i = if !whole {
                turn * THREADS + s.thread_x()
            } else if s.branch(shape.even != 0) {
                turn * 32 + s.lane()
            } else {
                s.lane() * all + turn
            };
            let window = self.window(s, stage, i, len);
            let read = |k: u32, _: bool| self.pack::<S, F::Bits>(s, &window, k * F::Bits::PER);
            let are_whole = s.all(ALL, window.count == len || window.count == 0);
            let quads =
                if s.branch(whole && shape.even != 0 && are_whole) { self.quads(s, f, window.first) } else { None };
            let part = if let Some(node) = quads {
                f.part(node, len)
            } else if s.branch(are_whole) {
                let w: [[u32; 4]; STEPS] = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |k| read(k as u32, true),
                );
                let (f, w) = f.whole(s, w);
                let nodes = packs(s, &f, &w);
                let per = F::Bits::PER;
                let two = |k: usize| f.join(nodes[2 * k], nodes[2 * k + 1], per);
                let four = |k: usize| f.join(two(2 * k), two(2 * k + 1), 2 * per);
                f.part(f.join(four(0), four(1), 4 * per), len)
            } else {
                let stretch = Stretch { first: 0, count: window.count, packs: s.opaque(PACKS), team: Team::ALONE };
                Ordered::<F>(*f, PhantomData).walk(s, stretch, false, read)
            };
            if s.branch(window.count > 0) {
                let place = window.out as u64 + (window.number >> len.trailing_zeros());
                publish(s, self.call.partials(), place as usize, f.moved(part, window.number));
            }
            turn += if whole { THREADS / 32 } else { 1 };
        }
    }

    /// The elements of 16 bytes of a window, from element `from` on: as f32 if they have 16 bits.
    #[inline(always)]
    fn pack<S: Simt, B: Bits>(&self, s: &S, window: &Window, from: u32) -> [u32; 4] {
        let (shape, recipe) = (&self.call.shape, &self.call.recipe);
        let even = window.even;
        let places: [u32; 4] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                if (i as u32) >= B::PER {
                    0
                } else if s.branch(even != 0) {
                    (from + i as u32) * even
                } else {
                    s.get(window.rows, from + i as u32) as u32
                }
            },
        );
        let at = |i: usize| window.first.offset(places[i]);
        if B::SIZE == 4 && s.branch(shape.size == 2) {
            let bits: [u16; 4] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| s.get(at(i).cast(), 0),
            );
            if s.branch(recipe.input == code(DType::BF16)) {
                return bits.map(|x| (x as u32) << 16);
            }
            return bits.map(|x| s.f16_to_f32(x).to_bits());
        }
        let (mut words, mut i) = ([0; 4], 0);
        while i < B::PER as usize {
            words = followed::<B>(words, s.get(at(i).cast(), 0));
            i += 1;
        }
        words
    }
}
