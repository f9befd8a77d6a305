//! The reducers: each is the whole mathematics of one reduction, and every backend runs this code.

mod extremum;
mod integer;
mod logical;
mod logsumexp;
mod moments;
mod precision;
mod product;
mod sum;

pub use crate::exponential::{BRIEF_LOG_ERROR, Exponential, brief_log};
pub use extremum::{AbsMax, Arg, ArgNode, Extremum, MinMax, Place, Search};
pub use integer::{IntegerProduct, IntegerSum};
pub use logical::{All, Any, CountNan, CountNonzero};
pub use logsumexp::{LogSumExp, Powers, SumExp};
pub use moments::{Deviation, Moments};
pub use precision::{Compensated, Plain, Precision};
pub use product::Product;
pub use sum::{Magnitude, Square, Sum, Term, Value};
