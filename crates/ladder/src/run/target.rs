//! The device of a run.

use warpfold::cuda::{self, Device};

/// The device of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The first GPU, or else the emulator.
    #[default]
    Auto,
    /// The GPU with that index.
    Cuda(usize),
    /// The emulator.
    Emulator,
}

/// A device that is ready.
#[derive(Debug)]
pub enum Chosen {
    /// A GPU.
    Gpu(Device),
    /// The emulator, and why the preferred GPU is absent, if one was.
    Emulator(Option<cuda::Error>),
}

/// Finds a device.
///
/// # Errors
/// If a GPU was asked for by name and cannot be had.
pub fn choose(target: Target) -> Result<Chosen, cuda::Error> {
    match target {
        Target::Emulator => Ok(Chosen::Emulator(None)),
        Target::Cuda(index) => cuda::open(index).map(Chosen::Gpu),
        Target::Auto => Ok(match cuda::open(0) {
            Ok(device) => Chosen::Gpu(device),
            Err(why) => Chosen::Emulator(Some(why)),
        }),
    }
}
