//! The layout of elements of any size. Types without a dtype have no `ArrayRef`.

use crate::error::Error;
use crate::layout::{MAX_RANK, elements};
use crate::problem::{Problem, normalize_axes, result_shape};
use crate::row_error::RowError;

/// The memory layout of elements of any size.
///
/// ```
/// use warpfold_array::ElementLayout;
///
/// let layout = ElementLayout::dense(&[2, 3], 16)?;
/// assert_eq!((layout.len(), layout.strides()), (6, &[48, 16][..]));
/// assert_eq!(layout.reduce(Some(&[-1]))?.shape, [2]);
/// # Ok::<(), warpfold_array::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementLayout {
    /// Bytes of an element.
    pub size: usize,
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [isize; MAX_RANK],
}

/// A reduction of the elements of an [`ElementLayout`].
pub struct ElementProblem {
    /// The canonical form.
    pub problem: Problem,
    /// The reduced axes.
    pub axes: Vec<usize>,
    /// The shape of the result.
    pub shape: Vec<usize>,
}

impl ElementLayout {
    /// Elements in C order without gaps.
    ///
    /// # Errors
    /// If the shape has too many axes or elements.
    pub fn dense(shape: &[usize], size: usize) -> Result<Self, Error> {
        elements(shape, size.max(1))?;
        let mut strides = [0; MAX_RANK];
        let mut step = size as isize;
        for (stride, &len) in strides[..shape.len()].iter_mut().zip(shape).rev() {
            *stride = step;
            step *= len.max(1) as isize;
        }
        Self::strided(shape, &strides[..shape.len()], size)
    }

    /// Elements at any strides, in bytes.
    ///
    /// # Errors
    /// If the shape has too many axes or elements, or there is not one stride for each axis.
    pub fn strided(shape: &[usize], steps: &[isize], size: usize) -> Result<Self, Error> {
        elements(shape, 1)?;
        if shape.len() != steps.len() {
            return Err(Error::Strides { shape: shape.to_vec(), expected: shape.len(), found: steps.len() });
        }
        let mut layout = Self { size, rank: shape.len(), shape: [0; MAX_RANK], strides: [0; MAX_RANK] };
        layout.shape[..shape.len()].copy_from_slice(shape);
        layout.strides[..shape.len()].copy_from_slice(steps);
        Ok(layout)
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// The step of each axis, in bytes.
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    /// Whether an axis has length zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Checks that the layout has `found` elements.
    ///
    /// # Errors
    /// [`Error::Length`] if it has another number.
    pub fn has(&self, found: usize) -> Result<(), Error> {
        let expected = self.len();
        if found == expected { Ok(()) } else { Err(Error::Length { shape: self.shape().to_vec(), expected, found }) }
    }

    /// The canonical form of a reduction over some axes (`None`: all).
    ///
    /// # Errors
    /// Of bad axes.
    pub fn reduce(&self, axes: Option<&[isize]>) -> Result<ElementProblem, Error> {
        self.beside(&[0; MAX_RANK][..self.rank], axes)
    }

    /// The same of elements of which a part is in a second array of the same shape, where a mask would be.
    ///
    /// # Errors
    /// Of bad axes; [`RowError::Shape`].
    pub fn reduce_pairs(&self, second: &Self, axes: Option<&[isize]>) -> Result<ElementProblem, Error> {
        if self.shape() != second.shape() {
            let (op, what) = ("reduce_pairs", "the elements of the second array");
            let (expected, found) = (self.shape().to_vec(), second.shape().to_vec());
            return Err(RowError::Shape { op, what, expected, found }.into());
        }
        self.beside(second.strides(), axes)
    }

    fn beside(&self, steps: &[isize], axes: Option<&[isize]>) -> Result<ElementProblem, Error> {
        let axes = normalize_axes(axes, self.rank)?;
        let problem = Problem::of(self.shape(), self.strides(), steps, &axes, self.size);
        let shape = result_shape(self.shape(), &axes, false);
        Ok(ElementProblem { problem, axes, shape })
    }

    /// The error of nothing to reduce without an identity.
    pub fn empty(&self, axes: &[usize]) -> Error {
        Error::CustomEmpty { shape: self.shape().to_vec(), axes: axes.to_vec() }
    }
}
