//! DLPack: how libraries of arrays lend each other memory, on any device and without a copy.

mod export;
mod import;
mod structs;

pub use export::{Exported, Owner};
pub use import::{Tensor, dense};
