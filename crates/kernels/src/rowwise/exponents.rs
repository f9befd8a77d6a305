//! How sums of exponentials meet.
//!
//! Idea: exponentials of ordinary elements are in scale 0, where they are plain numbers. Nodes that are all in that
//! scale are added up; others, of elements that are large, infinite or NaN, are joined scale by scale.

use super::level::{Level, Sums, few};
use crate::node::Node;
use core::marker::PhantomData;
use warpfold_core::ops::{Exponential, LogSumExp, Powers};
use warpfold_core::{Element, Float, Reducer};
use warpfold_simt::{ALL, Simt};

/// Nodes of [`LogSumExp`].
#[derive(Clone, Copy)]
pub struct Exponents<F>(PhantomData<F>);

impl<F> Level for Exponents<F>
where
    F: Element<Float = F, Mean = F> + Float + Node,
{
    type Node = Powers<F, F>;
    const NEW: Self = Self(PhantomData);
    const COUNTS: bool = false;
    #[inline(always)]
    fn nothing(self) -> Self::Node {
        Powers { scale: F::NO_TERM, sum: F::ZERO }
    }
    #[inline(always)]
    fn join(self, left: Self::Node, right: Self::Node, _each: u32) -> Self::Node {
        LogSumExp::<F>::new().combine(left, right)
    }
    #[inline(always)]
    fn meet(self, left: (Self::Node, u64), right: (Self::Node, u64)) -> Self::Node {
        self.join(left.0, right.0, 0)
    }
    /// Terms in scale 0, or none: sums of them are all that is joined.
    #[inline(always)]
    fn fewer<S: Simt>(self, s: &S, node: Self::Node, lanes: u32) -> Option<Self::Node> {
        let is_none = node.scale == F::NO_TERM && node.sum == F::ZERO;
        if !s.branch(s.all(ALL, node.scale == F::ZERO || is_none)) {
            return None;
        }
        Some(in_scale_0(few(s, Sums::NEW, node.sum, lanes, s.lane(), [0; 2])))
    }
}

/// The node of a sum of terms in scale 0, of which there are none if it is zero.
#[inline(always)]
pub fn in_scale_0<F: Exponential + Float>(sum: F) -> Powers<F, F> {
    Powers { scale: if sum == F::ZERO { F::NO_TERM } else { F::ZERO }, sum }
}
