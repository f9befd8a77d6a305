//! The driver's calls. Each is made with the context current.

use std::ffi::c_void;
use std::ptr::NonNull;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{DriverError, result, sys};
use warpfold_array::CudaError;
use warpfold_gpu::runtime::{Grid, Handle, Loaded, Properties, Runtime};

use crate::context::Context;
use crate::relaxed::Relaxed;
use crate::said::{is_fatal, words};

impl Context {
    /// Makes the context current, makes a call, and turns its code into an error.
    fn call<T>(&self, name: &'static str, call: impl FnOnce() -> Result<T, DriverError>) -> Result<T, CudaError> {
        self.bind()?;
        let _relaxed = Relaxed::new();
        self.check(name, call())
    }

    fn allocated<T>(
        &self,
        what: &'static str,
        needed: u64,
        allocate: impl FnOnce(usize) -> Result<T, DriverError>,
    ) -> Result<T, CudaError> {
        self.bind()?;
        let _relaxed = Relaxed::new();
        // Beyond what any address space has, the driver need not be asked.
        let said = match usize::try_from(needed) {
            Ok(bytes) if bytes <= isize::MAX as usize => allocate(bytes),
            _ => Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)),
        };
        match said {
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                let (free, total) = self.memory()?;
                Err(CudaError::OutOfMemory { index: self.properties.index, what, needed, free, total })
            }
            other => self.check("cuMemAlloc", other),
        }
    }

    /// Waits for all queued work before something that it may use goes. Whether the context can still be used.
    fn is_quiet(&self) -> bool {
        self.bind().is_ok() && {
            let _relaxed = Relaxed::new();
            let _ = result::ctx::synchronize();
            true
        }
    }
}

fn stream(handle: Handle) -> sys::CUstream {
    handle.0.cast()
}

fn event(handle: Handle) -> sys::CUevent {
    handle.0.cast()
}

// In each `unsafe` method, handles are valid and of this context by the promise of its caller; the driver's calls are
// thread-safe.
impl Runtime for Context {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<(u64, u64), CudaError> {
        let (free, total) = self.call("cuMemGetInfo", result::mem_get_info)?;
        Ok((free as u64, total as u64))
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        self.call("cuCtxSynchronize", result::ctx::synchronize)
    }

    fn allocate(&self, what: &'static str, bytes: u64) -> Result<u64, CudaError> {
        // SAFETY: the context is current.
        self.allocated(what, bytes, |bytes| unsafe { result::malloc_sync(bytes) })
    }

    unsafe fn free(&self, address: u64) {
        if self.is_quiet() {
            // SAFETY: allocated here and freed once, by the caller's promise; nothing queued uses it.
            let _ = unsafe { result::free_sync(address) };
        }
    }

    fn lock_host(&self, bytes: u64) -> Result<NonNull<u8>, CudaError> {
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: the context is current.
        let start =
            self.allocated("page-locked host memory", bytes, |bytes| unsafe { result::malloc_host(bytes, flags) })?;
        Ok(NonNull::new(start.cast()).expect("memory that the driver has allocated has an address"))
    }

    unsafe fn unlock_host(&self, start: NonNull<u8>) {
        if self.is_quiet() {
            // SAFETY: allocated in `lock_host` and freed once, by the caller's promise; nothing queued uses it.
            let _ = unsafe { result::free_host(start.as_ptr().cast()) };
        }
    }

    unsafe fn map_host(&self, start: NonNull<u8>) -> Result<Option<u64>, CudaError> {
        let mut address = 0;
        self.call("cuMemHostGetDevicePointer", || {
            // SAFETY: allocated in `lock_host` with CU_MEMHOSTALLOC_DEVICEMAP, by the caller's promise.
            unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, start.as_ptr().cast(), 0) }.result()
        })?;
        Ok(Some(address))
    }

    fn create_stream(&self) -> Result<Handle, CudaError> {
        let raw = self.call("cuStreamCreate", || result::stream::create(result::stream::StreamKind::NonBlocking))?;
        Ok(Handle(raw.cast()))
    }

    unsafe fn destroy_stream(&self, raw: Handle) {
        if self.bind().is_ok() {
            // SAFETY: the caller's; the driver finishes the work that is still queued first.
            let _ = unsafe { result::stream::destroy(stream(raw)) };
        }
    }

    unsafe fn synchronize_stream(&self, raw: Handle) -> Result<(), CudaError> {
        // SAFETY: the caller's.
        self.call("cuStreamSynchronize", || unsafe { result::stream::synchronize(stream(raw)) })
    }

    unsafe fn is_idle(&self, raw: Handle) -> Result<bool, CudaError> {
        self.bind()?;
        // SAFETY: the caller's.
        match unsafe { sys::cuStreamQuery(stream(raw)) }.result() {
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            said => self.check("cuStreamQuery", said).map(|()| true),
        }
    }

    fn create_event(&self) -> Result<Handle, CudaError> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        Ok(Handle(self.call("cuEventCreate", || result::event::create(flags))?.cast()))
    }

    unsafe fn destroy_event(&self, raw: Handle) {
        if self.bind().is_ok() {
            // SAFETY: the caller's.
            let _ = unsafe { result::event::destroy(event(raw)) };
        }
    }

    unsafe fn record(&self, mark: Handle, queue: Handle) -> Result<(), CudaError> {
        // SAFETY: the caller's.
        self.call("cuEventRecord", || unsafe { result::event::record(event(mark), stream(queue)) })
    }

    unsafe fn wait(&self, queue: Handle, mark: Handle) -> Result<(), CudaError> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the caller's.
        self.call("cuStreamWaitEvent", || unsafe { result::stream::wait_event(stream(queue), event(mark), flags) })
    }

    unsafe fn synchronize_event(&self, mark: Handle) -> Result<(), CudaError> {
        // SAFETY: the caller's.
        self.call("cuEventSynchronize", || unsafe { result::event::synchronize(event(mark)) })
    }

    unsafe fn nanoseconds(&self, from: Handle, to: Handle) -> Result<u64, CudaError> {
        // SAFETY: the caller's.
        let elapsed = self.call("cuEventElapsedTime", || unsafe { result::event::elapsed(event(from), event(to)) })?;
        Ok((f64::from(elapsed) * 1e6).round() as u64)
    }

    unsafe fn copy_in(&self, queue: Handle, to: u64, from: &[u8]) -> Result<(), CudaError> {
        // SAFETY: the caller's.
        self.call("cuMemcpyHtoDAsync", || unsafe { result::memcpy_htod_async(to, from, stream(queue)) })
    }

    unsafe fn copy_out(&self, queue: Handle, to: *mut u8, from: u64, bytes: usize) -> Result<(), CudaError> {
        self.call("cuMemcpyDtoHAsync", || {
            // SAFETY: the caller's.
            unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, stream(queue)) }.result()
        })
    }

    unsafe fn copy(&self, queue: Handle, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        // SAFETY: the caller's.
        self.call("cuMemcpyDtoDAsync", || unsafe { result::memcpy_dtod_async(to, from, bytes, stream(queue)) })
    }

    unsafe fn fill(&self, queue: Handle, to: u64, byte: u8, bytes: usize) -> Result<(), CudaError> {
        // Words are set faster than bytes are.
        if (to | bytes as u64).is_multiple_of(4) {
            let word = u32::from_ne_bytes([byte; 4]);
            return self.call("cuMemsetD32Async", || {
                // SAFETY: the caller's.
                unsafe { sys::cuMemsetD32Async(to, word, bytes / 4, stream(queue)) }.result()
            });
        }
        // SAFETY: the caller's.
        self.call("cuMemsetD8Async", || unsafe { result::memset_d8_async(to, byte, bytes, stream(queue)) })
    }

    fn kernel(&self, entry: &str, text: Option<String>) -> Result<Loaded, CudaError> {
        self.bind()?;
        self.modules.load(entry, text, &self.properties)
    }

    unsafe fn launch(
        &self,
        queue: Handle,
        Grid { kernel, grid, block, room }: Grid<'_>,
        parameters: &mut [*mut c_void],
    ) -> Result<(), CudaError> {
        self.bind()?;
        self.modules.launched(kernel);
        let function = kernel.function.0.cast();
        let (grids, blocks) = ((grid, 1, 1), (block, 1, 1));
        // SAFETY: the driver copies the parameters before it returns; the function's module stays loaded as long as the
        // context. The rest is the caller's promise.
        let said = unsafe { result::launch_kernel(function, grids, blocks, room, stream(queue), parameters) };
        let refused = |why| CudaError::Launch { entry: kernel.entry.to_string(), grid, block, why };
        said.map_err(|code| match code.0 {
            _ if is_fatal(code) => CudaError::Dead {
                index: self.properties.index,
                call: "cuLaunchKernel",
                launched: Some(kernel.entry.to_string()),
                why: words(code),
            },
            CUresult::CUDA_ERROR_INVALID_HANDLE | CUresult::CUDA_ERROR_INVALID_CONTEXT => {
                refused(format!("{} (is the stream of another device?)", words(code)))
            }
            _ => refused(words(code)),
        })
    }

    unsafe fn begin_recording(&self, queue: Handle) -> Result<(), CudaError> {
        // Relaxed: the workspace may be allocated meanwhile, by this thread or another.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the caller's.
        self.call("cuStreamBeginCapture", || unsafe { result::stream::begin_capture(stream(queue), mode) })
    }

    unsafe fn end_recording(&self, queue: Handle) -> Result<Handle, CudaError> {
        // SAFETY: the caller's.
        let graph = self.call("cuStreamEndCapture", || unsafe { result::stream::end_capture(stream(queue)) })?;
        let flags = sys::CUgraphInstantiate_flags(0);
        // SAFETY: the graph was just recorded; an executable one does not need it any more.
        let exec = unsafe { result::graph::instantiate(graph, flags) };
        // SAFETY: recorded just now, destroyed once.
        let _ = unsafe { result::graph::destroy(graph) };
        Ok(Handle(self.check("cuGraphInstantiate", exec)?.cast()))
    }

    unsafe fn launch_graph(&self, queue: Handle, graph: Handle) -> Result<(), CudaError> {
        // SAFETY: the caller's.
        self.call("cuGraphLaunch", || unsafe { result::graph::launch(graph.0.cast(), stream(queue)) })
    }

    unsafe fn destroy_graph(&self, graph: Handle) {
        if self.is_quiet() {
            // SAFETY: the caller's; nothing queued uses it.
            let _ = unsafe { result::graph::exec_destroy(graph.0.cast()) };
        }
    }
}
