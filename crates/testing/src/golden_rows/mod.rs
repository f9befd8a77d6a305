//! Operations on rows, on windows and on pairs of arrays whose bits a GPU gave, kept as [`crate::golden`] keeps those
//! of reductions.
//!
//! The list is fixed: each operation in its variants, of every float dtype, with lengths, layout and data that follow
//! from a case's number alone. What is kept of each of its results is [`crate::golden::text`]: the bytes in
//! hexadecimal, or else their number and a hash of 64 bits.

mod array;
mod case;
mod given;
mod run;

pub use array::Placed;
pub use case::{Case, cases};
pub use given::Given;
pub use run::{on_cpu, on_device, said};

/// What a GPU gave.
pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../warpfold/golden/rows.json");
