//! Dense rows of few columns, for the kernel of all statistics. Columns that do not fill a tile are cut into stretches
//! of rows that lie abreast, so that tiles are filled; the fewest columns are brought side by side, each a block.

use std::mem::MaybeUninit;

use super::described::Described;
use super::{DENSE_BYTES, Describe, FEW, Node};
use crate::kernel::Kernel;
use crate::moves::copy_lines;
use crate::panel::TILE;
use crate::policy::{PANEL, TALL};
use crate::simd::array;
use crate::transpose::{Rows, take_apart};

/// The most nodes of stretches that lie abreast, and of the halves of dense rows.
const MOST_NODES: usize = DENSE_BYTES / 2 / TALL;

/// Bytes between rows of stretches, so that they do not compete for one cache set.
const PAD: usize = 64;

/// The fewest columns whose stretches lie abreast, of elements of so many bytes. 128 MiB, two threads of a Xeon with
/// AVX-512, ms of columns as blocks, and of stretches, along axis 0: bf16, 16 columns 24.4, 18.0; 24 31.6, 17.9; f16,
/// 31 33.7, 15.8; f32, 24 22.3, 13.6; f64, 24 20.5, 13.4; i8, 20 38.2, 21.3. Fewer lost, of which there is no record.
const fn least_columns(size: usize) -> usize {
    match size {
        1 => 16,
        2 => 8,
        _ => 12,
    }
}

impl<T: Described> Describe<T> {
    /// [`Kernel::dense`].
    pub(super) fn dense_rows(&self, x: &[T], start: u64, out: &mut [MaybeUninit<Node<T>>]) {
        let (width, rows) = (out.len(), x.len() / out.len());
        match width {
            ..FEW => {
                if !self.abreast(x, start, out) {
                    self.blocks(x, start, out);
                }
            }
            _ if rows > TALL => self.halves(x, start, out),
            _ => {
                let mut room = [std::ptr::null(); TALL];
                for (to, row) in room.iter_mut().zip(x.chunks_exact(width)) {
                    *to = row.as_ptr();
                }
                // SAFETY: `x` has all rows, which are at least as wide as a tile.
                unsafe { self.wide(&room[..rows], start, size_of_val(x) as isize, out) };
            }
        }
    }

    /// Two halves, since tiles are faster than blocks of columns: 64 MiB, two threads of an EPYC with AVX-512, ms of 32
    /// columns as blocks, and of 33 in tiles: f32 9.6, 6.5; bf16 6.8, 4.3 (32 MiB); u8 4.3, 2.7 (16).
    #[inline(never)]
    fn halves(&self, x: &[T], start: u64, out: &mut [MaybeUninit<Node<T>>]) {
        let (width, rows) = (out.len(), x.len() / out.len());
        let (top, bottom) = x.split_at(x.len() / 2);
        let mut right = [const { MaybeUninit::uninit() }; MOST_NODES];
        let (right, n) = (&mut right[..width], rows as u64 / 2);
        self.dense_rows(top, start, out);
        self.dense_rows(bottom, start + n, right);
        // SAFETY: `dense_rows` writes a node for each column.
        unsafe { self.merge(out.assume_init_ref(), n, right.assume_init_mut(), n) };
        out.copy_from_slice(right);
    }

    /// Tiles of at least as many columns as a narrow one. The rows after them begin `next` bytes from them.
    ///
    /// # Safety
    /// Every row has `out.len()` elements.
    unsafe fn wide(&self, rows: &[*const T], start: u64, next: isize, out: &mut [MaybeUninit<Node<T>>]) {
        // SAFETY: the caller's; a tile is no wider than the rows.
        unsafe {
            match out.len() {
                TILE.. if size_of::<T>() < 8 => self.tiles::<TILE>(rows, start, next, out),
                _ => self.tiles::<FEW>(rows, start, next, out),
            }
        }
    }

    /// Columns that are brought side by side, each of which is a block.
    #[inline(never)]
    fn blocks(&self, x: &[T], start: u64, out: &mut [MaybeUninit<Node<T>>]) {
        let (width, rows) = (out.len(), x.len() / out.len());
        let mut room = [const { MaybeUninit::<u64>::uninit() }; DENSE_BYTES / 8];
        let dense = Rows::dense(rows, width, size_of::<T>(), true);
        // SAFETY: `x` has all rows, and there is room for as many elements, all of which are written.
        let apart = unsafe {
            let to = room.as_mut_ptr().cast::<T>();
            take_apart(x.as_ptr(), dense, to, rows);
            std::slice::from_raw_parts(to, x.len())
        };
        for (column, out) in apart.chunks_exact(rows).zip(out) {
            out.write(self.block(column, start));
        }
    }

    /// Columns that are cut into stretches of rows. A row of each stretch, one beside the other, is a row of more
    /// columns, and the stretches' nodes are merged. False if there are too few rows or columns.
    #[inline(never)]
    fn abreast(&self, x: &[T], start: u64, out: &mut [MaybeUninit<Node<T>>]) -> bool {
        let (width, rows, size) = (out.len(), x.len() / out.len(), size_of::<T>());
        let abreast = (rows / TALL).max(FEW.div_ceil(width).next_power_of_two());
        let (depth, line) = (rows / abreast, abreast * width);
        if depth < PANEL || width < least_columns(size) {
            return false;
        }
        let pitch = line + PAD / size;
        let mut room = [const { MaybeUninit::<u64>::uninit() }; (DENSE_BYTES + TALL * PAD) / 8];
        let mut nodes = [const { MaybeUninit::uninit() }; MOST_NODES];
        let (to, nodes) = (room.as_mut_ptr().cast::<T>(), &mut nodes[..line]);
        // SAFETY: `x` has all rows, and there is room for as many elements, and for the gaps between rows.
        unsafe {
            if matches!(width * size, 8 | 16) {
                let row = width * size;
                take_apart(x.as_ptr(), Rows::dense(abreast, depth, row, true), to, pitch * size / row);
            } else {
                for stretch in 0..abreast {
                    let (x, to) = (x.as_ptr().add(stretch * depth * width), to.add(stretch * width));
                    copy_lines(x, depth, (width * size) as isize, width, size, to, pitch);
                }
            }
        }
        let lines: [_; TALL] = array!(TALL, i => to.cast_const().wrapping_add(i * pitch));
        // SAFETY: every line has `line` elements, all of which are written, at least as many as a narrow tile has; a
        // node of each column is written.
        let nodes = unsafe {
            self.wide(&lines[..depth], start, 0, nodes);
            nodes.assume_init_mut()
        };
        for (stretch, nodes) in nodes.chunks_exact_mut(width).enumerate() {
            let before = (stretch * depth) as u64;
            for node in nodes {
                (node.argmin, node.argmax) = (node.argmin + before, node.argmax + before);
            }
        }
        let (mut step, mut n) = (width, depth as u64);
        while step < line {
            // The node of each half is its last row.
            for pair in nodes.chunks_exact_mut(2 * step) {
                let (left, right) = pair.split_at_mut(step);
                self.merge(&left[step - width..], n, &mut right[step - width..], n);
            }
            (step, n) = (2 * step, 2 * n);
        }
        for (out, node) in out.iter_mut().zip(&nodes[line - width..]) {
            out.write(*node);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use warpfold_core::{Float, bf16, f16};

    use super::*;

    /// What a node says, but for its total, which the moments' mean stands for.
    fn facts<T: Described>(node: &Node<T>) -> [u64; 8] {
        let number = |x: T::Float| Some(x.to_f64()).filter(|x| !x.is_nan()).map_or(0, f64::to_bits);
        let [min, max] = [node.min, node.max].map(|key| number(T::of_bits(key).float()));
        let Node { sums, argmin, argmax, nans, .. } = *node;
        [min, max, argmin, argmax, nans, number(sums.norm), number(sums.moments.mean), number(sums.moments.m2)]
    }

    #[test]
    fn columns_of_any_width_have_the_nodes_of_blocks() {
        fn check<T: Described>(of: fn(f32) -> T) {
            let kernel = Describe::<T>::new();
            for width in (1..70).chain([100]) {
                for rows in [8, 16, 64, 128, 256, 512, 1024, 4096] {
                    if rows * width > <Describe<T> as Kernel>::DENSE_ITEMS {
                        continue;
                    }
                    let x: Vec<T> = (0..rows * width)
                        .map(|i| match (i * 7919 + width) % 9973 {
                            0 => of(f32::NAN),
                            1..40 => of(-0.0),
                            40..80 => of(0.0),
                            n => of((n % 251) as f32 / 4.0 - 20.0),
                        })
                        .collect();
                    let mut out = vec![MaybeUninit::uninit(); width];
                    kernel.dense(&x, 4096, &mut out);
                    for (i, node) in out.iter().enumerate() {
                        let column: Vec<T> = x.iter().skip(i).step_by(width).copied().collect();
                        // SAFETY: `dense` writes a node for each column.
                        let found = facts(unsafe { node.assume_init_ref() });
                        assert_eq!(found, facts(&kernel.block(&column, 4096)), "{rows} rows of {width}: column {i}");
                    }
                }
            }
        }
        check(f16::from_f32);
        check(bf16::from_f32);
        check(|x| x);
        check(f64::from);
        check(|x| x as i8);
        check(|x| x as i32);
    }
}
