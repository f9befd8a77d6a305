//! The reducers: each is the whole mathematics of one reduction, and every backend runs this code.

mod extremum;
mod integer;
mod logical;
mod logsumexp;
mod moments;
mod precision;
mod product;
mod sum;

pub use crate::brief::{BRIEF_EXP_ERROR, BRIEF_LOG_ERROR, brief_exp, brief_exp_by, brief_log};
pub use crate::exponential::Exponential;
pub use extremum::{AbsMax, Arg, ArgNode, Extremum, MinMax, Place, Search};
pub use integer::{IntegerProduct, IntegerSum};
pub use logical::{All, Any, CountNan, CountNonzero};
pub use logsumexp::{LogSumExp, Powers, SumExp};
pub use moments::{Deviation, Moments};
pub use precision::{Compensated, Plain, Precision};
pub use product::Product;
pub use sum::{Magnitude, Square, Sum, Term, Value};
