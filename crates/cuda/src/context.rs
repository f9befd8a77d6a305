//! A GPU's primary context, which a process shares with other CUDA libraries in it.

use std::fmt;

use cudarc::driver::{DriverError, result, sys};
use warpfold_array::CudaError;
use warpfold_gpu::Properties;

use crate::modules::Modules;
use crate::said::{is_fatal, refused_call, words};

/// A retained primary context, and the kernels loaded into it.
pub(crate) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    pub(crate) properties: Properties,
    pub(crate) modules: Modules,
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
    /// Retains the primary context of a GPU.
    pub(crate) fn retain(device: sys::CUdevice, properties: Properties) -> Result<Context, CudaError> {
        // SAFETY: the handle is the driver's own. Dropping the context releases what is retained here, once.
        let raw =
            unsafe { result::primary_ctx::retain(device) }.map_err(|e| refused_call("cuDevicePrimaryCtxRetain", e))?;
        let context = Context { device, raw, properties, modules: Modules::default() };
        context.bind()?;
        Ok(context)
    }

    /// Makes the context the calling thread's own. Comes before every call that concerns it.
    pub(crate) fn bind(&self) -> Result<(), CudaError> {
        let current = result::ctx::get_current().map_err(|e| refused_call("cuCtxGetCurrent", e))?;
        if current == Some(self.raw) {
            return Ok(());
        }
        // SAFETY: the context is retained as long as `self` lives.
        self.check("cuCtxSetCurrent", unsafe { result::ctx::set_current(self.raw) })
    }

    /// The result of a call on this context, its code as an error.
    pub(crate) fn check<T>(&self, call: &'static str, said: Result<T, DriverError>) -> Result<T, CudaError> {
        said.map_err(|code| {
            if !is_fatal(code) {
                return refused_call(call, code);
            }
            let launched = self.modules.last_launched();
            CudaError::Dead { index: self.properties.index, call, launched, why: words(code) }
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A drop cannot return an error, and the driver cleans up after the process in any case.
        if self.bind().is_ok() {
            self.modules.unload();
        }
        // SAFETY: retained once in `retain`, and everything made in the context holds on to `self`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}
