//! The reductions by name, and their variants: the order of a norm, the precision of a sum.

use std::fmt;

use warpfold_core::{DType, Kind};

/// A reduction, named at run time.
///
/// ```
/// use warpfold_array::Op;
/// use warpfold_core::DType;
///
/// let op: Op = "argmax".parse()?;
/// assert_eq!(op, Op::ArgMax);
/// assert_eq!(op.result_dtype(DType::F32), DType::I64);
/// # Ok::<(), warpfold_array::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs)]
pub enum Op {
    Sum,
    Prod,
    Mean,
    Var,
    Std,
    Norm,
    Min,
    Max,
    /// Both minimum and maximum. The result has one more axis of length 2 at the end: least, greatest.
    MinMax,
    ArgMin,
    ArgMax,
    Any,
    All,
    CountNonzero,
    LogSumExp,
}

impl Op {
    /// Every reduction.
    pub const ALL: [Op; 15] = [
        Op::Sum,
        Op::Prod,
        Op::Mean,
        Op::Var,
        Op::Std,
        Op::Norm,
        Op::Min,
        Op::Max,
        Op::MinMax,
        Op::ArgMin,
        Op::ArgMax,
        Op::Any,
        Op::All,
        Op::CountNonzero,
        Op::LogSumExp,
    ];

    /// The name, as the command line takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Sum => "sum",
            Op::Prod => "prod",
            Op::Mean => "mean",
            Op::Var => "var",
            Op::Std => "std",
            Op::Norm => "norm",
            Op::Min => "min",
            Op::Max => "max",
            Op::MinMax => "minmax",
            Op::ArgMin => "argmin",
            Op::ArgMax => "argmax",
            Op::Any => "any",
            Op::All => "all",
            Op::CountNonzero => "count-nonzero",
            Op::LogSumExp => "logsumexp",
        }
    }

    /// Whether the result is one of the elements, so that nothing is rounded.
    pub const fn selects(self) -> bool {
        matches!(self, Op::Min | Op::Max | Op::MinMax | Op::ArgMin | Op::ArgMax)
    }

    /// Whether the result is a truth value or a count.
    pub const fn logical(self) -> bool {
        matches!(self, Op::Any | Op::All | Op::CountNonzero)
    }

    /// The dtype of the result by default, which is that of NumPy.
    pub fn result_dtype(self, dtype: DType) -> DType {
        match self {
            Op::Sum | Op::Prod => match dtype.kind() {
                Kind::Bool | Kind::Signed => DType::I64,
                Kind::Unsigned => DType::U64,
                Kind::Float => dtype,
            },
            Op::Mean | Op::Var | Op::Std | Op::Norm | Op::LogSumExp => {
                if dtype.is_float() {
                    dtype
                } else {
                    DType::F64
                }
            }
            Op::Min | Op::Max | Op::MinMax => dtype,
            Op::ArgMin | Op::ArgMax | Op::CountNonzero => DType::I64,
            Op::Any | Op::All => DType::Bool,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The names, for a message.
pub(crate) fn names() -> String {
    Op::ALL.map(Op::name).join(", ")
}

/// The `p` of a vector norm.
///
/// ```
/// use warpfold_array::{Options, Ord};
///
/// let options = Options { ord: Some(Ord::Inf), ..Options::default() };
/// assert_eq!(options.ord.unwrap_or_default(), Ord::Inf);
/// assert_eq!(Ord::default(), Ord::Two);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Ord {
    /// The sum of absolute values.
    One,
    /// The square root of the sum of squares.
    #[default]
    Two,
    /// The greatest absolute value.
    Inf,
}

/// The precision of sums.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Precision {
    /// The tree, in the accumulator's own precision.
    #[default]
    Tree,
    /// The same tree of double words: about 48 bits for f16, bf16 and f32, 106 for f64.
    Compensated,
}
