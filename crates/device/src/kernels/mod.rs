//! The production kernels: one tree, at memory speed.
//!
//! A kernel is a *fold* (what is computed: [`fold`]) that walks a *shape* (which elements: [`shape`]). A fold is generic over
//! the [`source`] of its elements; its reducers are core's. The planner of the library chooses, and fills in the one
//! parameter ([`Call`]).
//!
//! Elements that no fold reads as they are (masked, cast to another dtype, at any strides) go through [`any`], which takes
//! each element by its index, and serves every reducer, a user's own too.

pub mod any;
pub mod custom;
#[macro_use]
pub mod entries;
pub mod fold;
pub mod keys;
pub mod node;
pub mod recipe;
pub mod shape;
pub mod sort;
pub mod source;

#[cfg(all(not(target_arch = "nvptx64"), feature = "emulator"))]
mod emulate;
#[cfg(all(not(target_arch = "nvptx64"), feature = "emulator"))]
pub use emulate::{Production, emulate, emulate_sum};
pub use recipe::{Call, Recipe};
