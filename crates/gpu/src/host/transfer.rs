//! Host arrays on their way to a device.

use crate::buffer::Buffer;
use crate::host::gather::{Gather, Placement};
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::ArrayRef;
use warpfold_array::Progress;
use warpfold_array::{CudaError, Error};

/// Fewer bytes go as they are: pinned memory costs more to set up than it saves.
const SMALL: usize = 64 << 10;

/// Copies a sequence to where there is room for it, and waits until it is there. While one chunk is copied, the next
/// one is gathered.
pub(crate) fn upload(
    stream: &Stream,
    to: u64,
    gather: &Gather<'_>,
    progress: Option<Progress<'_>>,
) -> Result<(), CudaError> {
    let tell = |bytes: usize| progress.into_iter().for_each(|progress| progress(bytes as u64));
    let total = gather.bytes();
    if total == 0 {
        return Ok(());
    }
    if total <= SMALL {
        let mut bytes = vec![0; total];
        gather.copy(0, &mut bytes);
        tell(total);
        // SAFETY: the caller's room; `bytes` lives until the stream has been synchronised.
        unsafe { stream.copy_in(to, &bytes) }?;
        return stream.synchronize();
    }
    let mut scratch = stream.scratch();
    let staging = scratch.staging(stream)?;
    let mut done = 0;
    for turn in (0..staging.len()).cycle() {
        if done == total {
            break;
        }
        let staged = &mut staging[turn];
        staged.copied.synchronize()?;
        let n = (total - done).min(staged.chunk.len());
        gather.copy(done, &mut staged.chunk.slice_mut()[..n]);
        tell(n);
        // SAFETY: the caller's room; the chunk is written again only when the event says that the copy is done.
        unsafe { stream.copy_in(to + done as u64, &staged.chunk.slice()[..n]) }?;
        stream.record(&staged.copied)?;
        done += n;
    }
    stream.synchronize()
}

/// A host array's elements on a device, in the order in which they lie in the host's memory: nothing is transposed on
/// the way, and what is broadcast is copied once.
pub(crate) struct Resident {
    buffer: Buffer<u8>,
    placement: Placement,
}

impl Resident {
    /// A copy.
    pub fn upload(
        stream: &Stream,
        array: &ArrayRef<'_>,
        progress: Option<Progress<'_>>,
    ) -> Result<Resident, CudaError> {
        let placement = Placement::of(array);
        let gather = Gather::placed(array, &placement);
        let buffer = Buffer::new(&stream.device(), gather.bytes())?;
        upload(stream, buffer.address(), &gather, progress)?;
        Ok(Resident { buffer, placement })
    }

    /// The copy in the shape of the array that it is of.
    pub fn view(&self, array: &ArrayRef<'_>) -> Result<ArrayView<'_>, Error> {
        let address = self.buffer.address() + self.placement.first as u64;
        let strides = &self.placement.strides[..array.shape().len()];
        // SAFETY: the placement's strides reach what was gathered, and the buffer is borrowed.
        unsafe { ArrayView::from_raw(self.buffer.device_index(), address, array.dtype(), array.shape(), strides) }
    }
}
