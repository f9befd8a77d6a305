//! Kernels in Rust to PTX, without a CUDA toolkit: rustc's own nvptx64 target, and no linker.
//!
//! [`Crate::compile`] builds a crate for the GPU and takes its assembly apart, one self-contained module per `.entry`.
//! [`faults`] says what is wrong with a module that one can read (panic paths, arrays in local memory),
//! [`ptxas::check`] what NVIDIA's assembler finds (spills, what a GPU does not have). [`archive::write`] packs modules
//! for `include_bytes!`.
//!
//! `cargo warpfold-ptx` does all of that for a crate with reducers of its own; docs/custom-reducers.md says how.

pub mod archive;
mod compile;
mod error;
pub mod ptxas;
mod registers;
mod toolchain;

pub use compile::{Crate, Entry, faults};
pub use error::Error;
pub use toolchain::{Toolchain, output};
