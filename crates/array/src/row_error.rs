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
    /// Targets that are neither integers nor a distribution for each row.
    #[error(
        "targets are indices of classes, or floats of the shape of the logits, but these have dtype {dtype}: cast them \
         to an integer dtype"
    )]
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
    /// Indices that are no integers.
    #[error("{op}: indices are integers, but these have dtype {dtype}: cast them to an integer dtype")]
    NotIndices {
        /// The operation.
        op: &'static str,
        /// The dtype of the indices.
        dtype: DType,
    },
    /// An index beyond the places that there are.
    #[error("{op}: index {index}, number {at} in row-major order, is not below {len}, the number of places")]
    Index {
        /// The operation.
        op: &'static str,
        /// The first such index, in row-major order.
        at: usize,
        /// As given.
        index: i128,
        /// The number of places.
        len: usize,
    },
    /// Memory for a result whose elements may share memory.
    #[error(
        "elements of the array for the result, of shape {shape:?} and strides {strides:?}, share memory: give one \
         whose elements lie apart"
    )]
    Shared {
        /// Of the array.
        shape: Vec<usize>,
        /// In bytes.
        strides: Vec<isize>,
    },
    /// Memory for a result that is also another array of the call.
    #[error(
        "{op}: the array for the result overlaps {what}: give the logits themselves, or an array that shares no memory"
    )]
    Overlap {
        /// The operation.
        op: &'static str,
        /// Which array.
        what: &'static str,
    },
    /// Memory for a result of another dtype.
    #[error("{op}: the array for the result has dtype {found}, and must have {expected}")]
    ResultDType {
        /// The operation.
        op: &'static str,
        /// That of the result.
        expected: DType,
        /// As given.
        found: DType,
    },
    /// No classes to choose from.
    #[error("cross_entropy of shape {shape:?}: axis {axis} has the classes, and there are none")]
    NoClasses {
        /// Of the logits.
        shape: Vec<usize>,
        /// The axis of the classes.
        axis: usize,
    },
    /// Channels that are no multiple of the groups.
    #[error("{op} of {channels} channels in {groups} groups: give a number of groups that divides the channels")]
    Groups {
        /// The operation.
        op: &'static str,
        /// The length of axis 1.
        channels: usize,
        /// As given.
        groups: usize,
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
