//! Columns of different lengths, reduced side by side.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::simd::array;

/// Columns that [`fold_ragged`] reduces at a time: a vector or two.
pub(super) const TILE: usize = 16;

/// Rows that [`fold_ragged`] reduces at a time.
pub(super) const QUAD: usize = 4;

/// [`super::kernel::Kernel::columns`]. The identity stands for elements beyond a column's end, so that columns of any
/// lengths are reduced side by side. Nodes of four rows are joined as a binary counter carries.
#[inline(always)]
pub(super) fn fold_ragged<R: Reducer>(
    reducer: &R,
    identity: R::Acc,
    x: &[R::Item],
    lens: &[u32],
    out: &mut [MaybeUninit<R::Acc>],
) {
    let (lens, out) = (lens.as_chunks::<TILE>().0, out.as_chunks_mut::<TILE>().0);
    for ((x, lens), out) in x.chunks_exact(x.len() / lens.len()).zip(lens).zip(out) {
        let mut levels = [const { MaybeUninit::uninit() }; usize::BITS as usize];
        let quads = (lens.iter().fold(0, |most, &len| most.max(len)) as usize).div_ceil(QUAD);
        for (i, rows) in x.as_chunks::<TILE>().0.as_chunks::<QUAD>().0[..quads].iter().enumerate() {
            let low = pair(reducer, identity, [&rows[0], &rows[1]], i * QUAD, lens);
            let high = pair(reducer, identity, [&rows[2], &rows[3]], i * QUAD + 2, lens);
            let mut node = join(reducer, &low, &high);
            let mut level = 0;
            while i >> level & 1 == 1 {
                // SAFETY: the bits of i are the counter's digits, and the nodes of digits that are 1 are written.
                node = join(reducer, unsafe { levels[level].assume_init_ref() }, &node);
                level += 1;
            }
            levels[level].write(node);
        }
        let mut root = [identity; TILE];
        let mut digits = quads;
        while digits != 0 {
            // SAFETY: after `quads` nodes, the counter's digits that are 1 are the bits of `quads`, and their nodes are
            // written.
            root = join(reducer, unsafe { levels[digits.trailing_zeros() as usize].assume_init_ref() }, &root);
            digits &= digits - 1;
        }
        *out = array!(TILE, i => MaybeUninit::new(root[i]));
    }
}

/// The nodes over two rows of a tile.
#[inline(always)]
fn pair<R: Reducer>(
    reducer: &R,
    identity: R::Acc,
    rows: [&[R::Item; TILE]; 2],
    first: usize,
    lens: &[u32; TILE],
) -> [R::Acc; TILE] {
    let [mut left, mut right] = [[identity; TILE]; 2];
    for i in 0..TILE {
        let (a, b) = (reducer.lift(rows[0][i], first as u64), reducer.lift(rows[1][i], first as u64 + 1));
        left[i] = if first < lens[i] as usize { a } else { identity };
        right[i] = if first + 1 < lens[i] as usize { b } else { identity };
    }
    join(reducer, &left, &right)
}

/// Combines two rows of nodes, column by column.
#[inline(always)]
fn join<R: Reducer>(reducer: &R, left: &[R::Acc; TILE], right: &[R::Acc; TILE]) -> [R::Acc; TILE] {
    array!(TILE, i => reducer.combine(left[i], right[i]))
}
