//! Arrays that cudarc has allocated.

use cudarc::driver::{CudaSlice, CudaView, DevicePtr, DeviceSlice};
use warpfold_array::{Error, elements};
use warpfold_core::Element;
use warpfold_gpu::ArrayView;

/// A slice that cudarc has allocated, as an array in C order.
///
/// cudarc frees a slice on a stream of its own. Synchronise with what was queued here before the slice is dropped; and
/// with whatever fills it before it is used here.
///
/// # Errors
/// [`Error::Length`] if the slice has not exactly the elements of `shape`.
pub fn view<'a, T: Element>(slice: &'a impl Cudarc<T>, shape: &[usize]) -> Result<ArrayView<'a>, Error> {
    let (len, expected) = (slice.elements(), elements(shape, size_of::<T>())?);
    if len != expected {
        return Err(Error::Length { shape: shape.to_vec(), expected, found: len });
    }
    // SAFETY: the slice has these elements and is borrowed.
    unsafe { ArrayView::dense(slice.device(), slice.address(), T::DTYPE, shape) }
}

mod sealed {
    /// Nobody else can say where memory is: safe code believes it.
    pub trait Sealed {}
    impl<T> Sealed for super::CudaSlice<T> {}
    impl<T> Sealed for super::CudaView<'_, T> {}
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

impl<T> Cudarc<T> for CudaSlice<T> {
    fn elements(&self) -> usize {
        self.len()
    }
    fn address(&self) -> u64 {
        self.device_ptr(self.stream()).0
    }
    fn device(&self) -> usize {
        self.ordinal()
    }
}

impl<T> Cudarc<T> for CudaView<'_, T> {
    fn elements(&self) -> usize {
        self.len()
    }
    fn address(&self) -> u64 {
        self.device_ptr(self.stream()).0
    }
    fn device(&self) -> usize {
        self.stream().context().ordinal()
    }
}
