//! Memory of the device, and memory of the host that it can reach.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use warpfold_array::CudaError;
use warpfold_simt::Pod;

use crate::device::Device;
use crate::queue::Queue;

/// An array in the device's memory, aligned to 256 bytes. Its contents are undefined until it is written.
///
/// Copies and fills are queued on the stream given. Streams do not wait for each other: work on one buffer belongs on
/// one stream, or the caller synchronises in between.
pub struct Buffer<T: Pod> {
    device: Device,
    address: u64,
    len: usize,
    is_of: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// Room for `len` elements.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn new(device: &Device, len: usize) -> Result<Buffer<T>, CudaError> {
        let address = match len {
            0 => 0,
            _ => device.0.allocate("a device buffer", bytes_of::<T>(len))?,
        };
        Ok(Buffer { device: device.clone(), address, len, is_of: PhantomData })
    }

    /// A copy of `data`.
    ///
    /// # Errors
    /// If it does not fit, or copying fails.
    pub fn upload(stream: &Queue, data: &[T]) -> Result<Buffer<T>, CudaError> {
        let mut buffer = Buffer::new(&stream.device(), data.len())?;
        buffer.write(stream, data)?;
        Ok(buffer)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        bytes_of::<T>(self.len)
    }

    /// Where it is, as kernels see it.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The index of the device that it is on.
    pub fn device_index(&self) -> usize {
        self.device.index()
    }

    /// Copies all of `data` to the start, and waits until that is done.
    ///
    /// # Errors
    /// If it is longer, or copying fails.
    pub fn write(&mut self, stream: &Queue, data: &[T]) -> Result<(), CudaError> {
        self.fits("write to a device buffer", data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        stream.is_of("buffer", &self.device)?;
        // SAFETY: the buffer has room; `data` outlives the copy, which is over when the stream has been synchronised.
        unsafe { stream.copy_in(self.address, bytes(data)) }?;
        stream.synchronize()
    }

    /// Copies everything to the host, and waits until that is done.
    ///
    /// # Errors
    /// If copying fails, or something queued before.
    pub fn read(&self, stream: &Queue) -> Result<Vec<T>, CudaError> {
        self.read_first(stream, self.len)
    }

    /// Copies the first `len` elements to the host, and waits until that is done.
    ///
    /// # Errors
    /// If there are fewer, copying fails, or something queued before.
    pub fn read_first(&self, stream: &Queue, len: usize) -> Result<Vec<T>, CudaError> {
        self.fits("read of a device buffer", len)?;
        let mut data = vec![T::from_bits(0); len];
        if !data.is_empty() {
            stream.is_of("buffer", &self.device)?;
            let (start, bytes) = (data.as_mut_ptr().cast(), size_of_val(&data[..]));
            // SAFETY: `data` has no more elements than the buffer and outlives the copy, which is over when the stream
            // has been synchronised; any bits are a `T`. If synchronising fails, the context is lost and copies nothing
            // any more.
            unsafe { stream.runtime().copy_out(stream.raw(), start, self.address, bytes) }?;
            stream.synchronize()?;
        }
        Ok(data)
    }

    /// Queues setting every byte to `byte`.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn fill(&mut self, stream: &Queue, byte: u8) -> Result<(), CudaError> {
        if self.is_empty() {
            return Ok(());
        }
        stream.is_of("buffer", &self.device)?;
        // SAFETY: the bytes are the buffer's own, and any bits are a `T`.
        unsafe { stream.fill(self.address, byte, self.bytes() as usize) }
    }

    /// Queues a copy of all of another buffer to the start of this one.
    ///
    /// # Errors
    /// If it is longer, or the driver refuses.
    pub fn copy_from(&mut self, stream: &Queue, from: &Buffer<T>) -> Result<(), CudaError> {
        self.fits("copy between device buffers", from.len)?;
        if from.is_empty() {
            return Ok(());
        }
        stream.is_of("buffer", &self.device)?;
        stream.is_of("buffer", &from.device)?;
        // SAFETY: both have the bytes; a buffer that is dropped meanwhile waits for the device first.
        unsafe { stream.copy(self.address, from.address, from.bytes() as usize) }
    }

    /// Queues a copy of the first bytes of another buffer, as many as this one has.
    ///
    /// # Errors
    /// If the other has fewer, or the driver refuses.
    pub fn copy_from_bytes(&mut self, stream: &Queue, from: &Buffer<u8>) -> Result<(), CudaError> {
        let bytes = self.bytes() as usize;
        if from.len < bytes {
            return Err(CudaError::Length {
                what: "copy of a device buffer's bytes",
                found: from.len,
                expected: bytes,
            });
        }
        if bytes == 0 {
            return Ok(());
        }
        stream.is_of("buffer", &self.device)?;
        stream.is_of("buffer", &from.device)?;
        // SAFETY: both have the bytes, and any bits are a `T`; a buffer that is dropped meanwhile waits for the device
        // first.
        unsafe { stream.copy(self.address, from.address, bytes) }
    }

    /// Queues a copy from page-locked memory to the start.
    ///
    /// # Errors
    /// If it is longer, or the driver refuses.
    pub fn write_queued(&mut self, stream: &Queue, from: &Pinned<T>) -> Result<(), CudaError> {
        self.fits("write to a device buffer", from.len)?;
        stream.is_of("buffer", &self.device)?;
        stream.is_of("pinned memory", &from.device)?;
        from.busy.store(true, Ordering::Release);
        // SAFETY: `from` may only be written or freed after the device is done with it, which `busy` sees to.
        unsafe { stream.copy_in(self.address, bytes(from.slice())) }
    }

    /// Queues a copy of everything to page-locked memory.
    ///
    /// # Errors
    /// If there is no room, or the driver refuses.
    pub fn read_queued(&self, stream: &Queue, to: &mut Pinned<T>) -> Result<(), CudaError> {
        if to.len < self.len {
            return Err(CudaError::Length { what: "read of a device buffer", found: to.len, expected: self.len });
        }
        stream.is_of("buffer", &self.device)?;
        stream.is_of("pinned memory", &to.device)?;
        to.busy.store(true, Ordering::Release);
        // SAFETY: `to` has room for the elements, and may only be read or freed after the device is done with it, which
        // `busy` sees to; any bits are a `T`.
        unsafe { stream.runtime().copy_out(stream.raw(), to.start().cast(), self.address, self.bytes() as usize) }
    }

    fn fits(&self, what: &'static str, found: usize) -> Result<(), CudaError> {
        if found <= self.len { Ok(()) } else { Err(CudaError::Length { what, found, expected: self.len }) }
    }
}

impl<T: Pod> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.address != 0 {
            // SAFETY: allocated in `new`, freed only here, after all queued work.
            unsafe { self.device.0.free(self.address) };
        }
    }
}

/// An array in the host's memory that the device can copy to and from by itself, because it stays where it is.
pub struct Pinned<T: Pod> {
    device: Device,
    start: NonNull<T>,
    len: usize,
    /// Whether a copy may be under way.
    busy: AtomicBool,
}

// SAFETY: the memory belongs to this value alone, as a `Vec`'s does.
unsafe impl<T: Pod + Send> Send for Pinned<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Pod + Sync> Sync for Pinned<T> {}

impl<T: Pod> Pinned<T> {
    /// `len` zeros.
    ///
    /// # Errors
    /// If there is no memory that can be locked.
    pub fn new(device: &Device, len: usize) -> Result<Pinned<T>, CudaError> {
        let start = match len {
            0 => NonNull::dangling(),
            _ => device.0.lock_host(bytes_of::<T>(len))?.cast::<T>(),
        };
        // SAFETY: room for `len` elements, aligned to a page; all bits zero are a `T`.
        unsafe { start.write_bytes(0, len) };
        Ok(Pinned { device: device.clone(), start, len, busy: AtomicBool::new(false) })
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements, after waiting for copies that are under way.
    ///
    /// # Errors
    /// What went wrong meanwhile.
    pub fn get(&self) -> Result<&[T], CudaError> {
        self.wait()?;
        Ok(self.slice())
    }

    /// The elements, after waiting for copies that are under way.
    ///
    /// # Errors
    /// What went wrong meanwhile.
    pub fn get_mut(&mut self) -> Result<&mut [T], CudaError> {
        self.wait()?;
        Ok(self.slice_mut())
    }

    /// Where kernels see it; none if this device's do not see the host's memory.
    pub(crate) fn device_address(&self) -> Result<Option<u64>, CudaError> {
        if self.len == 0 {
            return Ok(Some(0));
        }
        // SAFETY: allocated in `new`; the address lives as long as the memory.
        unsafe { self.device.0.map_host(self.start.cast()) }
    }

    /// Where it is. Whoever lets a device write there says why nobody else touches it meanwhile.
    pub(crate) fn start(&self) -> *mut T {
        self.start.as_ptr()
    }

    fn wait(&self) -> Result<(), CudaError> {
        if self.busy.load(Ordering::Acquire) {
            self.device.synchronize()?;
            self.busy.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// The elements; nothing is copied to or from them at the moment.
    pub(crate) fn slice(&self) -> &[T] {
        // SAFETY: `len` elements, initialised in `new`; only `slice_mut` gives write access.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The elements; nothing is copied to or from them at the moment.
    pub(crate) fn slice_mut(&mut self) -> &mut [T] {
        // SAFETY: `len` elements, initialised in `new`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> Drop for Pinned<T> {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: allocated in `new`, freed only here, after all queued work.
            unsafe { self.device.0.unlock_host(self.start.cast()) };
        }
    }
}

fn bytes_of<T>(len: usize) -> u64 {
    (len as u64).saturating_mul(size_of::<T>() as u64)
}

/// Elements as they lie in memory.
fn bytes<T: Pod>(elements: &[T]) -> &[u8] {
    // SAFETY: `Pod` types have no padding, and the bytes live as long as the elements.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}
