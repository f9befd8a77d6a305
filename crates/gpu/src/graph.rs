//! Work that is recorded once.

use warpfold_array::{CudaError, Error};

use crate::device::Device;
use crate::runtime::Handle;
use crate::stream::Stream;

/// Work recorded once, to be launched as one: many small reductions for little more than the host's cost of one.
pub struct Graph {
    device: Device,
    raw: Handle,
    /// The stream that it was recorded on, whose workspace it uses.
    recorded_on: Stream,
}

impl Stream {
    /// Records what `work` queues on the stream that it is given, without doing it. Prepare reductions before
    /// ([`crate::Reduction::new`]), and run them in there; nothing in there may wait or download.
    ///
    /// # Safety
    /// Every array that `work` reads or writes, and every reduction that it runs, lives as long as the graph: a graph
    /// knows addresses, not arrays.
    ///
    /// # Errors
    /// What `work` says, or the driver, which refuses work that cannot be recorded.
    pub unsafe fn capture(&self, work: impl FnOnce(&Stream) -> Result<(), Error>) -> Result<Graph, Error> {
        let device = self.device();
        let stream = Stream::new(&device)?;
        // SAFETY: the stream is new. Should `work` panic, destroying the stream ends the recording.
        unsafe { device.0.begin_recording(stream.raw()) }?;
        let said = work(&stream);
        // SAFETY: begun above. It ends in any case, also after an error.
        let recorded = unsafe { device.0.end_recording(stream.raw()) };
        if let (Err(_), Ok(graph)) = (&said, &recorded) {
            // SAFETY: made just now, and not used again.
            unsafe { device.0.destroy_graph(*graph) };
        }
        said?;
        Ok(Graph { raw: recorded?, device, recorded_on: stream })
    }
}

impl Graph {
    /// Queues all of it on a stream. Launches of one graph run one after the other, whatever their streams.
    ///
    /// # Errors
    /// If the stream is of another device, or the driver refuses.
    pub fn launch(&self, stream: &Stream) -> Result<(), CudaError> {
        stream.is_of("stream", &self.device)?;
        let _one_at_a_time = self.recorded_on.scratch();
        // SAFETY: both are of one device and live as long as the borrows; the arrays live by the promise to `capture`.
        unsafe { stream.runtime().launch_graph(stream.raw(), self.raw) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: recorded in `capture`, destroyed only here; its workspace goes next, after all queued work.
        unsafe { self.device.0.destroy_graph(self.raw) };
    }
}
