//! What the typed API takes and gives.

#[cfg(feature = "ndarray")]
use warpfold_array::MAX_RANK;
use warpfold_array::{ArrayRef, Error, Value};

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
    /// Where the elements are.
    ///
    /// # Errors
    /// [`Error::RankTooHigh`] beyond [`crate::MAX_RANK`] axes.
    fn view(&self) -> Result<ArrayRef<'_>, Error>;
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

/// An owned result of one element type, in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<T> {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: Vec<T>,
}

impl<T> Tensor<T> {
    /// The only element, if there is just one.
    ///
    /// ```
    /// let total = warpfold::over(&[1u8, 2]).sum()?;
    /// assert_eq!((total.shape.len(), total.item()), (0, Some(3)));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn item(mut self) -> Option<T> {
        if self.data.len() == 1 { self.data.pop() } else { None }
    }

    /// As an ndarray, without a copy.
    ///
    /// ```
    /// let x = ndarray::array![[1u8, 2], [3, 4]];
    /// assert_eq!(warpfold::over(&x).axis(0).sum()?.into_ndarray(), ndarray::array![4, 6].into_dyn());
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    #[cfg(feature = "ndarray")]
    pub fn into_ndarray(self) -> ndarray::ArrayD<T> {
        ndarray::ArrayD::from_shape_vec(self.shape, self.data).expect("shape and data agree")
    }
}
