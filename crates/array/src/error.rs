//! What was wrong with a reduction, and what to do about it.

use warpfold_core::DType;

use crate::cuda_error::CudaError;
use crate::key_error::KeyError;
use crate::op::{Op, names};
use crate::pool_error::PoolError;
use crate::row_error::RowError;

/// What was wrong with a reduction, and what to do about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An axis that the array does not have.
    #[error("axis {axis} is out of range for an array of rank {rank}: use {}", range(*rank))]
    AxisOutOfRange {
        /// As given.
        axis: isize,
        /// Of the array.
        rank: usize,
    },
    /// An axis named twice, perhaps once from the end.
    #[error("axis {axis} is named twice: name each axis once (-1 is the last)")]
    AxisTwice {
        /// As given the second time.
        axis: isize,
    },
    /// More axes than [`crate::MAX_RANK`].
    #[error("rank {rank} is too high: at most {} axes are supported; reshape the array", crate::MAX_RANK)]
    RankTooHigh {
        /// Of the array.
        rank: usize,
    },
    /// More elements than memory can hold.
    #[error("shape {shape:?} has more elements than memory can address")]
    ShapeOverflow {
        /// As given.
        shape: Vec<usize>,
    },
    /// Data and shape disagree.
    #[error("shape {shape:?} needs {expected} elements or bytes, the data have {found}")]
    Length {
        /// As given.
        shape: Vec<usize>,
        /// By the shape.
        expected: usize,
        /// In the data.
        found: usize,
    },
    /// Strides and shape disagree.
    #[error("shape {shape:?} needs {expected} strides, {found} are given: one per axis")]
    Strides {
        /// As given.
        shape: Vec<usize>,
        /// Its rank.
        expected: usize,
        /// As given.
        found: usize,
    },
    /// A mask that does not fit.
    #[error("the mask has shape {mask:?}, which does not broadcast to the array's {array:?}")]
    MaskShape {
        /// Of the mask.
        mask: Vec<usize>,
        /// Of the array.
        array: Vec<usize>,
    },
    /// A mask of numbers.
    #[error("the mask has dtype {dtype}, it must be bool: compare it with something first")]
    MaskDType {
        /// Of the mask.
        dtype: DType,
    },
    /// No elements, and no identity.
    #[error(
        "{op} of no elements (array of dtype {dtype}, shape {shape:?}, axes {axes:?}): a slice is empty, or the mask \
         leaves nothing of it, and {op} has no identity{}",
        hint(*op)
    )]
    Empty {
        /// The reduction.
        op: Op,
        /// Of the array.
        dtype: DType,
        /// Of the array.
        shape: Vec<usize>,
        /// The axes reduced.
        axes: Vec<usize>,
    },
    /// An arg op that skips NaNs found nothing else.
    #[error(
        "{op} found only NaN in a slice (array of shape {shape:?}, axes {axes:?}), and skips them: there is no index \
         to give"
    )]
    AllNan {
        /// The reduction.
        op: Op,
        /// Of the array.
        shape: Vec<usize>,
        /// The axes reduced.
        axes: Vec<usize>,
    },
    /// An option that this reduction does not have.
    #[error("{op} of {dtype} does not take {option}: {why}")]
    Unsupported {
        /// The reduction.
        op: Op,
        /// Of the array.
        dtype: DType,
        /// As the builder and the command line name it.
        option: &'static str,
        /// And what to do.
        why: &'static str,
    },
    /// A typed view that gives other elements than it says.
    #[error("a view of {elem} gave an array of {found}: `view` must give elements of the type `Elem`")]
    ViewDType {
        /// By the type of the view.
        elem: DType,
        /// Of the array that it gave.
        found: DType,
    },
    /// Elements in the byte order that is not this machine's, for a custom reducer.
    #[error("a custom reducer takes elements in this machine's byte order: copy the array into it first")]
    CustomByteOrder,
    /// A custom reducer with options of the built-in ones.
    #[error(
        "a custom reducer takes axes, keepdims, a mask and threads only, no keys: build NaN skipping and initial \
         values into it"
    )]
    CustomOption,
    /// A custom reducer without an identity, and no elements.
    #[error("nothing to reduce (array of shape {shape:?}, axes {axes:?}), and the reducer has no identity")]
    CustomEmpty {
        /// Of the array.
        shape: Vec<usize>,
        /// The axes reduced.
        axes: Vec<usize>,
    },
    /// A name that no reduction has.
    #[error("unknown reduction `{name}`: {}one of {}", meant(*nearest), names())]
    UnknownOp {
        /// As given.
        name: String,
        /// One that exists, if it is near.
        nearest: Option<&'static str>,
    },
    /// A device that is not there.
    #[error("no device `{name}`: {why}")]
    Device {
        /// As given.
        name: String,
        /// And what to do.
        why: String,
    },
    /// A GPU, or its driver, refused.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// A kernel that does something wrong.
    #[error("{why}")]
    Emulator {
        /// What, and where.
        why: String,
    },
    /// The operating system gave no threads.
    #[error("could not start {threads} threads: {why}")]
    Threads {
        /// As asked for.
        threads: usize,
        /// The system's words.
        why: String,
    },
    /// A result that memory does not hold.
    #[error("{what} would take {bytes} bytes, {}: ask for fewer outputs, groups or bins", left(*available))]
    Memory {
        /// What is to be allocated.
        what: &'static str,
        /// Its size.
        bytes: u128,
        /// What the system can give, if it says.
        available: Option<u64>,
    },
    /// Offsets, labels, bins or points that cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Arrays or numbers that an operation on rows cannot use.
    #[error(transparent)]
    Row(#[from] RowError),
    /// Windows, indices or numbers that a pooling or a `top_k` cannot use.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A part of a reduction that does not fit the other parts.
    #[error("{why}")]
    Spans {
        /// What, and what to do.
        why: String,
    },
    /// A streamed part that does not follow.
    #[error(transparent)]
    NotAdjacent(#[from] warpfold_core::NotAdjacent),
}

fn range(rank: usize) -> String {
    match rank {
        0 => "no axis, it has none".into(),
        _ => format!("-{rank} to {}", rank - 1),
    }
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |name| format!("did you mean `{name}`? It is "))
}

fn left(available: Option<u64>) -> String {
    available.map_or("more than the system gives".into(), |bytes| format!("but {bytes} are available"))
}

fn hint(op: Op) -> &'static str {
    match op {
        Op::Min | Op::Max => "; give an initial value (initial, --initial)",
        _ => "",
    }
}
