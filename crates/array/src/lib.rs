//! What a reduction is asked: dtypes at run time, memory layout, options, the canonical problem, results, errors.
//!
//! No arithmetic. Backends (CPU, GPU) take a [`request::Request`], which is checked, and its [`problem::Problem`],
//! which says the same thing in one way only: axes of length 1 dropped, axes merged where memory allows, kept and
//! reduced axes apart.

mod array_mut;
mod cuda_error;
mod elements;
mod error;
mod key_error;
mod layout;
pub mod memory;
mod op;
mod op_name;
mod options;
mod pool_error;
pub mod problem;
pub mod request;
mod row_error;
mod tensor;
mod values;

pub use array_mut::{ArrayMut, Meeting};
pub use cuda_error::CudaError;
pub use elements::{ElementLayout, ElementProblem};
pub use error::Error;
pub use key_error::KeyError;
pub use layout::{ArrayRef, MAX_RANK, Order, elements};
pub use op::{Op, Ord, Precision};
pub use options::{Options, Progress};
pub use pool_error::PoolError;
pub use row_error::RowError;
pub use tensor::Tensor;
pub use values::{Array, Collect, Hole, Scalar, Value, Values};
