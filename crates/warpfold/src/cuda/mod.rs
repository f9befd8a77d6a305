//! NVIDIA GPUs, by the driver's own interface. The driver is looked for when a device is asked for; nothing here needs it
//! to be there before, and without it everything is an [`Error`] that says so.
//!
//! [`Driver::load`] → [`Device::open`] → [`Stream`], [`Buffer`], [`Kernel`] → [`Launch`]. Calls that could harm memory are
//! `unsafe` and few: [`Launch::queue`] is the one that a caller sees, and [`Program`] wraps it where what a kernel touches
//! is known.

mod buffer;
mod device;
mod driver;
mod error;
mod launch;
mod module;
mod program;
mod stream;

pub use buffer::{Buffer, Pinned};
pub use device::{Device, Properties, devices};
pub use driver::Driver;
pub use error::Error;
pub use launch::{Arg, Launch};
pub use module::Kernel;
pub use program::{Inputs, Program, Work};
pub use stream::{Event, Stream};
