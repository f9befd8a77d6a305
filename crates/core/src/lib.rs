//! The tree that every Warpfold backend computes, and the reducers that it is computed with.
//!
//! A floating-point reduction has one result here, defined by the data alone: combine neighbours, let an
//! odd last element pass through unchanged, repeat until one value is left ([`tree::tree`]). Every backend
//! may cut that tree wherever it likes, along subtrees, so no thread count, tile size or memory layout can
//! change a bit of the result.
//!
//! * [`DType`] and [`Element`]: what an array holds, and what it accumulates in.
//! * [`Reducer`]: identity, lift, combine, finish. The reducers are in [`ops`].
//! * [`rows`]: what is computed of each row's reduction and each of its elements: softmax, norms, losses.
//! * [`pool`]: windows of elements, what they become, and the order of `top_k`.
//! * [`tree`]: the reference, a dozen lines. [`Span`]: a contiguous index range as its canonical nodes.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, core_float_math))]
#![warn(missing_docs)]

extern crate alloc;

mod brief;
mod cast;
mod dispatch;
mod dtype;
mod element;
mod exponential;
mod fixed;
mod float;
mod half_float;
mod key;
mod logarithm;
pub mod ops;
pub mod pool;
mod real;
mod reducer;
pub mod rows;
mod span;
pub mod tree;
mod zip;

pub use cast::Cast;
pub use dtype::{DType, Kind, UnknownDType};
pub use element::Element;
pub use fixed::Fixed;
pub use float::Float;
pub use half::{bf16, f16};
pub use key::Key;
pub use real::{Accumulate, DoubleWord, Real};
pub use reducer::{Addend, Live, Reducer};
pub use span::{NotAdjacent, Span};
pub use zip::{Pair, Zip, Zipped};
