//! Warpfold's GPU side.
//!
//! - [`simt`]: what one GPU thread can do. Kernels are generic over it.
//! - [`kernels`]: the production kernels, which the library's planner chooses and fills in.
//! - [`ladder`]: the teaching kernels, rung by rung, and the plan by which any backend runs them.
//! - `emulator` (host): runs kernels, checks every access, counts what a profiler would.
//! - `hardware`, `entry` (nvptx64): the same kernels as PTX; [`ptx`] hands out the compiled text.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch, stdarch_nvptx, link_llvm_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub mod kernels;
pub mod ladder;
pub mod probe;
pub mod simt;

pub use kernels::custom;

#[cfg(all(not(target_arch = "nvptx64"), feature = "emulator"))]
pub mod emulator;
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
mod entry;
#[cfg(target_arch = "nvptx64")]
pub mod hardware;
#[cfg(all(not(target_arch = "nvptx64"), feature = "ptx"))]
mod ptx;
#[cfg(all(not(target_arch = "nvptx64"), feature = "ptx"))]
pub use ptx::{Archive, entries, ptx};
