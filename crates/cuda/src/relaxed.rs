//! What a thread may do while a stream is being captured into a graph, its own or another library's.

use cudarc::driver::sys::{self, CUstreamCaptureMode};

/// While it lives, the thread may allocate memory and load kernels: the driver refuses both, and ends the capture,
/// where a library captures in the strictest mode, as PyTorch does. What is done is done at once, and no part of the
/// graph.
pub(crate) struct Relaxed(CUstreamCaptureMode);

impl Relaxed {
    pub fn new() -> Self {
        Self(exchanged(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        exchanged(self.0);
    }
}

/// Sets the thread's mode, and returns the one before.
fn exchanged(mut mode: CUstreamCaptureMode) -> CUstreamCaptureMode {
    // SAFETY: the driver swaps the mode with this thread's. It fails only without a driver, where nothing can follow.
    let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    mode
}
