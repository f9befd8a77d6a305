//! NVIDIA GPUs, by the driver's own interface: a [`warpfold_gpu::Runtime`] that calls the driver.
//!
//! [`open`] and [`shared`] open a GPU, [`devices`] lists all, [`view`] takes arrays that cudarc has allocated. The
//! driver is loaded when it is first needed. Without a driver, opening a GPU is a
//! [`CudaError`](warpfold_array::CudaError); a program starts without one.

mod context;
mod driver;
mod interop;
mod modules;
mod open;
mod relaxed;
mod runtime;
mod said;

pub use driver::Driver;
pub use interop::{Cudarc, view};
pub use open::{devices, open, shared};
