//! What was wrong with an operation on rows, and what to do about it.

use warpfold_core::DType;

/// What was wrong with an operation on rows, and what to do about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// Elements that are no floats.
    #[error("{op} takes floats, but {what} have dtype {dtype}: cast them first")]
    NotFloats {
        /// The operation.
        op: &'static str,
        /// Which array.
        what: &'static str,
        /// Its dtype.
        dtype: DType,
    },
    /// Targets that are no integers.
    #[error("targets are indices of classes, but these have dtype {dtype}: cast them to an integer dtype")]
    NotIntegers {
        /// The dtype of the targets.
        dtype: DType,
    },
    /// An array of another shape than its use needs.
    #[error("{op}: {what} have shape {found:?}, and must have shape {expected:?}")]
    Shape {
        /// The operation.
        op: &'static str,
        /// Which array.
        what: &'static str,
        /// By the other arrays and the axes.
        expected: Vec<usize>,
        /// As given.
        found: Vec<usize>,
    },
    /// A target that is no class.
    #[error("target {target} of row {row} is no class: give 0 to {}, or the target that is ignored", classes - 1)]
    Target {
        /// The first such row, in row-major order.
        row: usize,
        /// As given.
        target: i128,
        /// The number of classes.
        classes: usize,
    },
    /// No classes to choose from.
    #[error("cross_entropy of shape {shape:?}: axis {axis} has the classes, and there are none")]
    NoClasses {
        /// Of the logits.
        shape: Vec<usize>,
        /// The axis of the classes.
        axis: usize,
    },
    /// A number out of its range.
    #[error("{op} with {what} {value}: give {range}")]
    Number {
        /// The operation.
        op: &'static str,
        /// Which number.
        what: &'static str,
        /// As given.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
}
