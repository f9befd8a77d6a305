//! Arrays of any dtype and shape in a GPU's memory.

use std::sync::Arc;

use warpfold_array::{ArrayRef, CudaError, Error, Value, Values, elements};
use warpfold_core::{DType, with_dtype};

use crate::buffer::Buffer;
use crate::device::Device;
use crate::host::gather::Gather;
use crate::host::transfer::upload;
use crate::origin::Origin;
use crate::stream::Stream;
use crate::view::ArrayView;

/// Bytes after the elements, for a word of status.
const TAIL: usize = 16;

/// An array in a GPU's memory, in C order.
///
/// The result of a reduction is one: it stays on the device until [`Array::download`]. Work on it is queued on streams,
/// which do not wait for each other: use one stream, or synchronise in between.
pub struct Array {
    buffer: Buffer<u8>,
    dtype: DType,
    shape: Vec<usize>,
    /// The reduction that wrote it last, if that may have left outputs without a value.
    origin: Option<Arc<Origin>>,
}

impl Array {
    /// Room for an array. Its first contents are unspecified.
    ///
    /// # Errors
    /// If the shape is too large, or the memory does not suffice.
    pub fn new(device: &Device, dtype: DType, shape: &[usize]) -> Result<Array, Error> {
        let bytes = elements(shape, dtype.size())? * dtype.size();
        let buffer = Buffer::new(device, bytes.next_multiple_of(TAIL) + TAIL)?;
        Ok(Array { buffer, dtype, shape: shape.to_vec(), origin: None })
    }

    /// A copy of a host array, whatever its layout and its byte order. Returns when it is on the device.
    ///
    /// # Errors
    /// If the memory does not suffice, or copying fails.
    pub fn upload(stream: &Stream, array: ArrayRef<'_>) -> Result<Array, Error> {
        let copy = Array::new(&stream.device(), array.dtype(), array.shape())?;
        upload(stream, copy.buffer.address(), &Gather::logical(&array), None)?;
        Ok(copy)
    }

    /// A copy on the host, when all that is queued on the stream is done.
    ///
    /// # Errors
    /// If something went wrong on the device, or if the reduction that wrote it found an output without a value:
    /// nothing to reduce and no identity, or only NaN.
    pub fn download(&self, stream: &Stream) -> Result<warpfold_array::Array, Error> {
        self.is_on(stream, "result")?;
        let whole = self.bytes().next_multiple_of(TAIL);
        let mut bytes = self.buffer.read_first(stream, whole + TAIL)?;
        let tail = bytes.split_off(whole);
        self.check_tail(&tail)?;
        Ok(warpfold_array::Array { shape: self.shape.clone(), values: values(self.dtype, &bytes[..self.bytes()]) })
    }

    /// Waits until all that is queued on the stream is done, and checks the result without copying it.
    ///
    /// # Errors
    /// As [`Array::download`].
    pub fn check(&self, stream: &Stream) -> Result<(), Error> {
        self.is_on(stream, "result")?;
        let mut tail = [0; TAIL];
        // SAFETY: an array has as many bytes from its status on. `tail` outlives the copy, which is over when the
        // stream has been synchronised; if that fails, the context is lost and copies nothing any more.
        unsafe { stream.runtime().copy_out(stream.raw(), tail.as_mut_ptr(), self.status_address(), TAIL) }?;
        stream.synchronize()?;
        self.check_tail(&tail)
    }

    /// Checks the bytes after the elements: what the reduction that wrote it reports.
    fn check_tail(&self, tail: &[u8]) -> Result<(), Error> {
        let Some(origin) = &self.origin else { return Ok(()) };
        origin.check_labels(&tail[4..])?;
        origin.check(u32::from_ne_bytes([tail[0], tail[1], tail[2], tail[3]]))
    }

    /// Queues setting every byte to `byte`.
    ///
    /// # Errors
    /// If the stream is of another device, or the driver refuses.
    pub fn fill(&mut self, stream: &Stream, byte: u8) -> Result<(), CudaError> {
        self.is_on(stream, "array")?;
        self.origin = None;
        self.buffer.fill(stream, byte)
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether an axis has length zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where it is, as kernels see it.
    pub fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// All of it, as the input of a reduction.
    pub fn view(&self) -> ArrayView<'_> {
        // SAFETY: the elements are the buffer's, in C order, for as long as it is borrowed.
        let view = unsafe { ArrayView::dense(self.buffer.device_index(), self.address(), self.dtype, &self.shape) };
        view.expect("the shape was checked when the array was made")
    }

    pub(crate) fn bytes(&self) -> usize {
        self.len() * self.dtype.size()
    }

    /// Where the status of a reduction that writes it goes.
    pub(crate) fn status_address(&self) -> u64 {
        self.address() + self.bytes().next_multiple_of(TAIL) as u64
    }

    /// The first elements of the only axis. The memory stays as it is.
    pub(crate) fn first(self, len: usize) -> Array {
        debug_assert!(len <= self.len());
        Array { shape: vec![len], origin: None, ..self }
    }

    pub(crate) fn set_origin(&mut self, origin: Option<Arc<Origin>>) {
        self.origin = origin;
    }

    pub(crate) fn is_on(&self, stream: &Stream, what: &'static str) -> Result<(), CudaError> {
        stream.is_on(what, self.buffer.device_index())
    }

    /// Checks that the array has this dtype and shape.
    pub(crate) fn expect(&self, what: &'static str, dtype: DType, shape: &[usize]) -> Result<(), CudaError> {
        if self.dtype == dtype && self.shape == shape {
            return Ok(());
        }
        let found = format!("{} {:?}", self.dtype, self.shape);
        Err(CudaError::Layout { what, found, expected: format!("{dtype} {shape:?}") })
    }
}

/// Elements from their bytes.
pub(crate) fn values(dtype: DType, bytes: &[u8]) -> Values {
    fn of<T: Value>(bytes: &[u8]) -> Values {
        let n = bytes.len() / size_of::<T>();
        let mut elements: Vec<T> = Vec::with_capacity(n);
        // SAFETY: room for `n` elements, all of which are written; any bits are a number. Bools do not come this way.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), elements.as_mut_ptr().cast(), n * size_of::<T>());
            elements.set_len(n);
        }
        T::wrap(elements)
    }
    match dtype {
        DType::Bool => Values::Bool(bytes.iter().map(|&b| b != 0).collect()),
        dtype => with_dtype!(dtype, T => of::<T>(bytes)),
    }
}
