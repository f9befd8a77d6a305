//! Softmax, its logarithm, and the gradients of both.

use warpfold_array::problem::broadcast;
use warpfold_array::{Array, ArrayRef, Error};
use warpfold_core::ops::Powers;
use warpfold_core::rows::{LogSoftmax, Softmax as Row, log_softmax_gradient, softmax_gradient};
use warpfold_core::{DType, Real};

use crate::exponentials::exponentials_of;
use crate::load::Loaded;
use crate::simd::vectorize;

use super::call::{Call, with_float};
use super::engine::{Block, Input, Node, RowOp};
use super::exponents;
use super::lines::{Lines, RowFloat};
use super::nodes::sums;

/// The options of [`softmax`] and [`log_softmax`].
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, keep) = ([1.0f32, 2.0, 9.0], [true, true, false]);
/// let options = rows::Softmax { mask: Some(ArrayRef::flat(&keep)), scale: 0.0, ..rows::Softmax::default() };
/// let y = rows::softmax(ArrayRef::flat(&x), &[0], &options)?;
/// assert_eq!(y.into_vec::<f32>().unwrap(), [0.5, 0.5, 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Softmax<'a> {
    /// Elements are multiplied by this number first. Default 1.
    pub scale: f64,
    /// Elements where this bool array, broadcast to the array's shape, is false take no part: their softmax is 0, also
    /// in rows that have no other elements.
    pub mask: Option<ArrayRef<'a>>,
    /// How many threads; `None`: as many as rayon's current pool has.
    pub threads: Option<usize>,
}

impl Default for Softmax<'_> {
    fn default() -> Self {
        Self { scale: 1.0, mask: None, threads: None }
    }
}

/// The softmax over some axes, exp(x) / Σ exp(x): an array of the same shape and dtype, in C order. Rows with NaN or
/// infinity, and rows of minus infinity alone, are NaN.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let x = [0.0f32, 0.0, 1000.0, -1000.0];
/// let x = ArrayRef::from_slice(&x, &[2, 2])?;
/// let y = rows::softmax(x, &[1], &rows::Softmax::default())?;
/// assert_eq!(y.into_vec::<f32>().unwrap(), [0.5, 0.5, 1.0, 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`warpfold_array::RowError::NotFloats`]; bad axes; a mask of another dtype or shape; [`Error::Memory`].
pub fn softmax(x: ArrayRef<'_>, axes: &[isize], options: &Softmax<'_>) -> Result<Array, Error> {
    forward("softmax", false, x, axes, options)
}

/// The logarithm of [`softmax`], without its loss of digits. Of an element that is masked out it is minus infinity.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let y = rows::log_softmax(ArrayRef::flat(&[0.0f64, -1000.0]), &[0], &rows::Softmax::default())?;
/// assert_eq!(y.into_vec::<f64>().unwrap(), [0.0, -1000.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`softmax`].
pub fn log_softmax(x: ArrayRef<'_>, axes: &[isize], options: &Softmax<'_>) -> Result<Array, Error> {
    forward("log_softmax", true, x, axes, options)
}

/// The gradient of the elements before [`softmax`], from its result `y` and the gradient of that, an array of the same
/// shape. Its dtype is that of `y`. Of the options only the scale and the threads count: where `y` is 0, so is the
/// gradient.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (y, gradient) = ([0.5f32, 0.5], [1.0f32, 0.0]);
/// let (y, gradient) = (ArrayRef::flat(&y), ArrayRef::flat(&gradient));
/// let x = rows::softmax_backward(y, gradient, &[0], &rows::Softmax::default())?;
/// assert_eq!(x.into_vec::<f32>().unwrap(), [0.25, -0.25]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`softmax`]; a gradient of another shape.
pub fn softmax_backward(
    y: ArrayRef<'_>,
    gradient: ArrayRef<'_>,
    axes: &[isize],
    options: &Softmax<'_>,
) -> Result<Array, Error> {
    backward("softmax_backward", false, [y, gradient], axes, options)
}

/// The gradient of the elements before [`log_softmax`], as [`softmax_backward`].
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (y, gradient) = ([0.5f64.ln(), 0.5f64.ln()], [1.0f64, 0.0]);
/// let (y, gradient) = (ArrayRef::flat(&y), ArrayRef::flat(&gradient));
/// let x = rows::log_softmax_backward(y, gradient, &[0], &rows::Softmax::default())?;
/// assert_eq!(x.into_vec::<f64>().unwrap(), [0.5, -0.5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`softmax_backward`].
pub fn log_softmax_backward(
    y: ArrayRef<'_>,
    gradient: ArrayRef<'_>,
    axes: &[isize],
    options: &Softmax<'_>,
) -> Result<Array, Error> {
    backward("log_softmax_backward", true, [y, gradient], axes, options)
}

fn forward(
    name: &'static str,
    log: bool,
    x: ArrayRef<'_>,
    axes: &[isize],
    options: &Softmax<'_>,
) -> Result<Array, Error> {
    let call = Call::new(name, x, axes, options.threads)?;
    let mask = match &options.mask {
        Some(mask) if mask.dtype() != DType::Bool => return Err(Error::MaskDType { dtype: mask.dtype() }),
        Some(mask) => {
            let (base, strides) = (mask.base().cast_mut(), broadcast(mask, &x)?);
            let lines = Lines::at(base, DType::Bool, false, x.shape(), &strides, &call.axes);
            Some(Input { lines, gather: u8::gather(DType::Bool, false, DType::U8) })
        }
        None => None,
    };
    with_float!(x.dtype(), F => {
        let (scale, masked) = (F::from_f64(options.scale), mask.is_some());
        let op = Forward { log, scale, masked, dtype: x.dtype() };
        call.map(&op, &[call.input(x)], mask.as_ref())
    })
}

fn backward(
    name: &'static str,
    log: bool,
    [y, gradient]: [ArrayRef<'_>; 2],
    axes: &[isize],
    options: &Softmax<'_>,
) -> Result<Array, Error> {
    let call = Call::new(name, y, axes, options.threads)?;
    call.alike("the gradients", &gradient)?;
    with_float!(y.dtype(), F => {
        let op = Backward::<F> { log, scale: F::from_f64(options.scale), dtype: y.dtype() };
        call.map(&op, &[call.input(y), call.input(gradient)], None)
    })
}

struct Forward<F> {
    log: bool,
    scale: F,
    masked: bool,
    dtype: DType,
}

/// Softmax and its logarithm of a row.
#[derive(Clone, Copy, Default)]
struct Both<F> {
    scale: F,
    inverse: F,
    log: F,
    rest: F,
}

impl<F: RowFloat> Forward<F> {
    fn scales(&self) -> bool {
        self.scale != F::ONE
    }
}

impl<F: RowFloat> RowOp<F> for Forward<F> {
    type Stat = Both<F>;

    fn prepares(&self) -> bool {
        self.scales() || self.masked
    }

    fn prepare(&self, x: &mut [F], _other: &[F], mask: Option<&[u8]>) {
        let (nothing, scale) = (F::ZERO.sub(F::ONE).div(F::ZERO), self.scale);
        vectorize(
            #[inline(always)]
            || {
                for x in &mut *x {
                    *x = x.mul(scale);
                }
            },
        );
        for (x, mask) in x.iter_mut().zip(mask.unwrap_or(&[])) {
            *x = if *mask == 0 { nothing } else { *x };
        }
    }

    fn reduce(&self, _round: usize, block: &mut Block<'_, F>, _stats: &[Both<F>], nodes: &mut [Node<F>]) {
        exponents::reduce(if self.scales() { F::DTYPE } else { self.dtype }, block, nodes);
    }

    fn join(&self, _round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        exponents::join(left.0, right.0)
    }

    fn finish(&self, _round: usize, _row: usize, [scale, sum]: Node<F>, stat: &mut Both<F>) {
        let node = Powers { scale, sum };
        *stat = match self.log {
            false => {
                let Row { scale, inverse } = Row::of(node);
                Both { scale, inverse, log: F::ZERO, rest: F::ZERO }
            }
            true => {
                let LogSoftmax { log, rest } = LogSoftmax::of(node);
                Both { scale, inverse: F::ZERO, log, rest }
            }
        };
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Both<F>], out: &mut [F]) {
        let n = block.part.n;
        if self.log {
            let rows = block.x[0].chunks_exact(n).zip(stats).zip(out.chunks_exact_mut(n));
            vectorize(
                #[inline(always)]
                || {
                    for ((x, stat), out) in rows {
                        let row = LogSoftmax { log: stat.log, rest: stat.rest };
                        for (x, out) in x.iter().zip(out) {
                            *out = row.log_probability(*x);
                        }
                    }
                },
            );
        } else {
            let dtype = if self.scales() { F::DTYPE } else { self.dtype };
            let row = |row: usize| Row { scale: stats[row].scale, inverse: stats[row].inverse };
            exponents::softmax(dtype, block, row, out);
        }
        let left_out = if self.log { F::ZERO.sub(F::ONE).div(F::ZERO) } else { F::ZERO };
        for (out, mask) in out.iter_mut().zip(block.mask.unwrap_or(&[])) {
            *out = if *mask == 0 { left_out } else { *out };
        }
    }
}

struct Backward<F> {
    log: bool,
    scale: F,
    /// That of the results which gradients are pulled through.
    dtype: DType,
}

impl<F: RowFloat> RowOp<F> for Backward<F> {
    type Stat = F;

    fn reduce(&self, _round: usize, block: &mut Block<'_, F>, _stats: &[F], nodes: &mut [Node<F>]) {
        let Block { part, x: [y, gradient, _], terms, .. } = block;
        if self.log {
            return sums(gradient, part.n, nodes, 0);
        }
        vectorize(
            #[inline(always)]
            || {
                for ((y, gradient), term) in y.iter().zip(*gradient).zip(terms.iter_mut()) {
                    *term = y.mul(*gradient);
                }
            },
        );
        sums(terms, part.n, nodes, 0);
    }

    fn finish(&self, _round: usize, _row: usize, [sum, _]: Node<F>, stat: &mut F) {
        *stat = sum;
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[F], out: &mut [F]) {
        let Block { part, x: [y, gradient, _], terms, .. } = block;
        let (n, scale) = (part.n, self.scale);
        // Ordinary exponentials have the same bits for less.
        let ordinary = self.log && exponentials_of(self.dtype, y, terms);
        let of_rows = |x| <[F]>::chunks_exact(x, n);
        let rows = of_rows(if ordinary { terms } else { y }).zip(of_rows(gradient)).zip(stats);
        let rows = rows.zip(out.chunks_exact_mut(n));
        vectorize(
            #[inline(always)]
            || {
                for (((x, gradient), &sum), out) in rows {
                    let each = x.iter().zip(gradient).zip(out);
                    match (self.log, ordinary) {
                        (false, _) => {
                            for ((y, gradient), out) in each {
                                *out = softmax_gradient(*y, *gradient, sum).mul(scale);
                            }
                        }
                        (true, true) => {
                            for ((probability, gradient), out) in each {
                                *out = log_softmax_gradient(*probability, *gradient, sum).mul(scale);
                            }
                        }
                        (true, false) => {
                            for ((y, gradient), out) in each {
                                *out = log_softmax_gradient(y.full_exp(), *gradient, sum).mul(scale);
                            }
                        }
                    }
                }
            },
        );
    }
}
