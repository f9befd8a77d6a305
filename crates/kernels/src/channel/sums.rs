//! Sums of subtrees where channels' runs are no whole packs: of the products of gradients and normalised elements, and
//! of gradients, both at once. What is left to be reduced is a fraction of the elements.

use super::{Channels, TORN, beside, torn};
use crate::node::Node;
use crate::source::Source;
use warpfold_core::{Element, Float};
use warpfold_simt::Simt;

/// See [the module](self).
#[inline(always)]
pub fn kernel<S, X>(s: &S, call: &Channels)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    if s.branch(call.kind == TORN) {
        torn::kernel::<S, X>(s, call);
    } else {
        beside::kernel::<S, X>(s, call);
    }
}
