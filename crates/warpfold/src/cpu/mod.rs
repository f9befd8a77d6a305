//! The CPU backend: rayon threads, SIMD chosen at run time, and the tree.

pub mod args;
mod columns;
mod counter;
mod dense;
pub mod engine;
pub mod exact;
pub mod exponentials;
pub mod extrema;
pub mod free;
pub mod groups;
pub mod halves;
pub mod kernel;
pub mod load;
pub mod moments;
mod panel;
mod periods;
pub mod policy;
pub mod route;
mod runs;
mod segments;
pub mod simd;
pub mod transposed;
mod tree;
