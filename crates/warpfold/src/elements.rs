//! Elements of a type of the user's own. No [`crate::ArrayRef`] describes them, since they have no dtype.

use warpfold_array::problem::At;
use warpfold_array::{ElementLayout, Error, Tensor};
use warpfold_core::Reducer;
use warpfold_cpu::copied::Copied;
use warpfold_cpu::engine::{self, Job};
use warpfold_cpu::kernel::Tree;
use warpfold_cpu::parallel;

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
    let layout = ElementLayout::dense(shape, size_of::<R::Item>())?;
    layout.has(data.len())?;
    let reduced = layout.reduce(axes)?;
    let base = At { x: data.as_ptr().cast(), mask: std::ptr::null() }.offset(reduced.problem.x_offset, 0);
    let threads = parallel::threads();
    let job = Job { kernel: &Tree(reducer), load: &Copied, problem: &reduced.problem, base, threads, progress: None };
    // SAFETY: the slice has the elements of the shape, in C order, and the problem reaches no others.
    let outputs = unsafe { engine::run(&job) };
    let data = outputs.ok_or_else(|| layout.empty(&reduced.axes))?;
    Ok(Tensor { shape: reduced.shape, data })
}
