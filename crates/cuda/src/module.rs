use super::device::Context;
use super::said::words;
use super::{Device, Error};
use cudarc::driver::{result, sys};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The kernels loaded into a context, each once.
#[derive(Default)]
pub(super) struct Modules {
    loaded: Mutex<Vec<Loaded>>,
    /// One more than the index of the kernel launched last.
    last: AtomicUsize,
}

struct Loaded {
    module: sys::CUmodule,
    /// The text of a module that is not the library's own.
    text: Option<Box<str>>,
    kernel: Handle,
}

/// What a launch needs to know of a kernel.
#[derive(Clone)]
pub(super) struct Handle {
    pub(super) entry: Arc<str>,
    pub(super) function: sys::CUfunction,
    /// Bytes of each parameter.
    pub(super) parameters: Arc<[usize]>,
    index: usize,
}

impl Modules {
    fn lock(&self) -> MutexGuard<'_, Vec<Loaded>> {
        // What a panicking thread could leave behind is a list that is still whole.
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn launched(&self, kernel: &Handle) {
        self.last.store(kernel.index + 1, Ordering::Relaxed);
    }

    pub(super) fn last_launched(&self) -> Option<String> {
        let index = self.last.load(Ordering::Relaxed).checked_sub(1)?;
        self.lock().get(index).map(|loaded| loaded.kernel.entry.to_string())
    }

    /// The context is current, and no kernel is used any more.
    pub(super) fn unload(&self) {
        for loaded in self.lock().drain(..) {
            // SAFETY: loaded once, unloaded once; kernels hold on to the context, which is going, so there are none.
            let _ = unsafe { result::module::unload(loaded.module) };
        }
    }
}

/// A kernel, loaded and ready to launch. Clones are the same kernel.
#[derive(Clone)]
pub struct Kernel {
    pub(super) context: Arc<Context>,
    pub(super) handle: Handle,
}

// SAFETY: a function handle is a name for something in the context, which any thread may use.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Device {
    /// The kernel of that name. The first call for it compiles it for this GPU, which takes the driver 0.05 to 0.8 s unless it
    /// finds it in its cache on disk.
    ///
    /// # Errors
    /// If there is no such kernel, or the driver refuses it.
    pub fn kernel(&self, entry: &str) -> Result<Kernel, Error> {
        let context = self.0.clone();
        let mut loaded = context.modules.lock();
        let known = loaded.iter().find(|l| &*l.kernel.entry == entry && l.text.is_none()).map(|l| l.kernel.clone());
        let handle = match known {
            Some(handle) => handle,
            None => {
                let text =
                    warpfold_kernels::ptx(entry).ok_or_else(|| Error::UnknownEntry { entry: entry.to_owned() })?;
                add(&context, &mut loaded, entry, text, None)?
            }
        };
        drop(loaded);
        Ok(Kernel { context, handle })
    }

    /// The kernel of that name in a module of a user's own.
    pub(super) fn kernel_of(&self, entry: &str, text: String) -> Result<Kernel, Error> {
        let context = self.0.clone();
        let mut loaded = context.modules.lock();
        let is_it = |l: &&Loaded| &*l.kernel.entry == entry && l.text.as_deref() == Some(&text);
        let known = loaded.iter().find(is_it).map(|l| l.kernel.clone());
        let handle = match known {
            Some(handle) => handle,
            None => {
                let kept = Some(text.clone().into());
                add(&context, &mut loaded, entry, text, kept)?
            }
        };
        drop(loaded);
        Ok(Kernel { context, handle })
    }
}

/// Loads one more.
fn add(
    context: &Context,
    loaded: &mut Vec<Loaded>,
    entry: &str,
    text: String,
    kept: Option<Box<str>>,
) -> Result<Handle, Error> {
    context.bind()?;
    let parameters = parameters(&text).into();
    let (module, function) = load(entry, text)?;
    let kernel = Handle { entry: entry.into(), function, parameters, index: loaded.len() };
    loaded.push(Loaded { module, text: kept, kernel: kernel.clone() });
    Ok(kernel)
}

/// Loads a module into the current context, and finds its entry.
fn load(entry: &str, text: String) -> Result<(sys::CUmodule, sys::CUfunction), Error> {
    const LOG_BYTES: usize = 4096;
    let name = |s: String| CString::new(s).map_err(|_| Error::UnknownEntry { entry: entry.to_owned() });
    let (text, name) = (name(text)?, name(entry.to_owned())?);
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes the size in place of a pointer.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG_BYTES)];
    let mut module = std::ptr::null_mut();
    // SAFETY: `text` ends in a zero; `options` and `values` have two entries each; the log has the bytes that it is said to
    // have, and all of this outlives the call.
    let said = unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    let failed = |call, code, log: &[u8]| {
        let text = log.iter().copied().take_while(|&b| b != 0).collect::<Vec<u8>>();
        let log_text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        Error::Load { entry: entry.to_owned(), call, why: words(code), log_text }
    };
    said.result().map_err(|code| failed("cuModuleLoadDataEx", code, &log))?;
    let mut function = std::ptr::null_mut();
    // SAFETY: the module was just loaded; the name ends in a zero.
    let said = unsafe { sys::cuModuleGetFunction(&raw mut function, module, name.as_ptr().cast::<c_char>()) };
    said.result().map_err(|code| failed("cuModuleGetFunction", code, &[]))?;
    Ok((module, function))
}

/// The bytes of each parameter of the one entry of a module: `.param .u64 name`, or `.param .align 8 .b8 name[64]` for a
/// struct.
pub(super) fn parameters(text: &str) -> Vec<usize> {
    let head = text.split(".entry").nth(1).and_then(|rest| rest.split('{').next()).unwrap_or_default();
    let bits = HashMap::from([("8", 1), ("16", 2), ("32", 4), ("64", 8)]);
    let one = |word: &str| bits.get(word.strip_prefix('.')?.get(1..)?).copied();
    let many = |p: &str| p.split_once('[')?.1.split_once(']')?.0.trim().parse::<usize>().ok();
    head.split(".param")
        .skip(1)
        .filter_map(|p| Some(p.split_whitespace().find_map(one)? * many(p).unwrap_or(1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::parameters;

    #[test]
    fn parameters_of_every_kernel_are_found() {
        let of = |entry: &str| parameters(&warpfold_kernels::ptx(entry).expect(entry));
        assert_eq!(of("a0_f32"), [8, 8, 8]);
        assert_eq!(of("c1"), [8, 8, 8, 8, 8, 4, 4]);
        assert_eq!(of("read_u32"), [8, 8, 8, 4]);
        for entry in warpfold_kernels::entries() {
            let text = warpfold_kernels::ptx(entry).expect(entry);
            let head = &text[text.find(".entry").expect(entry)..text.find('{').expect(entry)];
            assert_eq!(of(entry).len(), head.matches(".param").count(), "{entry}");
        }
    }

    #[test]
    fn a_struct_is_one_parameter_of_all_its_bytes() {
        let text = ".version 7.4\n.visible .entry sum_f32(\n\t.param .align 8 .b8 sum_f32_param_0[208]\n)\n{\n ld.param.u64 %rd1, [x];";
        assert_eq!(parameters(text), [208]);
        let text = ".visible .entry two(.param .align 4 .b8 a[12], .param .u64 .ptr .align 1 b)\n{";
        assert_eq!(parameters(text), [12, 8]);
    }
}
