use super::module::Modules;
use super::said::{is_fatal, refused_call, words};
use super::{Driver, Error};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{DriverError, result, sys};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use warpfold_gpu::plan::Limits;

/// The least compute capability that the kernels are compiled for.
pub const NEEDED: (u32, u32) = (7, 5);

/// What a GPU is.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    /// As in `cuda:1`.
    pub index: usize,
    /// As the driver names it.
    pub name: String,
    /// The CUDA version that the driver supports.
    pub driver: (u32, u32),
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of second-level cache.
    pub l2_bytes: u64,
    /// Width of the memory bus, in bits.
    pub bus_bits: u32,
    /// Memory clock, in kHz; 0 if the driver does not say.
    pub memory_khz: u32,
}

impl Properties {
    /// The memory's peak bandwidth in GB/s: two transfers per clock over the whole bus.
    pub fn peak_gbs(&self) -> Option<f64> {
        let peak = 2.0 * f64::from(self.memory_khz) * 1e3 * f64::from(self.bus_bits) / 8.0 / 1e9;
        (peak > 0.0).then_some(peak)
    }
}

/// Of the peak, what a plain read reaches: 4.6 of 4.8 TB/s on an H200.
const READ_SHARE: f64 = 0.95;

/// Bytes per second, for predictions, if the driver does not say how fast the memory is.
const USUAL_BANDWIDTH: f64 = 1e12;

impl Properties {
    /// What the planner has to know.
    pub(super) fn limits(&self) -> Limits {
        let bandwidth = self.peak_gbs().map_or(USUAL_BANDWIDTH, |peak| READ_SHARE * peak * 1e9);
        Limits { multiprocessors: self.multiprocessors, bandwidth }
    }
}

/// All GPUs that the driver sees.
///
/// # Errors
/// If there is no driver, or it will not say.
pub fn devices() -> Result<Vec<Properties>, Error> {
    let driver = Driver::load()?;
    (0..driver.devices()).map(|index| properties(driver, index)).collect()
}

fn handle(driver: Driver, index: usize) -> Result<sys::CUdevice, Error> {
    if index >= driver.devices() {
        return Err(Error::NoSuchDevice { index, count: driver.devices() });
    }
    result::device::get(index as i32).map_err(|e| refused_call("cuDeviceGet", e))
}

fn properties(driver: Driver, index: usize) -> Result<Properties, Error> {
    let device = handle(driver, index)?;
    // SAFETY: the handle is the driver's own.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) };
    let number = |which| match attribute(which) {
        Ok(value) => Ok(value.max(0) as u32),
        Err(e) => Err(refused_call("cuDeviceGetAttribute", e)),
    };
    let name = result::device::get_name(device).map_err(|e| refused_call("cuDeviceGetName", e))?;
    // SAFETY: as above.
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
        memory_bytes: memory as u64,
        l2_bytes: u64::from(number(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        bus_bits: number(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
        memory_khz: number(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0),
    })
}

/// A GPU that this process computes on. Clones are the same device.
#[derive(Clone)]
pub struct Device(pub(super) Arc<Context>);

impl Device {
    /// Opens a GPU: retains its primary context, which a process shares with other CUDA libraries in it.
    ///
    /// # Errors
    /// If there is no driver, no such GPU, or the GPU is too old for the kernels.
    pub fn open(index: usize) -> Result<Device, Error> {
        let driver = Driver::load()?;
        if driver.devices() == 0 {
            return Err(Error::NoDevice { why: "it lists none".into() });
        }
        let properties = properties(driver, index)?;
        if properties.capability < NEEDED {
            let (name, found) = (properties.name, properties.capability);
            return Err(Error::OldDevice { index, name, found, needed: NEEDED });
        }
        let device = handle(driver, index)?;
        // SAFETY: the handle is the driver's own. `Context` releases what is retained here, once.
        let raw =
            unsafe { result::primary_ctx::retain(device) }.map_err(|e| refused_call("cuDevicePrimaryCtxRetain", e))?;
        let context = Context { device, raw, properties, modules: Modules::default() };
        context.bind()?;
        Ok(Device(Arc::new(context)))
    }

    /// What it is.
    pub fn properties(&self) -> &Properties {
        &self.0.properties
    }

    /// The GPU of that index, opened once by whoever asks first, and kept until the process ends: opening one takes the driver
    /// a good part of a second.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn shared(index: usize) -> Result<Device, Error> {
        static OPEN: Mutex<Vec<(usize, Device)>> = Mutex::new(Vec::new());
        // What a panicking thread could leave behind is a list that is still whole.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, device)) = open.iter().find(|(i, _)| *i == index) {
            return Ok(device.clone());
        }
        let device = Device::open(index)?;
        open.push((index, device.clone()));
        Ok(device)
    }

    /// What the planner has to know.
    pub(super) fn limits(&self) -> Limits {
        self.0.properties.limits()
    }

    /// Bytes of memory: free now, and in all.
    ///
    /// # Errors
    /// If the driver will not say.
    pub fn memory(&self) -> Result<(u64, u64), Error> {
        self.0.bind()?;
        let (free, total) = self.0.check("cuMemGetInfo", result::mem_get_info())?;
        Ok((free as u64, total as u64))
    }

    /// Waits for everything that was asked of the device.
    ///
    /// # Errors
    /// What went wrong meanwhile.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.0.bind()?;
        self.0.check("cuCtxSynchronize", result::ctx::synchronize())
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{} ({})", self.0.properties.index, self.0.properties.name)
    }
}

/// A retained primary context, and the kernels loaded into it.
pub(super) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    pub(super) properties: Properties,
    pub(super) modules: Modules,
}

// SAFETY: a context may be used by any thread that makes it current, and every use here goes through `bind`.
unsafe impl Send for Context {}
// SAFETY: the driver's calls on a context are thread-safe.
unsafe impl Sync for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{}", self.properties.index)
    }
}

impl Context {
    /// Makes the context the calling thread's own. Comes before every call that concerns it.
    pub(super) fn bind(&self) -> Result<(), Error> {
        let current = result::ctx::get_current().map_err(|e| refused_call("cuCtxGetCurrent", e))?;
        if current == Some(self.raw) {
            return Ok(());
        }
        // SAFETY: the context is retained as long as `self` lives.
        self.check("cuCtxSetCurrent", unsafe { result::ctx::set_current(self.raw) })
    }

    /// What a call on this context said.
    pub(super) fn check<T>(&self, call: &'static str, said: Result<T, DriverError>) -> Result<T, Error> {
        said.map_err(|code| {
            if !is_fatal(code) {
                return refused_call(call, code);
            }
            let launched = self.modules.last_launched();
            Error::Dead { index: self.properties.index, call, launched, why: words(code) }
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Nobody is left to be told of an error, and the driver cleans up after the process in any case.
        if self.bind().is_ok() {
            self.modules.unload();
        }
        // SAFETY: retained once in `Device::open`, and everything made in the context holds on to `self`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}
