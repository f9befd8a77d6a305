//! Elements of a user's type in a GPU's memory, owned and borrowed.

use crate::buffer::Buffer;
use crate::device::Device;
use crate::stream::Stream;
use std::marker::PhantomData;
use warpfold_array::{CudaError, ElementLayout, Error, Tensor};
use warpfold_kernels::custom::{Words, from_slice};

/// Elements in a GPU's memory, in C order.
pub struct Elements<T> {
    words: Buffer<u32>,
    layout: ElementLayout,
    kind: PhantomData<T>,
}

impl<T: Words> Elements<T> {
    /// Room for elements. Its first contents are unspecified.
    ///
    /// # Errors
    /// If the shape is too large, or the memory does not suffice.
    pub fn new(device: &Device, shape: &[usize]) -> Result<Elements<T>, Error> {
        let layout = ElementLayout::dense(shape, size_of::<T>())?;
        let words = Buffer::new(device, layout.len() * T::WORDS as usize)?;
        Ok(Elements { words, layout, kind: PhantomData })
    }

    /// A copy of elements on the host, in C order. Returns when it is on the device.
    ///
    /// # Errors
    /// If the shape has another length, the memory does not suffice, or copying fails.
    pub fn upload(stream: &Stream, data: &[T], shape: &[usize]) -> Result<Elements<T>, Error> {
        let mut elements = Elements::new(&stream.device(), shape)?;
        elements.layout.has(data.len())?;
        // SAFETY: by the promise of `Words`, an element lies in memory as its words, aligned to one at least.
        let words = unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), data.len() * T::WORDS as usize) };
        elements.words.write(stream, words)?;
        Ok(elements)
    }

    /// A copy on the host, when all that is queued on the stream is done.
    ///
    /// # Errors
    /// If something went wrong on the device.
    pub fn download(&self, stream: &Stream) -> Result<Tensor<T>, Error> {
        self.view().is_on(stream, "result")?;
        let words = self.words.read(stream)?;
        let data = words.chunks_exact(T::WORDS as usize).map(from_slice).collect();
        Ok(Tensor { shape: self.shape().to_vec(), data })
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Where they are, as kernels see it.
    pub fn address(&self) -> u64 {
        self.words.address()
    }

    /// All of them, as the input of a reduction.
    pub fn view(&self) -> ElementsView<'_, T> {
        let device = self.words.device_index();
        ElementsView { device, address: self.address(), layout: self.layout, life: PhantomData }
    }
}

/// Elements in a GPU's memory that somebody else owns, at any strides.
#[derive(Debug)]
pub struct ElementsView<'a, T> {
    device: usize,
    address: u64,
    layout: ElementLayout,
    life: PhantomData<&'a T>,
}

impl<T> Clone for ElementsView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ElementsView<'_, T> {}

impl<'a, T: Words> ElementsView<'a, T> {
    /// Elements that another library has put on the device: the address of that with all indices 0, and the step of
    /// each axis in bytes, which may be negative, or 0 to repeat. All lie at multiples of the greatest power of two
    /// that divides their size, up to 16.
    ///
    /// # Safety
    /// Every element that `shape` and `strides` reach from `address` is memory of that device, readable by kernels for
    /// `'a` and until whatever was queued with it is done.
    ///
    /// # Errors
    /// If there are too many axes or elements, not one stride per axis, or elements at other places.
    pub unsafe fn from_raw(
        device: usize,
        address: u64,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<ElementsView<'a, T>, Error> {
        let size = size_of::<T>();
        let layout = ElementLayout::strided(shape, strides, size)?;
        let align = 16.min(1 << size.trailing_zeros());
        let stays = |(&len, &stride): (&usize, &isize)| len < 2 || stride % align as isize == 0;
        if !address.is_multiple_of(align as u64) || !shape.iter().zip(strides).all(stays) {
            return Err(CudaError::MisalignedElements { size, address, strides: strides.to_vec(), align }.into());
        }
        Ok(ElementsView { device, address, layout, life: PhantomData })
    }

    /// The axes in another order.
    ///
    /// # Errors
    /// If these are not all axes, each once.
    pub fn permute(&self, axes: &[usize]) -> Result<ElementsView<'a, T>, Error> {
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..self.shape().len()) {
            let what = format!("the order of axes {axes:?}");
            return Err(CudaError::Outside { what, shape: self.shape().to_vec() }.into());
        }
        let shape: Vec<usize> = axes.iter().map(|&a| self.shape()[a]).collect();
        let strides: Vec<isize> = axes.iter().map(|&a| self.layout.strides()[a]).collect();
        Ok(ElementsView { layout: ElementLayout::strided(&shape, &strides, size_of::<T>())?, ..*self })
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The address of the element with all indices 0.
    pub fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn layout(&self) -> &ElementLayout {
        &self.layout
    }

    pub(crate) fn is_on(&self, stream: &Stream, what: &'static str) -> Result<(), CudaError> {
        let (found, expected) = (self.device, stream.device().properties().index);
        if found == expected { Ok(()) } else { Err(CudaError::OtherDevice { what, found, expected }) }
    }
}
