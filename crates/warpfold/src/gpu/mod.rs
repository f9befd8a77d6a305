//! What a GPU is to launch for a reduction: a plain value, made without a GPU.
//!
//! [`choose`] finds the fold, [`plan`] the shape and how the work is shared out; the numbers that tune it are in [`policy`].

#[cfg(feature = "emulator")]
mod custom;
#[cfg(test)]
mod emulated;
mod kmeans;

#[cfg(feature = "emulator")]
pub use custom::{Emulated, emulate_elements};
pub use kmeans::problem;

