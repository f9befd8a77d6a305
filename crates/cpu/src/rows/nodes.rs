//! The nodes of a block's rows, by the kernels of reductions.

use std::mem::MaybeUninit;

use warpfold_core::ops::Sum;

use crate::fallback::Fallback;
use crate::kernel::{Acc, Item, Kernel, Tree};

use super::engine::Node;
use super::lines::RowFloat;

/// Calls `write` with the number of each row of `n` elements, and its node.
pub fn nodes<K: Kernel>(kernel: &K, x: &[Item<K>], n: usize, mut write: impl FnMut(usize, Acc<K>)) {
    const ROWS: usize = 64;
    let mut room = [const { MaybeUninit::<Acc<K>>::uninit() }; ROWS];
    let fallback = Fallback(kernel);
    let loops = fallback.or_own();
    for (at, x) in x.chunks(ROWS * n).enumerate() {
        let room = &mut room[..x.len() / n];
        // SAFETY: there are as many rows in `x`, and room for a node of each.
        unsafe { loops.rows(x.as_ptr().cast(), x.len(), n, room.as_mut_ptr().cast()) };
        for (row, node) in room.iter().enumerate() {
            // SAFETY: `rows` has written a node for each row.
            write(at * ROWS + row, unsafe { node.assume_init() });
        }
    }
}

/// Writes the sum of each row of `n` terms to one of the numbers of its node.
pub fn sums<F: RowFloat>(terms: &[F], n: usize, nodes_of_rows: &mut [Node<F>], which: usize) {
    nodes(&Tree(Sum::<F>::total()), terms, n, |row, sum| nodes_of_rows[row][which] = sum);
}
