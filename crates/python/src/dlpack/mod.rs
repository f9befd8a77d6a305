//! DLPack: how libraries of arrays lend each other memory, on any device and without a copy.

mod exchange;
mod export;
mod import;
mod structs;

pub use exchange::Exchange;
pub use export::{Exported, Owner};
pub use import::{Tensor, dense};
