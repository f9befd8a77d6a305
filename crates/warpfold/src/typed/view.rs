//! What the typed API takes and gives.

#[cfg(feature = "ndarray")]
use warpfold_array::MAX_RANK;
use warpfold_array::{ArrayRef, Error, Value};
use warpfold_core::Element;

/// Something that holds an array of one element type: slices, vectors, and (feature `ndarray`) ndarray's arrays and
/// views.
///
/// ```
/// use warpfold::View;
///
/// assert_eq!([1.0f32, 2.0].view()?.shape(), [2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub trait View {
    /// The element.
    type Elem: Value;
    /// Where the elements are: an array of the dtype of [`View::Elem`]. Of another, whatever takes the view gives
    /// [`Error::ViewDType`].
    ///
    /// # Errors
    /// [`Error::RankTooHigh`] beyond [`crate::MAX_RANK`] axes.
    fn view(&self) -> Result<ArrayRef<'_>, Error>;
}

/// The array of a view, which has the view's elements. Any code may implement [`View`], so they are compared.
pub(super) fn viewed<V: View + ?Sized>(array: &V) -> Result<ArrayRef<'_>, Error> {
    let (view, elem) = (array.view()?, V::Elem::DTYPE);
    if view.dtype() != elem {
        return Err(Error::ViewDType { elem, found: view.dtype() });
    }
    Ok(view)
}

impl<T: Value> View for [T] {
    type Elem = T;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        Ok(ArrayRef::flat(self))
    }
}

impl<T: Value> View for Vec<T> {
    type Elem = T;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        Ok(ArrayRef::flat(self))
    }
}

impl<T: Value, const N: usize> View for [T; N] {
    type Elem = T;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        Ok(ArrayRef::flat(self))
    }
}

impl<V: View + ?Sized> View for &V {
    type Elem = V::Elem;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        (**self).view()
    }
}

#[cfg(feature = "ndarray")]
impl<T, S, D> View for ndarray::ArrayBase<S, D, T>
where
    T: Value,
    S: ndarray::Data<Elem = T>,
    D: ndarray::Dimension,
{
    type Elem = T;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        if self.ndim() > MAX_RANK {
            return Err(Error::RankTooHigh { rank: self.ndim() });
        }
        let mut strides = [0; MAX_RANK];
        for (to, &from) in strides.iter_mut().zip(self.strides()) {
            *to = from * size_of::<T>() as isize;
        }
        // SAFETY: an ndarray's elements are readable along its shape and strides while it is borrowed.
        unsafe { ArrayRef::from_raw(self.as_ptr().cast(), T::DTYPE, self.shape(), &strides[..self.ndim()]) }
    }
}
