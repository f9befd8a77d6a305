//! The reducers: each is the whole mathematics of one reduction, and every backend runs this code.

mod extremum;
mod logical;
mod logsumexp;
mod moments;
mod sum;

pub use extremum::{AbsMax, Arg, ArgNode, Extremum, MinMax, Place, Search};
pub use logical::{All, Any, CountNan, CountNonzero};
pub use logsumexp::{Exponential, LogSumExp, Powers, SumExp};
pub use moments::{Deviation, Moments};
pub use sum::{
    Compensated, IntegerProduct, IntegerSum, Magnitude, Plain, Precision, Product, Square, Sum, Term, Value,
};
