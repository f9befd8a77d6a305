//! Warpfold's GPU kernels, by family, and their launch structs.
//!
//! - [`reduce`]: reductions of arrays. [`segment`]: of segments of a list. [`custom`]: reducers of a user's own.
//! - [`sort`]: a radix sort, runs and distinct values. [`group`]: what labels need beside it. [`split`]: values in the
//!   order of their labels.
//! - [`rowwise`]: rows are reduced, and their elements computed from that: softmax, norms. [`channel`]: the elements of
//!   norms whose rows are channels, or groups of these.
//! - [`pool`]: windows, their means and greatest elements. [`select`]: the first k elements of rows.
//! - [`zip`]: two arrays in front of a reduction: losses and their targets, dot products, cosines.
//! - [`kmeans`]: labels, sums and means of clusters.
//! - [`ladder`]: teaching kernels, rung by rung. [`probe`]: every method of a thread once.
//!
//! Each family has a table of its kernels: one expansion exports them as PTX, another finds them by name ([`fn@find`]).
//! The one parameter of a kernel is a launch struct ([`params`]), which a planner fills in. `ptx` returns a kernel's
//! compiled text.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

pub mod address;
pub mod block;
pub mod channel;
pub mod custom;
#[cfg(not(target_arch = "nvptx64"))]
mod find;
pub mod group;
pub mod kernel;
pub mod kmeans;
pub mod ladder;
pub mod node;
pub mod params;
pub mod pool;
pub mod probe;
pub mod reduce;
pub mod rowwise;
pub mod segment;
pub mod select;
pub mod sort;
pub mod source;
pub mod split;
pub mod zip;

#[cfg(not(target_arch = "nvptx64"))]
mod blocks;
#[cfg(all(not(target_arch = "nvptx64"), feature = "ptx"))]
mod ptx;
#[cfg(all(not(target_arch = "nvptx64"), feature = "ptx"))]
mod text;
#[cfg(all(not(target_arch = "nvptx64"), feature = "ptx"))]
mod upgrade;

#[cfg(not(target_arch = "nvptx64"))]
pub use blocks::blocks;
#[cfg(not(target_arch = "nvptx64"))]
pub use find::{All, Kernels, Names, Only, Own, find};
pub use kernel::{Kernel, Visit};
#[cfg(all(not(target_arch = "nvptx64"), feature = "ptx"))]
pub use ptx::{Archive, code, entries, ptx, ptx_for};

/// What macros of this crate need in a user's.
#[doc(hidden)]
pub use warpfold_simt as simt;
