
use std::sync::Arc;
use cudarc::driver::{result, sys};
use super::{Context};
use crate::stream::{Stream};
use warpfold_array::{CudaError, Error};


/// Work recorded once, to be launched as one: many small reductions for little more than the host's cost of one.
pub struct Graph {
    context: Arc<Context>,
    exec: sys::CUgraphExec,
    /// The stream that it was recorded on, whose workspace it uses.
    recorded_on: Stream,
}

// SAFETY: the driver's calls on an executable graph are made under `&self` by one that orders launches of the same graph one
// after the other; each is preceded by `bind`. The exclusive access that it asks for among threads is the lock of `launch`.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl Stream {
    /// Records what `work` queues on the stream that it is given, without doing it. Prepare reductions before
    /// ([`super::Reduction::new`]), and run them in there; nothing in there may wait or download.
    ///
    /// # Safety
    /// Every array that `work` reads or writes, and every reduction that it runs, lives as long as the graph: a graph knows
    /// addresses, not arrays.
    ///
    /// # Errors
    /// What `work` says, or the driver, which refuses work that cannot be recorded.
    pub unsafe fn capture(
        &self,
        work: impl FnOnce(&Stream) -> Result<(), Error>,
    ) -> Result<Graph, Error> {
        let stream = Stream::new(&self.device())?;
        let context = stream.context.clone();
        let raw = stream.bound()?;
        // Relaxed: the workspace may be allocated meanwhile, by this thread or another.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is new. Should `work` panic, destroying the stream ends the recording.
        context.check("cuStreamBeginCapture", unsafe { result::stream::begin_capture(raw, mode) })?;
        let said = work(&stream);
        context.bind()?;
        // SAFETY: begun above. It ends in any case, also after an error.
        let recorded = unsafe { result::stream::end_capture(raw) };
        said?;
        let graph = context.check("cuStreamEndCapture", recorded)?;
        let flags = sys::CUgraphInstantiate_flags(0);
        // SAFETY: the graph was just recorded; an executable one does not need it any more.
        let exec = unsafe { result::graph::instantiate(graph, flags) };
        // SAFETY: as above, once.
        let _ = unsafe { result::graph::destroy(graph) };
        let exec = context.check("cuGraphInstantiate", exec)?;
        Ok(Graph { context, exec, recorded_on: stream })
    }
}

impl Graph {
    /// Queues all of it on a stream. Launches of one graph run one after the other, whatever their streams.
    ///
    /// # Errors
    /// If the stream is of another device, or the driver refuses.
    pub fn launch(&self, stream: &Stream) -> Result<(), CudaError> {
        let (found, expected) = (stream.context.properties.index, self.context.properties.index);
        if found != expected {
            return Err(CudaError::OtherDevice { what: "stream", found, expected });
        }
        let raw = stream.bound()?;
        let _one_at_a_time = self.recorded_on.scratch();
        // SAFETY: both live as long as the borrows; the arrays live by the promise to `capture`.
        self.context.check("cuGraphLaunch", unsafe { result::graph::launch(self.exec, raw) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // Its workspace goes next.
            let _ = result::ctx::synchronize();
            // SAFETY: instantiated in `capture`, destroyed only here, and the device is done with it.
            let _ = unsafe { result::graph::exec_destroy(self.exec) };
        }
    }
}
