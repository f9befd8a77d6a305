//! Finding and opening GPUs.

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{result, sys};
use warpfold_array::CudaError;
use warpfold_gpu::{Device, Properties};

use crate::context::Context;
use crate::driver::Driver;
use crate::said::refused_call;

/// The least compute capability that the kernels are compiled for.
const NEEDED: (u32, u32) = (7, 5);

/// All GPUs that the driver sees.
///
/// # Errors
/// If there is no driver, or the driver refuses.
pub fn devices() -> Result<Vec<Properties>, CudaError> {
    let driver = Driver::load()?;
    (0..driver.devices()).map(|index| properties(driver, index)).collect()
}

fn handle(driver: Driver, index: usize) -> Result<sys::CUdevice, CudaError> {
    if index >= driver.devices() {
        return Err(CudaError::NoSuchDevice { index, count: driver.devices() });
    }
    result::device::get(index as i32).map_err(|e| refused_call("cuDeviceGet", e))
}

fn properties(driver: Driver, index: usize) -> Result<Properties, CudaError> {
    let device = handle(driver, index)?;
    // SAFETY: the handle is the driver's own.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) };
    let number = |which| match attribute(which) {
        Ok(value) => Ok(value.max(0) as u32),
        Err(e) => Err(refused_call("cuDeviceGetAttribute", e)),
    };
    let name = result::device::get_name(device).map_err(|e| refused_call("cuDeviceGetName", e))?;
    // SAFETY: the handle is the driver's own.
    let memory = unsafe { result::device::total_mem(device) }.map_err(|e| refused_call("cuDeviceTotalMem", e))?;
    Ok(Properties {
        index,
        name,
        driver: driver.version(),
        capability: (
            number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared_bytes: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        memory_bytes: memory as u64,
        l2_bytes: u64::from(number(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        bus_bits: number(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
        memory_khz: number(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0),
    })
}

/// Opens a GPU: retains its primary context, which a process shares with other CUDA libraries in it.
///
/// # Errors
/// If there is no driver, no such GPU, or the GPU is too old for the kernels.
pub fn open(index: usize) -> Result<Device, CudaError> {
    let driver = Driver::load()?;
    if driver.devices() == 0 {
        return Err(CudaError::NoDevice { why: "it lists none".into() });
    }
    let properties = properties(driver, index)?;
    if properties.capability < NEEDED {
        let (name, found) = (properties.name, properties.capability);
        return Err(CudaError::OldDevice { index, name, found, needed: NEEDED });
    }
    let context = Context::retain(handle(driver, index)?, properties)?;
    Ok(Device::new(Arc::new(context)))
}

/// The GPU of that index, opened once by whoever asks first, and kept until the process ends: opening one takes the
/// driver a good part of a second.
///
/// # Errors
/// As [`open`].
pub fn shared(index: usize) -> Result<Device, CudaError> {
    static OPEN: Mutex<Vec<(usize, Device)>> = Mutex::new(Vec::new());
    // A panic of another thread leaves a whole list: entries are added in one step.
    let mut devices = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, device)) = devices.iter().find(|(i, _)| *i == index) {
        return Ok(device.clone());
    }
    let device = open(index)?;
    devices.push((index, device.clone()));
    Ok(device)
}
