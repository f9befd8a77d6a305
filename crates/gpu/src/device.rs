//! A device that this process computes on.

use std::fmt;
use std::sync::Arc;

use warpfold_array::CudaError;

use crate::plan::Limits;
use crate::runtime::{Properties, Runtime};

/// A GPU, or an emulator in its place. Clones are the same device.
#[derive(Clone)]
pub struct Device(pub(crate) Arc<dyn Runtime>);

impl Device {
    /// The device of a runtime.
    pub fn new(runtime: Arc<dyn Runtime>) -> Device {
        Device(runtime)
    }

    /// What it is.
    pub fn properties(&self) -> &Properties {
        self.0.properties()
    }

    /// Bytes of memory: free now, and in all.
    ///
    /// # Errors
    /// If the driver will not say.
    pub fn memory(&self) -> Result<(u64, u64), CudaError> {
        self.0.memory()
    }

    /// Waits for everything that was asked of the device.
    ///
    /// # Errors
    /// What went wrong meanwhile.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.0.synchronize()
    }

    /// Its index, as in `cuda:1`.
    pub(crate) fn index(&self) -> usize {
        self.properties().index
    }

    /// Multiprocessors.
    pub(crate) fn multiprocessors(&self) -> u32 {
        self.properties().multiprocessors
    }

    /// The compute capability whose instructions it takes: the driver must know them, too.
    pub(crate) fn capability(&self) -> (u32, u32) {
        self.properties().usable()
    }

    /// What the planner has to know.
    pub(crate) fn limits(&self) -> Limits {
        self.properties().limits()
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{} ({})", self.index(), self.properties().name)
    }
}
