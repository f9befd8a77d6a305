//! Typed results.

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
    /// let total = warpfold_array::Tensor { shape: vec![], data: vec![3u64] };
    /// assert_eq!(total.item(), Some(3));
    /// ```
    pub fn item(mut self) -> Option<T> {
        if self.data.len() == 1 { self.data.pop() } else { None }
    }

    /// As an ndarray, without a copy.
    ///
    /// ```
    /// let sums = warpfold_array::Tensor { shape: vec![2], data: vec![4, 6] };
    /// assert_eq!(sums.into_ndarray(), ndarray::array![4, 6].into_dyn());
    /// ```
    #[cfg(feature = "ndarray")]
    pub fn into_ndarray(self) -> ndarray::ArrayD<T> {
        ndarray::ArrayD::from_shape_vec(self.shape, self.data).expect("shape and data agree")
    }
}
