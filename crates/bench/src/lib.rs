//! Warpfold's benchmarks.
//!
//! A [`suite`] names cases. On each case a [`runner`] lets every [`side`] take turns: Warpfold, and peers, which are
//! other libraries in programs of their own. Every result is [`check`]ed at the shape that was timed. All samples go
//! into a [`record`], from which [`render`] makes tables.

pub mod case;
pub mod check;
pub mod conditions;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod data;
mod date;
pub mod error;
pub mod exact;
pub mod hash;
mod keyed;
pub mod keys;
pub mod layout;
pub mod peer;
pub mod progress;
pub mod random;
pub mod record;
pub mod render;
pub mod runner;
mod seat;
pub mod side;
pub mod sources;
pub mod suite;
pub mod summary;
pub mod told;
pub mod valid;
pub mod work;

pub use error::Error;
