
use super::{Context};
use cudarc::driver::sys::CUresult;
use cudarc::driver::{DriverError, result, sys};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use warpfold_simt::Pod;
use crate::device::{Device};
use crate::stream::{Stream};
use warpfold_array::{CudaError};
/// An array in the device's memory, aligned to 256 bytes. What it holds at first is anybody's guess.
///
/// Copies and fills are queued on the stream given. Streams do not wait for each other: work on one buffer belongs on one
/// stream, or the caller synchronises in between.
pub struct Buffer<T: Pod> {
    context: Arc<Context>,
    address: sys::CUdeviceptr,
    len: usize,
    is_of: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// Room for `len` elements.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn new(device: &Device, len: usize) -> Result<Buffer<T>, CudaError> {
        let context = device.0.clone();
        let address = match len {
            0 => 0,
            _ => allocate(&context, "a device buffer", bytes_of::<T>(len), |bytes| {
                // SAFETY: the context is current; what is allocated is freed in `drop`, once.
                unsafe { result::malloc_sync(bytes) }
            })?,
        };
        Ok(Buffer { context, address, len, is_of: PhantomData })
    }

    /// A copy of `data`.
    ///
    /// # Errors
    /// If it does not fit, or copying fails.
    pub fn upload(stream: &Stream, data: &[T]) -> Result<Buffer<T>, CudaError> {
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
    pub(crate) fn device_index(&self) -> usize {
        self.context.properties.index
    }

    /// Copies all of `data` to the start, and waits until that is done.
    ///
    /// # Errors
    /// If it is longer, or copying fails.
    pub fn write(&mut self, stream: &Stream, data: &[T]) -> Result<(), CudaError> {
        self.fits("write to a device buffer", data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        let raw = stream.bound()?;
        // SAFETY: the buffer has room; `data` outlives the copy, which is over when the stream has been synchronised.
        let said = unsafe { result::memcpy_htod_async(self.address, data, raw) };
        self.context.check("cuMemcpyHtoDAsync", said)?;
        stream.synchronize()
    }

    /// Copies everything to the host, and waits until that is done.
    ///
    /// # Errors
    /// If copying fails, or something queued before.
    pub fn read(&self, stream: &Stream) -> Result<Vec<T>, CudaError> {
        self.read_first(stream, self.len)
    }

    /// Copies the first `len` elements to the host, and waits until that is done.
    ///
    /// # Errors
    /// If there are fewer, copying fails, or something queued before.
    pub fn read_first(&self, stream: &Stream, len: usize) -> Result<Vec<T>, CudaError> {
        self.fits("read of a device buffer", len)?;
        let mut data = vec![T::from_bits(0); len];
        if !data.is_empty() {
            let raw = stream.bound()?;
            // SAFETY: `data` has no more elements than the buffer and outlives the copy, which is over when the stream has been
            // synchronised; any bits are a `T`. If synchronising fails, the context is lost and copies nothing any more.
            let said = unsafe { result::memcpy_dtoh_async(&mut data, self.address, raw) };
            self.context.check("cuMemcpyDtoHAsync", said)?;
            stream.synchronize()?;
        }
        Ok(data)
    }

    /// Queues setting every byte to `byte`.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn fill(&mut self, stream: &Stream, byte: u8) -> Result<(), CudaError> {
        if self.is_empty() {
            return Ok(());
        }
        let raw = stream.bound()?;
        // SAFETY: the bytes are the buffer's own, and any bits are a `T`.
        let said = unsafe { result::memset_d8_async(self.address, byte, self.bytes() as usize, raw) };
        self.context.check("cuMemsetD8Async", said)
    }

    /// Queues a copy of all of another buffer to the start of this one.
    ///
    /// # Errors
    /// If it is longer, or the driver refuses.
    pub fn copy_from(&mut self, stream: &Stream, from: &Buffer<T>) -> Result<(), CudaError> {
        self.fits("copy between device buffers", from.len)?;
        if from.is_empty() {
            return Ok(());
        }
        let raw = stream.bound()?;
        // SAFETY: both have the bytes; a buffer that is dropped meanwhile waits for the device first.
        let said = unsafe { result::memcpy_dtod_async(self.address, from.address, from.bytes() as usize, raw) };
        self.context.check("cuMemcpyDtoDAsync", said)
    }

    /// Queues a copy of the first bytes of another buffer, as many as this one has.
    ///
    /// # Errors
    /// If the other has fewer, or the driver refuses.
    pub fn copy_from_bytes(&mut self, stream: &Stream, from: &Buffer<u8>) -> Result<(), CudaError> {
        let bytes = self.bytes() as usize;
        if from.len < bytes {
            return Err(CudaError::Length { what: "copy of a device buffer's bytes", found: from.len, expected: bytes });
        }
        if bytes == 0 {
            return Ok(());
        }
        let raw = stream.bound()?;
        // SAFETY: both have the bytes, and any bits are a `T`; a buffer that is dropped meanwhile waits for the device first.
        let said = unsafe { result::memcpy_dtod_async(self.address, from.address, bytes, raw) };
        self.context.check("cuMemcpyDtoDAsync", said)
    }

    /// Queues a copy from page-locked memory to the start.
    ///
    /// # Errors
    /// If it is longer, or the driver refuses.
    pub fn write_queued(&mut self, stream: &Stream, from: &Pinned<T>) -> Result<(), CudaError> {
        self.fits("write to a device buffer", from.len)?;
        let raw = stream.bound()?;
        from.busy.store(true, Ordering::Release);
        // SAFETY: `from` may only be written or freed after the device is done with it, which `busy` sees to.
        let said = unsafe { result::memcpy_htod_async(self.address, from.slice(), raw) };
        self.context.check("cuMemcpyHtoDAsync", said)
    }

    /// Queues a copy of everything to page-locked memory.
    ///
    /// # Errors
    /// If there is no room, or the driver refuses.
    pub fn read_queued(&self, stream: &Stream, to: &mut Pinned<T>) -> Result<(), CudaError> {
        if to.len < self.len {
            return Err(CudaError::Length { what: "read of a device buffer", found: to.len, expected: self.len });
        }
        let raw = stream.bound()?;
        to.busy.store(true, Ordering::Release);
        // SAFETY: as above; any bits are a `T`.
        let said = unsafe { result::memcpy_dtoh_async(&mut to.slice_mut()[..self.len], self.address, raw) };
        self.context.check("cuMemcpyDtoHAsync", said)
    }

    fn fits(&self, what: &'static str, found: usize) -> Result<(), CudaError> {
        if found <= self.len { Ok(()) } else { Err(CudaError::Length { what, found, expected: self.len }) }
    }
}

impl<T: Pod> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.address != 0 && self.context.bind().is_ok() {
            // Nothing that is queued may find its memory gone.
            let _ = result::ctx::synchronize();
            // SAFETY: allocated in `new`, freed only here, and the device is done with it.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// An array in the host's memory that the device can copy to and from by itself, because it stays where it is.
pub struct Pinned<T: Pod> {
    context: Arc<Context>,
    start: *mut T,
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
        let context = device.0.clone();
        let start = match len {
            0 => std::ptr::NonNull::dangling().as_ptr(),
            _ => allocate(&context, "page-locked host memory", bytes_of::<T>(len), |bytes| {
                let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
                // SAFETY: the context is current; what is allocated is freed in `drop`, once.
                unsafe { result::malloc_host(bytes, flags) }
            })?
            .cast::<T>(),
        };
        // SAFETY: room for `len` elements, aligned to a page; all bits zero are a `T`.
        unsafe { std::ptr::write_bytes(start, 0, len) };
        Ok(Pinned { context, start, len, busy: AtomicBool::new(false) })
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

    /// Where it is, as kernels see it.
    pub(crate) fn device_address(&self) -> Result<u64, CudaError> {
        let mut address = 0;
        if self.len > 0 {
            self.context.bind()?;
            // SAFETY: allocated in `new` with CU_MEMHOSTALLOC_DEVICEMAP; the address lives as long as the memory.
            let said = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, self.start.cast(), 0) }.result();
            self.context.check("cuMemHostGetDevicePointer", said)?;
        }
        Ok(address)
    }

    /// Where it is. Whoever lets a device write there says why nobody else touches it meanwhile.
    pub(crate) fn start(&self) -> *mut T {
        self.start
    }

    fn wait(&self) -> Result<(), CudaError> {
        if self.busy.load(Ordering::Acquire) {
            self.context.bind()?;
            self.context.check("cuCtxSynchronize", result::ctx::synchronize())?;
            self.busy.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// The elements; nothing is copied to or from them at the moment.
    pub(crate) fn slice(&self) -> &[T] {
        // SAFETY: `len` elements, initialised in `new`; only `slice_mut` gives write access.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// The elements; nothing is copied to or from them at the moment.
    pub(crate) fn slice_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl<T: Pod> Drop for Pinned<T> {
    fn drop(&mut self) {
        if self.len > 0 && self.context.bind().is_ok() {
            let _ = result::ctx::synchronize();
            // SAFETY: allocated in `new`, freed only here, and the device is done with it.
            let _ = unsafe { result::free_host(self.start.cast()) };
        }
    }
}

fn bytes_of<T>(len: usize) -> u64 {
    (len as u64).saturating_mul(size_of::<T>() as u64)
}

fn allocate<P>(
    context: &Arc<Context>,
    what: &'static str,
    needed: u64,
    allocate: impl FnOnce(usize) -> Result<P, DriverError>,
) -> Result<P, CudaError> {
    context.bind()?;
    // Beyond what any address space has, the driver need not be asked.
    let said = match usize::try_from(needed) {
        Ok(bytes) if bytes <= isize::MAX as usize => allocate(bytes),
        _ => Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)),
    };
    match said {
        Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
            let (free, total) = Device(context.clone()).memory()?;
            Err(CudaError::OutOfMemory { index: context.properties.index, what, needed, free, total })
        }
        other => context.check("cuMemAlloc", other),
    }
}
