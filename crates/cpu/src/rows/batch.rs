//! Batch norm: each channel is normalised over all other axes.

use warpfold_array::{Array, ArrayRef, Error};
use warpfold_core::rows::{Norm as Row, NormGradient};
use warpfold_core::{Element, Real};

use crate::simd::vectorize;

use super::call::{Call, Want, floats, rounded, with_float};
use super::engine::{Block, Node, RowOp};
use super::layer::{Statistics, multiplied, of_constant, products, scaled};
use super::lines::RowFloat;
use super::nodes::sums;
use super::norm::NormGradients;

/// The options of [`batch_norm`].
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, mean, variance) = ([3.0f32, 5.0], [1.0f32], [4.0f32]);
/// let x = ArrayRef::from_slice(&x, &[2, 1])?;
/// let statistics = Some((ArrayRef::flat(&mean), ArrayRef::flat(&variance)));
/// let options = rows::BatchNorm { statistics, epsilon: 0.0, ..rows::BatchNorm::default() };
/// assert_eq!(rows::batch_norm(x, 1, &options)?.y.into_vec::<f32>().unwrap(), [1.0, 2.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct BatchNorm<'a> {
    /// A factor of each channel, of any float dtype. `None`: 1.
    pub weight: Option<ArrayRef<'a>>,
    /// An addend of each channel after that, of any float dtype. `None`: 0.
    pub bias: Option<ArrayRef<'a>>,
    /// The mean and the variance of each channel, of any float dtype. `None`: those of the elements.
    pub statistics: Option<(ArrayRef<'a>, ArrayRef<'a>)>,
    /// Added to the variance before its root is taken. Default 1e-5.
    pub epsilon: f64,
    /// How many threads; `None`: as many as rayon's current pool has.
    pub threads: Option<usize>,
}

impl Default for BatchNorm<'_> {
    fn default() -> Self {
        Self { weight: None, bias: None, statistics: None, epsilon: 1e-5, threads: None }
    }
}

/// A batch norm, and the statistics by which it was normalised: f64 if the elements are, and else f32.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchNormed {
    /// The norm: an array of the shape and dtype of the elements.
    pub y: Array,
    /// The mean of each channel; NaN of no elements.
    pub mean: Array,
    /// The variance of each channel, over the number of its elements.
    pub variance: Array,
}

/// Each channel, along one axis, less its mean, over its deviation: (x - mean) / √(variance + ε) · weight + bias, an
/// array of the shape and dtype of `x`, in C order. Mean and variance are those of the tree that is the variance of
/// [`crate::reduce`] over all axes but that of the channels, or are given.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let x = [1.0f64, 10.0, 3.0, 30.0];
/// let x = ArrayRef::from_slice(&x, &[2, 2])?;
/// let of = rows::batch_norm(x, 1, &rows::BatchNorm { epsilon: 0.0, ..rows::BatchNorm::default() })?;
/// assert_eq!(of.y.into_vec::<f64>().unwrap(), [-1.0, -1.0, 1.0, 1.0]);
/// assert_eq!(of.mean.into_vec::<f64>().unwrap(), [2.0, 20.0]);
/// assert_eq!(of.variance.into_vec::<f64>().unwrap(), [1.0, 100.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`warpfold_array::RowError`]: no floats, or weights or statistics of another shape; a bad axis; [`Error::Memory`].
pub fn batch_norm(x: ArrayRef<'_>, axis: isize, options: &BatchNorm<'_>) -> Result<BatchNormed, Error> {
    let call = called("batch_norm", x, axis, options)?;
    with_float!(x.dtype(), F => {
        let op = Forward { channels: Channels::<F>::new(&call, options)?, bias: of_channels(&call, options.bias)? };
        let results = call.run(&op, &[call.input(x)], None, Want { stats: true, array: true })?;
        let numbers = |of: fn(&Stat<F>) -> F| {
            let nothing = (call.len == 0).then(|| F::from_f64(f64::NAN));
            let numbers: Vec<F> = results.stats.iter().map(|stat| nothing.unwrap_or_else(|| of(stat))).collect();
            rounded(&numbers, F::DTYPE, call.lengths(false))
        };
        let (mean, variance) = match options.statistics {
            Some((mean, variance)) => {
                let given = |array| rounded::<F>(&floats(&array)?, F::DTYPE, call.lengths(false));
                (given(mean)?, given(variance)?)
            }
            None => (numbers(|stat| stat.row.mean)?, numbers(|stat| stat.variance)?),
        };
        Ok(BatchNormed { y: results.array.expect("the array was asked for"), mean, variance })
    })
}

/// The gradients of [`batch_norm`] of the elements `x`, from that of its result. Statistics that are given are numbers
/// that do not depend on the elements.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, gradient, bias) = ([1.0f64, 3.0], [1.0f64, 2.0], [0.0f64]);
/// let [x, gradient] = [&x, &gradient].map(|array| ArrayRef::from_slice(array, &[2, 1]).unwrap());
/// let options = rows::BatchNorm { bias: Some(ArrayRef::flat(&bias)), ..rows::BatchNorm::default() };
/// let of = rows::batch_norm_backward(x, gradient, 1, &options)?;
/// assert_eq!(of.bias.unwrap().into_vec::<f64>().unwrap(), [3.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`batch_norm`]; a gradient of another shape.
pub fn batch_norm_backward(
    x: ArrayRef<'_>,
    gradient: ArrayRef<'_>,
    axis: isize,
    options: &BatchNorm<'_>,
) -> Result<NormGradients, Error> {
    let call = called("batch_norm_backward", x, axis, options)?;
    call.alike("the gradients", &gradient)?;
    with_float!(x.dtype(), F => {
        let op = Backward { channels: Channels::<F>::new(&call, options)? };
        let inputs = [call.input(x), call.input(gradient)];
        let results = call.run(&op, &inputs, None, Want { stats: true, array: true })?;
        let of = |array: Option<ArrayRef<'_>>, which: usize| {
            let sums: Vec<F> = results.stats.iter().map(|stat| stat.sums[which]).collect();
            array.map(|array| rounded(&sums, array.dtype(), call.lengths(false))).transpose()
        };
        let (weight, bias) = (of(options.weight, 0)?, of(options.bias, 1)?);
        Ok(NormGradients { x: results.array.expect("the array was asked for"), weight, bias })
    })
}

/// Checks a call.
fn called<'a>(op: &'static str, x: ArrayRef<'a>, axis: isize, options: &BatchNorm<'_>) -> Result<Call<'a>, Error> {
    let rank = x.shape().len() as isize;
    // A bad axis is an error of the call.
    let channels = if axis < 0 { axis + rank } else { axis };
    Call::new(op, x, &[axis], options.threads)?;
    let others: Vec<isize> = (0..rank).filter(|&other| other != channels).collect();
    let call = Call::new(op, x, &others, options.threads)?;
    let (mean, variance) = options.statistics.unzip();
    for (what, array) in [
        ("the weights", options.weight),
        ("the biases", options.bias),
        ("the means", mean),
        ("the variances", variance),
    ] {
        if let Some(array) = array {
            call.floats(what, array.dtype())?;
            call.shape(what, &array, &call.lengths(false))?;
        }
    }
    Ok(call)
}

/// A number of each channel, if there are any.
fn of_channels<F: RowFloat>(call: &Call<'_>, array: Option<ArrayRef<'_>>) -> Result<Vec<F>, Error> {
    Ok(array.map(|array| floats(&array)).transpose()?.unwrap_or_else(|| vec![F::NOTHING; call.rows]))
}

/// How channels are normalised.
struct Channels<F> {
    statistics: Statistics<F>,
    /// The statistics of each channel, if they are given.
    given: Option<Vec<Row<F>>>,
    /// 1 without weights, which changes no bit.
    weight: Vec<F>,
}

impl<F: RowFloat> Channels<F> {
    fn new(call: &Call<'_>, options: &BatchNorm<'_>) -> Result<Self, Error> {
        let epsilon = F::from_f64(options.epsilon);
        let given = match options.statistics {
            Some((mean, variance)) => {
                let pairs = floats::<F>(&mean)?.into_iter().zip(floats::<F>(&variance)?);
                Some(pairs.map(|(mean, variance)| Row::given(mean, variance, epsilon)).collect())
            }
            None => None,
        };
        let weight = options.weight.map(|weight| floats(&weight)).transpose()?;
        Ok(Self {
            statistics: Statistics { layer: true, len: call.len as u64, epsilon },
            given,
            weight: weight.unwrap_or_else(|| vec![F::ONE; call.rows]),
        })
    }

    /// What a channel is normalised by.
    fn row(&self, channel: usize, of_elements: Row<F>) -> Row<F> {
        self.given.as_ref().map_or(of_elements, |given| given[channel])
    }
}

/// What a channel is reduced to.
#[derive(Clone, Copy, Default)]
struct Stat<F> {
    row: Row<F>,
    variance: F,
    /// Of the products of gradients and normalised elements, and of the gradients.
    sums: [F; 2],
}

impl<F: RowFloat> Stat<F> {
    fn of(node: Node<F>, statistics: &Statistics<F>) -> Self {
        let variance = node[1].div(F::from_count(statistics.len));
        Self { row: statistics.row(node), variance, sums: [F::ZERO; 2] }
    }
}

struct Forward<F> {
    channels: Channels<F>,
    /// -0.0 without biases, which changes no bit.
    bias: Vec<F>,
}

impl<F: RowFloat> RowOp<F> for Forward<F> {
    type Stat = Stat<F>;

    fn rounds(&self) -> usize {
        self.channels.given.is_none() as usize
    }

    fn reduce(&self, _round: usize, block: &mut Block<'_, F>, _stats: &[Stat<F>], nodes: &mut [Node<F>]) {
        self.channels.statistics.nodes(block.x[0], block.part.n, nodes);
    }

    fn join(&self, _round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        self.channels.statistics.joined(left, right)
    }

    fn finish(&self, _round: usize, _row: usize, node: Node<F>, stat: &mut Stat<F>) {
        *stat = Stat::of(node, &self.channels.statistics);
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Stat<F>], out: &mut [F]) {
        let n = block.part.n;
        let (first, of_rows) = (block.part.rows.start, out.chunks_exact_mut(n).zip(block.x[0].chunks_exact(n)));
        vectorize(
            #[inline(always)]
            || {
                for (i, (out, x)) in of_rows.enumerate() {
                    let channel = first + i;
                    let numbers = (self.channels.weight[channel], self.bias[channel]);
                    scaled(self.channels.row(channel, stats[i].row), x, numbers, out);
                }
            },
        );
    }
}

struct Backward<F> {
    channels: Channels<F>,
}

impl<F: RowFloat> Backward<F> {
    /// Whether a round is the last, of the sums. The other one is of the statistics.
    fn is_last(&self, round: usize) -> bool {
        round + 1 == self.rounds()
    }
}

impl<F: RowFloat> RowOp<F> for Backward<F> {
    type Stat = Stat<F>;

    fn rounds(&self) -> usize {
        1 + self.channels.given.is_none() as usize
    }

    fn reduce(&self, round: usize, block: &mut Block<'_, F>, stats: &[Stat<F>], nodes: &mut [Node<F>]) {
        let Block { part, x: [x, gradient, _], terms, .. } = block;
        let n = part.n;
        if !self.is_last(round) {
            return self.channels.statistics.nodes(x, n, nodes);
        }
        let rows = x.chunks_exact(n).zip(gradient.chunks_exact(n)).zip(terms.chunks_exact_mut(n)).zip(stats);
        let rows = part.rows.clone().zip(rows);
        vectorize(
            #[inline(always)]
            || {
                for (channel, ((both, terms), stat)) in rows {
                    products(self.channels.row(channel, stat.row), both, terms);
                }
            },
        );
        sums(terms, n, nodes, 0);
        sums(gradient, n, nodes, 1);
    }

    fn join(&self, round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        match self.is_last(round) {
            false => self.channels.statistics.joined(left, right),
            true => [left.0[0].add(right.0[0]), left.0[1].add(right.0[1])],
        }
    }

    fn finish(&self, round: usize, _row: usize, node: Node<F>, stat: &mut Stat<F>) {
        match self.is_last(round) {
            false => *stat = Stat::of(node, &self.channels.statistics),
            true => stat.sums = node,
        }
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Stat<F>], out: &mut [F]) {
        let n = block.part.n;
        let rows = block.x[0].chunks_exact(n).zip(block.x[1].chunks_exact(n)).zip(stats).zip(out.chunks_exact_mut(n));
        let rows = block.part.rows.clone().zip(rows);
        vectorize(
            #[inline(always)]
            || {
                for (channel, (((x, gradient), stat), out)) in rows {
                    let row = self.channels.row(channel, stat.row);
                    let factor = row.inverse.mul(self.channels.weight[channel]);
                    match self.channels.given {
                        Some(_) => multiplied(gradient, factor, out),
                        None => {
                            let of_row = NormGradient::of(stat.sums[1], stat.sums[0], self.channels.statistics.len);
                            of_constant((row, of_row), (x, gradient), (F::ONE, factor), out);
                        }
                    }
                }
            },
        );
    }
}
