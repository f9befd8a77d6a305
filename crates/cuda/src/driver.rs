//! The driver, found once per process.

use warpfold_array::CudaError;

use crate::said::{refused_call, words};
use cudarc::driver::{DriverError, result, sys};
use std::sync::OnceLock;

/// The oldest CUDA version whose driver takes the kernels, which are PTX 7.4.
pub const NEEDED: (u32, u32) = (11, 4);

/// The driver, loaded and recent enough. Everything else starts from a [`Driver`], so nothing can be called without
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    version: (u32, u32),
    devices: usize,
}

impl Driver {
    /// Looks for the driver, once per process.
    ///
    /// # Errors
    /// If there is none, or it is too old. A driver that sees no GPU is no error: there are no devices then.
    pub fn load() -> Result<Driver, CudaError> {
        static DRIVER: OnceLock<Result<Driver, CudaError>> = OnceLock::new();
        DRIVER.get_or_init(load).clone()
    }

    /// The CUDA version that the driver supports.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The number of GPUs that the driver sees.
    pub fn devices(&self) -> usize {
        self.devices
    }
}

fn load() -> Result<Driver, CudaError> {
    // SAFETY: opens a library of the system's under its well-known name, and closes it again; its initialisers are
    // trusted as those of any library that the program links.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoDriver);
    }
    let mut version = 0;
    // SAFETY: the library is there; `version` outlives the call. This call is allowed before `cuInit`.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(|e| refused_call("cuDriverGetVersion", e))?;
    let version = (version as u32 / 1000, version as u32 % 1000 / 10);
    if version < NEEDED {
        return Err(CudaError::OldDriver { found: version, needed: NEEDED });
    }
    match result::init() {
        Ok(()) => {}
        Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(Driver { version, devices: 0 }),
        Err(e @ DriverError(sys::CUresult::CUDA_ERROR_STUB_LIBRARY)) => {
            return Err(CudaError::NoDevice { why: words(e) });
        }
        Err(e) => return Err(refused_call("cuInit", e)),
    }
    let devices = result::device::get_count().map_err(|e| refused_call("cuDeviceGetCount", e))?;
    Ok(Driver { version, devices: devices.max(0) as usize })
}
