//! Warpfold's GPU kernels: one tree, at memory speed.
//!
//! A kernel is a *fold* (what is computed: [`fold`]) that walks a *shape* (which elements: [`shape`]). A fold is generic over
//! the [`source`] of its elements; its reducers are core's. A planner of the library chooses, and fills in the one
//! parameter ([`Call`]). Elements that no fold reads as they are (masked, cast to another dtype, at any strides) go through
//! [`any`], which takes each element by its index, and serves every reducer, a user's own too.
//!
//! [`kmeans`] and [`sort`] are families of their own. [`ladder`] has the teaching kernels, rung by rung. [`find`] finds a kernel by its
//! name; `ptx` hands out its compiled text.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

pub mod any;
pub mod custom;
pub mod fold;
pub mod kernel;
pub mod kmeans;
pub mod ladder;
pub mod node;
pub mod params;
pub mod probe;
pub mod recipe;
pub mod shape;
pub mod sort;
pub mod source;
pub mod table;

#[cfg(all(not(target_arch = "nvptx64"), feature = "ptx"))]
mod ptx;

pub use kernel::{Kernel, Visit};
#[cfg(all(not(target_arch = "nvptx64"), feature = "ptx"))]
pub use ptx::{Archive, entries, ptx};
pub use recipe::{Call, Recipe};
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{facts, find};

/// What macros of this crate need in a user's.
#[doc(hidden)]
pub use warpfold_simt as simt;
