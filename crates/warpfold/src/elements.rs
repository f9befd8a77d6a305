//! Elements of a type of the user's own. No [`crate::ArrayRef`] describes them, since they have no dtype.

use warpfold_array::problem::{At, Problem, normalize_axes, result_shape};
use warpfold_array::{Error, MAX_RANK, elements};
use warpfold_core::Reducer;
use warpfold_cpu::engine::{self, Job};
use warpfold_cpu::kernel::Tree;
use warpfold_cpu::load::Copied;

use crate::typed::Tensor;

/// Reduces elements of any type, in C order, by a reducer of the user's own; `axes` as in [`crate::Options`].
///
/// ```
/// use warpfold::{Reducer, reduce_elements};
///
/// /// Maps `x -> a * x + b`, one after the other.
/// #[derive(Clone)]
/// struct Compose;
///
/// impl Reducer for Compose {
///     type Item = (i64, i64);
///     type Acc = (i64, i64);
///     type Output = (i64, i64);
///     fn lift(&self, map: (i64, i64), _index: u64) -> (i64, i64) {
///         map
///     }
///     fn combine(&self, f: (i64, i64), g: (i64, i64)) -> (i64, i64) {
///         (g.0 * f.0, g.0 * f.1 + g.1)
///     }
///     fn finish(&self, map: (i64, i64), _count: u64) -> (i64, i64) {
///         map
///     }
/// }
///
/// let maps = [(2, 1), (3, 0), (1, 5), (-1, 0)];
/// assert_eq!(reduce_elements(Compose, &maps, &[4], None)?.item(), Some((-6, -8)));
/// assert_eq!(reduce_elements(Compose, &maps, &[2, 2], Some(&[1]))?.data, [(6, 3), (-1, -5)]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// A shape of another length, bad axes, or nothing to reduce and no identity.
pub fn reduce_elements<R>(
    reducer: R,
    data: &[R::Item],
    shape: &[usize],
    axes: Option<&[isize]>,
) -> Result<Tensor<R::Output>, Error>
where
    R: Reducer<Output: Send>,
{
    let layout = Layout::dense(shape, size_of::<R::Item>())?;
    layout.has(data.len())?;
    let reduced = layout.reduce(axes)?;
    let base = At { x: data.as_ptr().cast(), mask: std::ptr::null() }.offset(reduced.problem.x_offset, 0);
    let threads = rayon::current_num_threads();
    let job = Job { kernel: &Tree(reducer), load: &Copied, problem: &reduced.problem, base, threads, progress: None };
    // SAFETY: the slice has the elements of the shape, in C order, and the problem reaches no others.
    let outputs = unsafe { engine::run(&job) };
    let data = outputs.ok_or_else(|| layout.empty(&reduced.axes))?;
    Ok(Tensor { shape: reduced.shape, data })
}

/// The shape and strides of elements of any size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    pub size: usize,
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [isize; MAX_RANK],
}

/// A reduction of such elements, in canonical form.
pub(crate) struct Reduced {
    pub problem: Problem,
    pub axes: Vec<usize>,
    pub shape: Vec<usize>,
}

impl Layout {
    /// In C order.
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

    /// At any strides, in bytes.
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

    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Refuses a number of elements that is not the shape's.
    pub fn has(&self, found: usize) -> Result<(), Error> {
        let expected = self.len();
        if found == expected { Ok(()) } else { Err(Error::Length { shape: self.shape().to_vec(), expected, found }) }
    }

    /// The canonical form of a reduction.
    pub fn reduce(&self, axes: Option<&[isize]>) -> Result<Reduced, Error> {
        let axes = normalize_axes(axes, self.rank)?;
        let problem = Problem::of(self.shape(), self.strides(), &[0; MAX_RANK][..self.rank], &axes, self.size);
        let shape = result_shape(self.shape(), &axes, false);
        Ok(Reduced { problem, axes, shape })
    }

    /// The error of a reduction of no elements without an identity.
    pub fn empty(&self, axes: &[usize]) -> Error {
        Error::CustomEmpty { shape: self.shape().to_vec(), axes: axes.to_vec() }
    }
}
