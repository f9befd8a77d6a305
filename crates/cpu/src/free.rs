//! The kernels of order-free reducers: extrema of pairs and of magnitudes, logic, counts and products of
//! integers. Their result does not depend on the tree, so each lane of a vector keeps a running node of its own.

use std::mem::MaybeUninit;

use warpfold_core::ops::{AbsMax, All, Any, CountNan, CountNonzero, IntegerProduct, MinMax};
use warpfold_core::{Element, Real, Reducer};

use super::kernel::{Kernel, each_row};
use super::panel::{Panel, fold_columns_by, run_tile};
use super::policy::{LONG_BLOCK, SHORT_BYTES};
use super::simd::{array, vectors_256};

/// Lanes, each of which has a running node. 64 nodes of i32 fill eight AVX2 registers, which hides the latency of an
/// instruction.
pub(super) const LANES: usize = 64;

/// Calls `each` with pieces of [`LANES`] elements; returns the elements after the last whole piece.
#[inline(always)]
pub(super) fn pieces<T>(x: &[T], mut each: impl FnMut(&[T; LANES])) -> &[T] {
    let (pieces, tail) = x.as_chunks::<LANES>();
    for piece in pieces {
        each(piece);
    }
    tail
}

/// An order-free reducer with small nodes: extrema, logic, counts, products of integers.
pub trait OrderFree: Reducer {
    /// [`Kernel::ENDS`].
    const ENDS: bool = false;

    /// [`Kernel::is_final`].
    fn is_final(&self, _node: &Self::Acc) -> bool {
        false
    }

    /// The node of a block, whose first element has the index `start`.
    #[inline(always)]
    fn block(&self, x: &[Self::Item], start: u64) -> Self::Acc {
        lanes_block(self, x, start)
    }
}

impl<T: Element> OrderFree for MinMax<T> {}
impl<T: Element<Float = T> + Real> OrderFree for AbsMax<T> {}
impl<T: Element> OrderFree for IntegerProduct<T> {}

impl<T: Element> OrderFree for Any<T> {
    const ENDS: bool = true;

    fn is_final(&self, &any: &u8) -> bool {
        any != 0
    }
}

impl<T: Element> OrderFree for All<T> {
    const ENDS: bool = true;

    fn is_final(&self, &all: &u8) -> bool {
        all == 0
    }
}

impl<T: Element> OrderFree for CountNonzero<T> {
    #[inline(always)]
    fn block(&self, x: &[T], _start: u64) -> i64 {
        count_block(
            x,
            #[inline(always)]
            |x| x.truthy() & !(self.skip_nan & x.is_nan()),
        )
    }
}

impl<T: Element> OrderFree for CountNan<T> {
    #[inline(always)]
    fn block(&self, x: &[T], _start: u64) -> i64 {
        count_block(
            x,
            #[inline(always)]
            |x| x.is_nan(),
        )
    }
}

/// The kernel of an order-free reducer: in a block, each lane of a vector keeps a running node of its own.
#[derive(Clone)]
pub struct Lanes<R>(pub R);

impl<R: OrderFree> Kernel for Lanes<R> {
    type R = R;

    const FREE: bool = true;

    const LONG: bool = true;

    const ENDS: bool = R::ENDS;

    fn is_final(&self, node: &R::Acc) -> bool {
        self.0.is_final(node)
    }

    /// Blocks and columns have loops of their own. What else is done to a node is too little for vectors.
    const VECTORS: bool = false;

    fn reducer(&self) -> &R {
        &self.0
    }

    fn apart(len: usize) -> bool {
        len * size_of::<R::Item>() < SHORT_BYTES
    }

    fn rows(&self, x: &[R::Item], len: usize, out: &mut [MaybeUninit<R::Acc>]) {
        each_row(self, x, len, out);
    }

    unsafe fn panel(&self, panel: Panel<'_, R::Item>, out: &mut [MaybeUninit<R::Acc>]) {
        vectors_256(
            #[inline(always)]
            || {
                // SAFETY: the caller vouches for a group's share of `out` in every row.
                unsafe {
                    fold_columns_by::<false, _, _>(
                        panel,
                        out,
                        #[inline(always)]
                        |rows, at, out| run_tile(&self.0, rows, at, out),
                    );
                }
            },
        );
    }

    fn block(&self, x: &[R::Item], start: u64) -> R::Acc {
        vectors_256(
            #[inline(always)]
            || self.0.block(x, start),
        )
    }
}

/// The node of a block: each lane combines every [`LANES`]th element, and then lanes are combined pair by pair.
#[inline(always)]
pub(super) fn lanes_block<R: Reducer>(reducer: &R, x: &[R::Item], start: u64) -> R::Acc {
    let fold = |acc: R::Acc, x: &R::Item| reducer.combine(acc, reducer.lift(*x, start));
    let Some((first, x)) = x.split_first_chunk::<LANES>() else {
        return x[1..].iter().fold(reducer.lift(x[0], start), fold);
    };
    let mut lanes: [R::Acc; LANES] = array!(LANES, i => reducer.lift(first[i], start));
    let tail = pieces(
        x,
        #[inline(always)]
        |piece| {
            for i in 0..LANES {
                lanes[i] = reducer.combine(lanes[i], reducer.lift(piece[i], start));
            }
        },
    );
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = reducer.combine(lanes[i], lanes[i + width]);
        }
    }
    tail.iter().fold(lanes[0], fold)
}

/// How many elements of a block `test` accepts. Counters are 16 bits wide, so that they are not much wider than the
/// elements; a lane of a block has at most 1024.
#[inline(always)]
pub(super) fn count_block<T: Copy>(x: &[T], test: impl Fn(T) -> bool) -> i64 {
    const { assert!(LONG_BLOCK / LANES <= u16::MAX as usize) };
    let mut lanes = [0u16; LANES];
    let tail = pieces(
        x,
        #[inline(always)]
        |piece| {
            for i in 0..LANES {
                lanes[i] += test(piece[i]) as u16;
            }
        },
    );
    let tail = tail.iter().filter(|&&x| test(x)).count() as i64;
    lanes.iter().fold(tail, |a, &n| a + n as i64)
}
