//! The kernels loaded into a context.

use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::{result, sys};
use warpfold_array::CudaError;
use warpfold_gpu::ptx::{parameters, room};
use warpfold_gpu::runtime::{Handle, Loaded, Properties};

use crate::relaxed::Relaxed;
use crate::said::words;

/// The kernels loaded into a context, each once.
#[derive(Default)]
pub(crate) struct Modules {
    loaded: Mutex<Vec<Module>>,
    /// One more than the index of the kernel launched last.
    last: AtomicUsize,
}

struct Module {
    raw: sys::CUmodule,
    /// The text of a module that is not the library's own.
    text: Option<Box<str>>,
    kernel: Loaded,
}

// SAFETY: handles of modules are names for something in the context, which any thread may use.
unsafe impl Send for Module {}

impl Modules {
    /// The kernel of that name, loaded by the first call for it: the library's, or that of a text. The context is
    /// current, that of a GPU of these properties.
    pub(crate) fn load(&self, entry: &str, text: Option<String>, gpu: &Properties) -> Result<Loaded, CudaError> {
        let (capability, shared_bytes) = (gpu.capability, gpu.shared_bytes);
        let mut loaded = self.lock();
        let is_it = |known: &&Module| &*known.kernel.entry == entry && known.text.as_deref() == text.as_deref();
        if let Some(known) = loaded.iter().find(is_it) {
            return Ok(known.kernel.clone());
        }
        let kept = text.clone().map(String::into_boxed_str);
        let text = match text {
            Some(text) => text,
            None => warpfold_kernels::ptx_for(entry, gpu.usable())
                .ok_or_else(|| CudaError::UnknownEntry { entry: entry.to_owned() })?,
        };
        let parameters = parameters(&text).into();
        let room = room(&text);
        let code = if kept.is_none() { warpfold_kernels::code(entry, capability) } else { None };
        // A driver that is older than the code compiles the text.
        let (raw, function) = match code.and_then(|code| load(entry, &code, room, shared_bytes).ok()) {
            Some(loaded) => loaded,
            None => load(entry, (text + "\0").as_bytes(), room, shared_bytes)?,
        };
        let function = Handle(function.cast());
        let room = room.unwrap_or(0);
        let kernel = Loaded { entry: entry.into(), function, parameters, room, index: loaded.len() };
        loaded.push(Module { raw, text: kept, kernel: kernel.clone() });
        Ok(kernel)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Module>> {
        // A panic of another thread leaves a whole list: entries are added in one step.
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn launched(&self, kernel: &Loaded) {
        self.last.store(kernel.index + 1, Ordering::Relaxed);
    }

    pub(crate) fn last_launched(&self) -> Option<String> {
        let index = self.last.load(Ordering::Relaxed).checked_sub(1)?;
        self.lock().get(index).map(|loaded| loaded.kernel.entry.to_string())
    }

    /// The context is current, and no kernel is used any more.
    pub(crate) fn unload(&self) {
        for loaded in self.lock().drain(..) {
            // SAFETY: loaded once, unloaded once; kernels hold on to the context, which is going, so there are none.
            let _ = unsafe { result::module::unload(loaded.raw) };
        }
    }
}

/// A module and its kernel.
type Found = (sys::CUmodule, sys::CUfunction);

/// Loads a module into the current context, machine code or a text that ends in a zero, and finds its entry, whose
/// large shared array has `room` bytes, or as many as each launch says, of `shared_bytes` that a block can have.
fn load(entry: &str, image: &[u8], room: Option<u32>, shared_bytes: u32) -> Result<Found, CudaError> {
    const LOG_BYTES: usize = 4096;
    let name = CString::new(entry).map_err(|_| CudaError::UnknownEntry { entry: entry.to_owned() })?;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes the size in place of a pointer.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG_BYTES)];
    let mut module = std::ptr::null_mut();
    let _relaxed = Relaxed::new();
    // SAFETY: `image` is what the driver takes; `options` and `values` have two entries each; the log has
    // `LOG_BYTES` bytes, and all of this outlives the call.
    let said = unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    let failed = |call, code, log: &[u8]| {
        let text = log.iter().copied().take_while(|&b| b != 0).collect::<Vec<u8>>();
        let log_text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        CudaError::Load { entry: entry.to_owned(), call, why: words(code), log_text }
    };
    said.result().map_err(|code| failed("cuModuleLoadDataEx", code, &log))?;
    let mut function = std::ptr::null_mut();
    // SAFETY: the module was just loaded; the name ends in a zero.
    let said = unsafe { sys::cuModuleGetFunction(&raw mut function, module, name.as_ptr().cast::<c_char>()) };
    said.result().map_err(|code| failed("cuModuleGetFunction", code, &[]))?;
    if let Some(room) = room {
        let asked = |call, said: sys::CUresult| said.result().map_err(|code| failed(call, code, &[]));
        let (mut own, mut most) = (0, room as i32);
        if room == 0 {
            // All that a block can have.
            let what = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
            // SAFETY: the function was just found; the number outlives the call.
            asked("cuFuncGetAttribute", unsafe { sys::cuFuncGetAttribute(&raw mut own, what, function) })?;
            most = shared_bytes as i32 - own;
        }
        let what = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function was just found.
        asked("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(function, what, most) })?;
    }
    Ok((module, function))
}
