//! What the host and the kernels of a reducer must agree on.

use super::{Custom, fast};
use crate::node::Node;

/// What the host and the kernels must agree on, in words. A module says it by the sizes of the parameters of
/// `words_mat2`, which does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of an element.
    pub item: usize,
    /// Of a node.
    pub node: usize,
    /// Of a result.
    pub result: usize,
    /// Of the reducer, and one.
    pub reducer: usize,
    /// 4 if the fast kernels are there, 3 if not. (2 and 1 of kernels that take no elements in two arrays.)
    pub kernels: usize,
}

impl Sizes {
    /// A reducer's.
    #[must_use]
    pub const fn of<R: Custom>() -> Self {
        Self {
            item: <R::Item as Node>::WORDS as usize,
            node: <R::Acc as Node>::WORDS as usize,
            result: <R::Output as Node>::WORDS as usize,
            reducer: <R as Node>::WORDS as usize + 1,
            kernels: fast::<R>() as usize + 3,
        }
    }

    /// As bytes of each parameter.
    #[must_use]
    pub const fn bytes(self) -> [usize; 5] {
        [4 * self.item, 4 * self.node, 4 * self.result, 4 * self.reducer, 4 * self.kernels]
    }
}

/// A parameter of so many words.
#[doc(hidden)]
#[repr(C)]
pub struct Room<const N: usize>([u32; N]);
