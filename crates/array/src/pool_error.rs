//! What was wrong with a pooling or a `top_k`, and what to do about it.

use warpfold_core::DType;

/// What was wrong with a pooling or a `top_k`, and what to do about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// A window of no axes, of more than three, or of more than the array has.
    #[error("{op}: the window has {axes} axes, and the array {rank}: give 1 to 3, at most as many as the array has")]
    Axes {
        /// The operation.
        op: &'static str,
        /// Of the window.
        axes: usize,
        /// Of the array.
        rank: usize,
    },
    /// Another number of numbers than the window has axes.
    #[error("{op}: {what} has {found} numbers: give one for each of the window's {axes} axes")]
    Numbers {
        /// The operation.
        op: &'static str,
        /// Which option.
        what: &'static str,
        /// Of the window.
        axes: usize,
        /// As given.
        found: usize,
    },
    /// A size or a step of nothing.
    #[error("{op}: {what} is 0: give at least 1")]
    Zero {
        /// The operation.
        op: &'static str,
        /// Which option.
        what: &'static str,
    },
    /// Padding that leaves windows without an element.
    #[error("{op}: padding {padding} of a window of {size}: give at most half of the window's size")]
    Padding {
        /// The operation.
        op: &'static str,
        /// As given.
        padding: usize,
        /// Of the window along this axis.
        size: usize,
    },
    /// A window that is larger than the padded axis.
    #[error("{op}: no window fits an axis of {len} elements: the window covers {extent}, with padding {padding}")]
    NoWindow {
        /// The operation.
        op: &'static str,
        /// Of the axis.
        len: usize,
        /// From the first tap of the window to the last.
        extent: usize,
        /// On either side.
        padding: usize,
    },
    /// Numbers whose sum or product is none.
    #[error("{op}: a window of size {size}, stride {stride}, padding {padding}, dilation {dilation} is beyond memory")]
    Overflow {
        /// The operation.
        op: &'static str,
        /// Of the window along the axis.
        size: usize,
        /// As given.
        stride: usize,
        /// As given.
        padding: usize,
        /// As given.
        dilation: usize,
    },
    /// An axis without elements.
    #[error("{op} of shape {shape:?}: the axes of the window have elements, only the others may have length 0")]
    Nothing {
        /// The operation.
        op: &'static str,
        /// Of the array.
        shape: Vec<usize>,
    },
    /// An option of the other pooling.
    #[error("{op} does not take {option}")]
    Option {
        /// The operation.
        op: &'static str,
        /// Which option.
        option: &'static str,
    },
    /// More elements of a window's axes than indices count.
    #[error("{op} with indices takes at most 2^32 - 1 elements along the axes of the window, these have {elements}")]
    Plane {
        /// The operation.
        op: &'static str,
        /// Of all axes of the window together.
        elements: usize,
    },
    /// Indices of another dtype.
    #[error("indices are i64, as max_pool gives them, but these have dtype {dtype}: cast them first")]
    IndexDType {
        /// Of the indices.
        dtype: DType,
    },
    /// An index that no element has.
    #[error("an index is no element of the window's axes: give 0 to {}, or -1", elements - 1)]
    Index {
        /// Of all axes of the window together.
        elements: usize,
    },
    /// More elements asked for than there are.
    #[error("top_k with k {k} of an axis of {len} elements: give 0 to {len}")]
    K {
        /// As given.
        k: usize,
        /// Of the axis.
        len: usize,
    },
}
