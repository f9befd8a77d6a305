//! What a GPU is to launch for a reduction: a plain value, made without a GPU.
//!
//! [`choose`] finds the fold, [`plan`] the shape and how the work is shared out; the numbers that tune it are in [`policy`].

mod choose;
#[cfg(feature = "emulator")]
mod custom;
#[cfg(test)]
mod emulated;
mod kmeans;
mod plan;
mod policy;
mod segments;

#[cfg(feature = "emulator")]
pub use custom::{Emulated, emulate_elements};
pub use kmeans::problem;
pub use plan::{Chunk, DESCRIBED, GpuPlan, Launch, Limits, described_bytes};
pub use segments::{Cut, reads_offsets};
pub use warpfold_device::kernels::recipe::{COUNTERS, STATUS};
