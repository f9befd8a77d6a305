//! NVIDIA GPUs, by the driver's own interface: a [`warpfold_gpu::Runtime`] that calls it.
//!
//! The driver is looked for when a device is asked for; nothing here needs it to be there before, and without it everything is a
//! [`CudaError`](warpfold_array::CudaError) that says so.

mod context;
mod driver;
mod interop;
mod modules;
mod open;
mod runtime;
mod said;

pub use driver::Driver;
pub use interop::{Cudarc, view};
pub use open::{devices, open, shared};
