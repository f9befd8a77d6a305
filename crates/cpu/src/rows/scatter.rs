//! Sums into places that indices name: what lands in a place is a group, whose tree is added to what was there.

use warpfold_array::{Array, ArrayRef, Error, Op, Options, RowError};
use warpfold_core::{DType, Kind};

use crate::keys::group_by;
use crate::load::Loaded;
use crate::simd::vectorize;

use super::call::{Call, elements, floats, rounded, with_float};
use super::lines::RowFloat;

/// Adds indices of `source` along an axis to those indices of `x` that `index`, integers along one axis, names: a new
/// array. What is added to an element is the tree over the elements of `source` that go there, in order, times `alpha`.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, index, source) = ([1.0f32, 2.0, 3.0], [2i64, 0, 2], [10.0f32, 20.0, 30.0]);
/// let [x, source] = [&x, &source].map(|array| ArrayRef::flat(array));
/// let sums = rows::index_add(x, 0, ArrayRef::flat(&index), source, 1.0, None)?;
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [21.0, 2.0, 43.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`RowError`]: no floats, indices that are no integers or beyond the axis, arrays of another shape; a bad axis;
/// [`Error::Memory`].
pub fn index_add(
    x: ArrayRef<'_>,
    axis: isize,
    index: ArrayRef<'_>,
    source: ArrayRef<'_>,
    alpha: f64,
    threads: Option<usize>,
) -> Result<Array, Error> {
    let call = Call::new("index_add", x, &[axis], threads)?;
    let axis = call.axes[0];
    call.floats("the elements of the source", source.dtype())?;
    let mut shape = x.shape().to_vec();
    shape[axis] = index.len();
    call.shape("the indices", &index, &[index.len()])?;
    call.shape("the elements of the source", &source, &shape)?;
    let places = places(&call, &index, call.len)?;
    with_float!(x.dtype(), F => {
        let others = (0..shape.len()).filter(|&other| other != axis);
        let first: Vec<usize> = std::iter::once(axis).chain(others).collect();
        let sums = sums::<F>(&places, source.permuted(&first), call.len, threads)?;
        let back = |a: usize| if a == axis { 0 } else { a + usize::from(a < axis) };
        let back: Vec<usize> = (0..shape.len()).map(back).collect();
        let of_first: Vec<usize> = first.iter().map(|&a| x.shape()[a]).collect();
        let sums = floats(&ArrayRef::from_slice(&sums, &of_first)?.permuted(&back))?;
        let inner: usize = shape[axis + 1..].iter().product();
        added::<F>(&x, &sums, &touched(&places, call.len), inner, alpha)
    })
}

/// Adds elements of `source` to those elements of `x` whose index along an axis `index` gives: a new array. The other
/// indices are those of the element. `index` has the shape of `source`, which is at most that of `x` along other axes.
/// What is added to an element is the tree over the elements that go there, in row-major order.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, index, source) = ([1.0f32, 2.0, 3.0], [2i64, 0, 2], [10.0f32, 20.0, 30.0]);
/// let [x, source] = [&x, &source].map(|array| ArrayRef::flat(array));
/// let sums = rows::scatter_add(x, 0, ArrayRef::flat(&index), source, None)?;
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [21.0, 2.0, 43.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`index_add`].
pub fn scatter_add(
    x: ArrayRef<'_>,
    axis: isize,
    index: ArrayRef<'_>,
    source: ArrayRef<'_>,
    threads: Option<usize>,
) -> Result<Array, Error> {
    let call = Call::new("scatter_add", x, &[axis], threads)?;
    let axis = call.axes[0];
    call.floats("the elements of the source", source.dtype())?;
    call.shape("the indices", &index, source.shape())?;
    let fits = |a: usize| a == axis || source.shape()[a] <= x.shape()[a];
    if source.shape().len() != x.shape().len() || !(0..x.shape().len()).all(fits) {
        call.shape("the elements of the source", &source, x.shape())?;
    }
    let mut places = places(&call, &index, call.len)?;
    flattened(&mut places, source.shape(), x.shape(), axis);
    with_float!(x.dtype(), F => {
        let terms = floats::<F>(&source)?;
        let sums = sums::<F>(&places, ArrayRef::flat(&terms), x.len(), threads)?;
        added::<F>(&x, &sums, &touched(&places, x.len()), 1, 1.0)
    })
}

/// The options of [`embedding_backward`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedding {
    /// The row of this index has no gradient.
    pub padding: Option<usize>,
    /// Whether the gradient of a row is divided by how often it was taken.
    pub by_frequency: bool,
    /// How many threads; `None`: as many as rayon's current pool has.
    pub threads: Option<usize>,
}

/// The gradient of a table of `count` rows, from that of the rows that `indices` took: of each row the tree over the
/// gradients of where it was taken, in row-major order. `gradient` has the shape of `indices`, and an axis more.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (gradient, indices) = ([1.0f32, 2.0, 3.0], [2i64, 0, 2]);
/// let gradient = ArrayRef::from_slice(&gradient, &[3, 1])?;
/// let of = rows::embedding_backward(gradient, ArrayRef::flat(&indices), 3, &rows::Embedding::default())?;
/// assert_eq!(of.into_vec::<f32>().unwrap(), [2.0, 0.0, 4.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`index_add`].
pub fn embedding_backward(
    gradient: ArrayRef<'_>,
    indices: ArrayRef<'_>,
    count: usize,
    options: &Embedding,
) -> Result<Array, Error> {
    let call = Call::new("embedding_backward", gradient, &[-1], options.threads)?;
    call.shape("the indices", &indices, &call.lengths(false))?;
    let mut places = places(&call, &indices, count)?;
    let mut taken = vec![0u64; count];
    places.iter().for_each(|&place| taken[place as usize] += 1);
    for place in &mut places {
        let is_padding = options.padding == usize::try_from(*place).ok();
        *place = if is_padding { -1 } else { *place };
    }
    let taken = if options.by_frequency { &taken[..] } else { &[] };
    with_float!(gradient.dtype(), F => table::<F>(&gradient, &places, taken, [count, call.len], options.threads))
}

/// The sums of the rows of each place, over how often the place was taken, if that is given.
fn table<F: RowFloat>(
    rows: &ArrayRef<'_>,
    places: &[i64],
    taken: &[u64],
    [count, width]: [usize; 2],
    threads: Option<usize>,
) -> Result<Array, Error> {
    let terms = floats::<F>(rows)?;
    let mut sums = sums::<F>(places, ArrayRef::from_slice(&terms, &[places.len(), width])?, count, threads)?;
    for (sums, &taken) in sums.chunks_exact_mut(width.max(1)).zip(taken) {
        let divisor = F::from_count(taken.max(1));
        sums.iter_mut().for_each(|sum| *sum = sum.div(divisor));
    }
    rounded(&sums, rows.dtype(), vec![count, width])
}

/// Indices below `len`.
fn places(call: &Call<'_>, index: &ArrayRef<'_>, len: usize) -> Result<Vec<i64>, Error> {
    let dtype = index.dtype();
    if !matches!(dtype.kind(), Kind::Signed | Kind::Unsigned) {
        return Err(RowError::NotIndices { op: call.op, dtype }.into());
    }
    // Unsigned numbers beyond 2^63 become negative ones.
    let places = elements(index, i64::gather(dtype, index.is_swapped(), DType::I64))?;
    match places.iter().position(|&place| usize::try_from(place).map_or(true, |place| place >= len)) {
        Some(at) => {
            let index = if dtype == DType::U64 { i128::from(places[at] as u64) } else { i128::from(places[at]) };
            Err(RowError::Index { op: call.op, at, index, len }.into())
        }
        None => Ok(places),
    }
}

/// Turns indices along an axis into places of an array in row-major order.
fn flattened(places: &mut [i64], shape: &[usize], of: &[usize], axis: usize) {
    let mut at = vec![0; shape.len()];
    for place in places {
        let index = |a: usize| if a == axis { *place as usize } else { at[a] };
        *place = (0..of.len()).fold(0, |flat, a| flat * of[a] + index(a)) as i64;
        for a in (0..shape.len()).rev() {
            at[a] += 1;
            if at[a] < shape[a] {
                break;
            }
            at[a] = 0;
        }
    }
}

/// The sums of the values of each place, not rounded.
fn sums<F: RowFloat>(
    places: &[i64],
    values: ArrayRef<'_>,
    count: usize,
    threads: Option<usize>,
) -> Result<Vec<F>, Error> {
    if values.is_empty() {
        return Ok(vec![F::ZERO; count * values.shape()[1..].iter().product::<usize>()]);
    }
    let options = Options { dtype: Some(F::DTYPE), threads, ..Options::default() };
    let sums = group_by(Op::Sum, ArrayRef::flat(places), values, Some(count), &options)?;
    Ok(F::unwrap(sums.values).expect("sums are of the dtype that was asked for"))
}

/// Whether anything goes to a place.
fn touched(places: &[i64], count: usize) -> Vec<bool> {
    let mut touched = vec![false; count];
    places.iter().for_each(|&place| touched[place as usize] = true);
    touched
}

/// Adds sums, in row-major order, to the elements of an array. `touched` says of each place, which is `inner` elements,
/// whether there is anything to add.
fn added<F: RowFloat>(
    x: &ArrayRef<'_>,
    sums: &[F],
    touched: &[bool],
    inner: usize,
    alpha: f64,
) -> Result<Array, Error> {
    let (mut result, alpha) = (floats::<F>(x)?, F::from_f64(alpha));
    let places = result.chunks_exact_mut(inner.max(1)).zip(sums.chunks_exact(inner.max(1)));
    for ((to, sums), touched) in places.zip(touched.iter().cycle()) {
        if *touched {
            vectorize(
                #[inline(always)]
                || {
                    for (to, sum) in to.iter_mut().zip(sums) {
                        *to = to.add(sum.mul(alpha));
                    }
                },
            );
        }
    }
    rounded(&result, x.dtype(), x.shape().to_vec())
}
