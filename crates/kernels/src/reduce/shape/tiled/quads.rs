//! Windows of whole columns of 2, 4 or 8 rows, whose rows begin with lines.
//!
//! Idea: a thread reads four columns of a row at once (two of 8 bytes): a *quad*. Rows of a quad meet first, then its
//! columns, then quads: no element is moved for that. Threads side by side have windows side by side, and begin with
//! other quads of these, so that no two that read at once want the same bank. Bottleneck: instructions.

use super::tile::Tile;
use crate::node::select;
use crate::reduce::fold::Tree;
use crate::reduce::recipe::code;
use crate::reduce::shape::piece::{PACKS, all_ordinary};
use crate::reduce::shape::split::STEPS;
use crate::source::Bits;
use warpfold_core::DType;
use warpfold_simt::{ALL, Pack, Shared, Simt};

/// The logarithm of the quads of a window.
#[inline(always)]
fn quads(rows: u32) -> u32 {
    PACKS.trailing_zeros() - rows.trailing_zeros()
}

impl<const K: usize> Tile<'_, K> {
    /// The node of a whole window, which begins at `first`; none, if its elements are not ordinary.
    #[inline(always)]
    pub(super) fn quads<S: Simt, F: Tree>(&self, s: &S, f: &F, first: Shared<u8>) -> Option<F::Node> {
        let shape = &self.call.shape;
        let rows = shape.fresh.by as u32;
        // The number of a thread's first quad.
        let turn = s.lane() >> (if shape.size == 2 { 4 } else { 3 } - quads(rows));
        let (f, w) = f.whole(s, self.read_quads::<S, F::Bits>(s, first, turn));
        if !F::HAS_PLAIN {
            return Some(node(s, &f, &w, rows, turn));
        }
        let plain = f.plain();
        s.branch(s.all(ALL, all_ordinary(s, &f, &w))).then(|| f.raise(node(s, &plain, &w, rows, turn)))
    }

    /// The quads of a window, all rows of one after the other: as f32 if they have 16 bits.
    #[inline(always)]
    fn read_quads<S: Simt, B: Bits>(&self, s: &S, first: Shared<u8>, turn: u32) -> [[u32; 4]; STEPS] {
        let (shape, recipe) = (&self.call.shape, &self.call.recipe);
        let rows = shape.fresh.by as u32;
        let most = (1 << quads(rows)) - 1;
        let at = |p: usize| {
            let (quad, row) = (p as u32 >> rows.trailing_zeros(), p as u32 & (rows - 1));
            first.offset(row * shape.even + ((quad + turn) & most) * B::PER * shape.size)
        };
        if B::SIZE == 4 && s.branch(shape.size == 2) {
            let halves: [[u16; 4]; STEPS] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |p| {
                    let both = s.get(at(p).cast::<u64>(), 0);
                    [both as u16, (both >> 16) as u16, (both >> 32) as u16, (both >> 48) as u16]
                },
            );
            if s.branch(recipe.input == code(DType::BF16)) {
                return halves.map(|quad| quad.map(|x| (x as u32) << 16));
            }
            return halves.map(
                #[inline(always)]
                |quad| quad.map(|x| s.f16_to_f32(x).to_bits()),
            );
        }
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |p| s.get(at(p).cast::<Pack<u32, 4>>(), 0).0,
        )
    }
}

/// The node over the quads of a window, of which quad `turn` comes first.
#[inline(always)]
fn node<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS], rows: u32, turn: u32) -> F::Node {
    let per = F::Bits::PER;
    // Columns side by side, of so many rows each.
    let across = |of: [F::Node; 4], rows: u32| {
        let two = |i: usize| f.join(of[i], of[i + 1], rows);
        if per == 2 { two(0) } else { f.join(two(0), two(2), 2 * rows) }
    };
    let pairs = |m: usize| -> [F::Node; 4] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                let i = i % per as usize;
                f.pair(s, F::Bits::nth(&w[2 * m], i), F::Bits::nth(&w[2 * m + 1], i))
            },
        )
    };
    let meet = |left: [F::Node; 4], right: [F::Node; 4], rows: u32| -> [F::Node; 4] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| f.join(left[i], right[i], rows),
        )
    };
    let pairs = [pairs(0), pairs(1), pairs(2), pairs(3)];
    if s.branch(rows == 2) {
        let quads = pairs.map(
            #[inline(always)]
            |of| across(of, 2),
        );
        let one = |i: usize| select(turn & 1 == 0, quads[i], quads[(i + 3) % 4]);
        let own = [one(0), one(1), one(2), one(3)];
        let own = |i: usize| select(turn & 2 == 0, own[i], own[(i + 2) % 4]);
        let two = |i: usize| f.join(own(i), own(i + 1), 2 * per);
        return f.join(two(0), two(2), 4 * per);
    }
    let fours = [meet(pairs[0], pairs[1], 2), meet(pairs[2], pairs[3], 2)];
    if s.branch(rows == 4) {
        let quads = fours.map(
            #[inline(always)]
            |of| across(of, 4),
        );
        let [left, right] = [select(turn & 1 == 0, quads[0], quads[1]), select(turn & 1 == 0, quads[1], quads[0])];
        return f.join(left, right, 4 * per);
    }
    across(meet(fours[0], fours[1], 4), 8)
}
