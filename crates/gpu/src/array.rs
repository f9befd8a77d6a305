//! Arrays of any dtype and shape in a GPU's memory, owned and borrowed.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use warpfold_core::{DType, Element};
use super::keys::label_error;
use warpfold_array::KeyError;
use warpfold_array::request::hole_error;
use warpfold_array::{ArrayRef, elements};
use warpfold_array::{Hole, Value, Values};
use crate::buffer::{Buffer};
use crate::device::{Device};
use crate::host::gather::{Gather};
use crate::host::transfer::{upload};
use crate::stream::{Stream};
use warpfold_array::{CudaError, Error};



/// Bytes after the elements, for a word of status.
const TAIL: usize = 16;

/// An array in a GPU's memory, in C order.
///
/// The result of a reduction is one: it stays on the device until [`Array::download`]. Work on it is queued on streams, which
/// do not wait for each other: use one stream, or synchronise in between.
pub struct Array {
    buffer: Buffer<u8>,
    dtype: DType,
    shape: Vec<usize>,
    /// The reduction that wrote it last, if that may have left outputs without a value.
    origin: Option<Arc<Origin>>,
}

/// A reduction some of whose outputs may have no value, for the message.
pub(crate) struct Origin {
    pub op: warpfold_array::Op,
    /// What errors of parts call it.
    pub name: &'static str,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub axes: Vec<usize>,
    /// What it reduced, if not the array as a whole: segments, groups or runs.
    pub parts: Option<&'static str>,
    /// Of labels, how many groups there are, and their dtype. The first label of none is then said after the status: see [`Origin::check_labels`].
    pub groups: Option<(usize, DType)>,
}

impl Array {
    /// Room for an array. What it holds at first is anybody's guess.
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
    /// If something went wrong on the device, or if the reduction that wrote it found an output without a value: nothing to
    /// reduce and no identity, or only NaN.
    pub fn download(&self, stream: &Stream) -> Result<warpfold_array::Array, Error> {
        self.is_on(stream, "result")?;
        let whole = self.bytes().next_multiple_of(TAIL);
        let mut bytes = self.buffer.read_first(stream, whole + TAIL)?;
        let tail = bytes.split_off(whole);
        if let Some(origin) = &self.origin {
            origin.check_labels(&tail[4..])?;
            origin.check(u32::from_ne_bytes([tail[0], tail[1], tail[2], tail[3]]))?;
        }
        Ok(warpfold_array::Array { shape: self.shape.clone(), values: values(self.dtype, &bytes[..self.bytes()]) })
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
        same_device(what, self.buffer.device_index(), stream)
    }
}

impl Origin {
    /// A reduction of segments, or of other parts of the first axis.
    pub fn of_parts(op: warpfold_array::Op, dtype: DType, shape: &[usize], parts: &'static str) -> Origin {
        Origin { op, name: op.name(), dtype, shape: shape.to_vec(), axes: vec![0], parts: Some(parts), groups: None }
    }

    /// What is said of labels: the first of no group, as the kernels of sorting have it, and what it is, in 4 and 8 bytes.
    fn check_labels(&self, said: &[u8]) -> Result<(), KeyError> {
        let Some((groups, dtype)) = self.groups else { return Ok(()) };
        let word = |at: usize| u32::from_ne_bytes([said[at], said[at + 1], said[at + 2], said[at + 3]]);
        label_error([word(0), word(4), word(8)], dtype, groups)
    }

    /// What the status says: byte 0 for an output of nothing, byte 1 for one of only NaN, byte 2 for offsets that cut no array.
    pub(crate) fn check(&self, status: u32) -> Result<(), Error> {
        let hole = match status.to_ne_bytes() {
            [_, _, bad, _] if bad != 0 => return Err(KeyError::BadOffsets { len: self.shape[0] }.into()),
            [0, 0, ..] => return Ok(()),
            [0, ..] => Hole::AllNan,
            // As on the CPU, nothing at all goes before nothing but NaN.
            _ => Hole::Empty,
        };
        if let Some(what) = self.parts {
            let why = hole.of_a_segment();
            return Err(KeyError::SomeEmpty { op: self.name, dtype: self.dtype, what, why }.into());
        }
        Err(hole_error(hole, self.op, self.dtype, &self.shape, &self.axes))
    }
}

/// An array in a GPU's memory that somebody else owns: any dtype, shape and strides.
///
/// It holds an address that the host cannot read, and no safe code can make it try.
#[derive(Clone, Copy, Debug)]
pub struct ArrayView<'a> {
    layout: ArrayRef<'a>,
    device: usize,
    life: PhantomData<&'a Array>,
}

impl<'a> ArrayView<'a> {
    /// An array that another library has put on the device: the address of the element with all indices 0, and the step of
    /// each axis in bytes. Steps may be negative, or 0 to repeat. Elements lie at multiples of their size; rows and columns
    /// may start anywhere.
    ///
    /// # Safety
    /// Every element that `shape` and `strides` reach from `address` is memory of that device, readable by kernels for `'a`
    /// and until whatever was queued with it is done.
    ///
    /// # Errors
    /// If there are too many axes or elements, not one stride per axis, or elements at other places.
    pub unsafe fn from_raw(
        device: usize,
        address: u64,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<ArrayView<'a>, Error> {
        if shape.len() != strides.len() {
            let (shape, expected, found) = (shape.to_vec(), shape.len(), strides.len());
            return Err(Error::Strides { shape, expected, found });
        }
        let size = dtype.size();
        let stays = |(&len, &stride): (&usize, &isize)| len < 2 || stride % size as isize == 0;
        if !address.is_multiple_of(size as u64) || !shape.iter().zip(strides).all(stays) {
            return Err(CudaError::Misaligned { dtype, address, strides: strides.to_vec() }.into());
        }
        let address = std::ptr::without_provenance(address as usize);
        // SAFETY: this type lends the layout only to code of this crate that computes with the address, and does not read.
        let layout = unsafe { ArrayRef::from_raw(address, dtype, shape, strides)? };
        Ok(ArrayView { layout, device, life: PhantomData })
    }

    /// A slice that cudarc has allocated, as an array in C order.
    ///
    /// cudarc frees a slice on a stream of its own. Synchronise with what was queued here before the slice is dropped; and
    /// with whatever fills it before it is used here.
    ///
    /// # Errors
    /// [`Error::Length`] if the slice has not exactly the elements of `shape`.
    pub fn from_cudarc<T: Element>(slice: &'a impl Cudarc<T>, shape: &[usize]) -> Result<ArrayView<'a>, Error> {
        let (len, expected) = (slice.elements(), elements(shape, size_of::<T>())?);
        if len != expected {
            return Err(Error::Length { shape: shape.to_vec(), expected, found: len });
        }
        // SAFETY: the slice has these elements and is borrowed.
        unsafe { ArrayView::dense(slice.device(), slice.address(), T::DTYPE, shape) }
    }

    /// # Safety
    /// As [`ArrayView::from_raw`].
    unsafe fn dense(device: usize, address: u64, dtype: DType, shape: &[usize]) -> Result<Self, Error> {
        let mut strides = vec![0; shape.len()];
        let mut step = dtype.size() as isize;
        for (stride, &len) in strides.iter_mut().zip(shape).rev() {
            *stride = step;
            step *= len.max(1) as isize;
        }
        // SAFETY: the caller's.
        unsafe { ArrayView::from_raw(device, address, dtype, shape, &strides) }
    }

    /// The part of an axis in `range`.
    ///
    /// # Errors
    /// If there is no such axis, or it is shorter.
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Result<ArrayView<'a>, CudaError> {
        let fits = self.shape().get(axis).is_some_and(|&len| range.start <= range.end && range.end <= len);
        if !fits {
            return Err(self.outside(format!("{range:?} of axis {axis}")));
        }
        Ok(ArrayView { layout: self.layout.narrow(axis, range.start, range.len()), ..*self })
    }

    /// Every `step`th element of an axis, backwards if the step is negative.
    ///
    /// # Errors
    /// If there is no such axis, or the step is 0.
    pub fn step(&self, axis: usize, step: isize) -> Result<ArrayView<'a>, CudaError> {
        let too_far = self.strides().get(axis).is_none_or(|stride| stride.checked_mul(step).is_none());
        if step == 0 || too_far {
            return Err(self.outside(format!("step {step} along axis {axis}")));
        }
        Ok(ArrayView { layout: self.layout.stepped(axis, step), ..*self })
    }

    /// The axes in another order: `permute(&[1, 0])` is a transposed matrix.
    ///
    /// # Errors
    /// If an axis is missing or named twice.
    pub fn permute(&self, axes: &[usize]) -> Result<ArrayView<'a>, CudaError> {
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..self.shape().len()) {
            return Err(self.outside(format!("the order of axes {axes:?}")));
        }
        Ok(ArrayView { layout: self.layout.permuted(axes), ..*self })
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.layout.dtype()
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The step of each axis, in bytes.
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// Where the element with all indices 0 is, as kernels see it.
    pub fn address(&self) -> u64 {
        self.layout.base().addr() as u64
    }

    /// The index of its device, as in `cuda:1`.
    pub fn device(&self) -> usize {
        self.device
    }

    /// For code that computes with addresses, and reads nothing.
    pub(crate) fn layout(&self) -> &ArrayRef<'a> {
        &self.layout
    }

    pub(crate) fn is_on(&self, stream: &Stream, what: &'static str) -> Result<(), CudaError> {
        same_device(what, self.device, stream)
    }

    fn outside(&self, what: String) -> CudaError {
        CudaError::Outside { what, shape: self.shape().to_vec() }
    }
}

fn same_device(what: &'static str, found: usize, stream: &Stream) -> Result<(), CudaError> {
    let expected = stream.context.properties.index;
    if found == expected { Ok(()) } else { Err(CudaError::OtherDevice { what, found, expected }) }
}

mod sealed {
    /// Nobody else can say where memory is: safe code believes it.
    pub trait Sealed {}
    impl<T> Sealed for cudarc::driver::CudaSlice<T> {}
    impl<T> Sealed for cudarc::driver::CudaView<'_, T> {}
}

/// What cudarc allocates: `CudaSlice` and `CudaView`.
pub trait Cudarc<T>: sealed::Sealed {
    /// Elements.
    fn elements(&self) -> usize;
    /// Where it is, as kernels see it.
    fn address(&self) -> u64;
    /// The index of its device.
    fn device(&self) -> usize;
}

impl<T> Cudarc<T> for cudarc::driver::CudaSlice<T> {
    fn elements(&self) -> usize {
        self.len()
    }
    fn address(&self) -> u64 {
        use cudarc::driver::DevicePtr;
        self.device_ptr(self.stream()).0
    }
    fn device(&self) -> usize {
        self.ordinal()
    }
}

impl<T> Cudarc<T> for cudarc::driver::CudaView<'_, T> {
    fn elements(&self) -> usize {
        self.len()
    }
    fn address(&self) -> u64 {
        use cudarc::driver::{DevicePtr, DeviceSlice};
        self.device_ptr(self.stream()).0
    }
    fn device(&self) -> usize {
        use cudarc::driver::DeviceSlice;
        self.stream().context().ordinal()
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
        DType::I8 => of::<i8>(bytes),
        DType::I16 => of::<i16>(bytes),
        DType::I32 => of::<i32>(bytes),
        DType::I64 => of::<i64>(bytes),
        DType::U8 => of::<u8>(bytes),
        DType::U16 => of::<u16>(bytes),
        DType::U32 => of::<u32>(bytes),
        DType::U64 => of::<u64>(bytes),
        DType::F16 => of::<warpfold_core::f16>(bytes),
        DType::BF16 => of::<warpfold_core::bf16>(bytes),
        DType::F32 => of::<f32>(bytes),
        DType::F64 => of::<f64>(bytes),
    }
}
