//! Group norm: the channels of a sample are normalised in groups.
//!
//! A group is a row. A channel of a sample is a stretch of it, which has a weight and a bias. The gradients need sums
//! of each channel of each sample, and then of each group: several passes, over a few samples at a time that stay in
//! the cache.

use std::ops::Range;

use warpfold_array::{Array, ArrayRef, Error, Op, Options, RowError};
use warpfold_core::DType;
use warpfold_core::rows::NormGradient;

use crate::output::Output;
use crate::parallel::{for_each, results};
use crate::reduction::{on_threads, reduce};

use super::call::{Call, created, floats, rounded, with_float};
use super::engine::{Input, Node, RowOp, Work};
use super::layer::{Forward, Statistics};
use super::lines::{Lines, RowFloat};
use super::norm::{Norm, NormGradients, weights};
use super::stretches::{Backward, OfChannels, SHORT, Stretches, Sums};

/// The group norm of an array whose axis 0 has samples and axis 1 channels: of each sample, each group of neighbouring
/// channels less its mean, over its deviation: (x - mean) / √(variance + ε) · weight + bias, an array of the shape and
/// dtype of `x`, in C order. Weights and biases are of channels.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let x = [1.0f32, 3.0, 10.0, 30.0];
/// let x = ArrayRef::from_slice(&x, &[1, 4])?;
/// let y = rows::group_norm(x, 2, &rows::Norm { epsilon: 0.0, ..rows::Norm::default() })?;
/// assert_eq!(y.into_vec::<f32>().unwrap(), [-1.0, 1.0, -1.0, 1.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`RowError`]: no floats, groups that do not divide the channels, weights of another shape; an array without an axis
/// 1; [`Error::Memory`].
pub fn group_norm(x: ArrayRef<'_>, groups: usize, options: &Norm<'_>) -> Result<Array, Error> {
    let problem = Problem::new("group_norm", x, groups, options)?;
    with_float!(x.dtype(), F => problem.forward::<F>(options))
}

/// The gradients of [`group_norm`] of the elements `x`, from that of its result. That of a weight is a tree over the
/// samples, of trees over the channel in each.
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, gradient, bias) = ([1.0f32, 3.0], [1.0f32, 2.0], [0.0f32; 2]);
/// let [x, gradient] = [&x, &gradient].map(|array| ArrayRef::from_slice(array, &[1, 2]).unwrap());
/// let options = rows::Norm { bias: Some(ArrayRef::flat(&bias)), ..rows::Norm::default() };
/// let of = rows::group_norm_backward(x, gradient, 1, &options)?;
/// assert_eq!(of.bias.unwrap().into_vec::<f32>().unwrap(), [1.0, 2.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`group_norm`]; a gradient of another shape.
pub fn group_norm_backward(
    x: ArrayRef<'_>,
    gradient: ArrayRef<'_>,
    groups: usize,
    options: &Norm<'_>,
) -> Result<NormGradients, Error> {
    let problem = Problem::new("group_norm_backward", x, groups, options)?;
    problem.call.alike("the gradients", &gradient)?;
    with_float!(x.dtype(), F => problem.backward::<F>(gradient, options))
}

/// Elements of samples whose passes follow each other: with two inputs and a result a megabyte of f32.
const SLAB: usize = 1 << 16;

/// A call, whose arrays have been checked.
struct Problem<'a> {
    call: Call<'a>,
    x: ArrayRef<'a>,
    samples: usize,
    /// Of a sample.
    groups: usize,
    /// Of a group.
    channels: usize,
    /// Elements of a channel of a sample.
    run: usize,
}

/// Some groups of some samples.
struct Slab {
    samples: Range<usize>,
    groups: Range<usize>,
}

impl Slab {
    fn rows(&self) -> usize {
        self.samples.len() * self.groups.len()
    }
}

/// What is computed of the rows of a slab.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// Groups.
    Groups,
    /// Channels.
    Channels,
}

impl<'a> Problem<'a> {
    fn new(op: &'static str, x: ArrayRef<'a>, groups: usize, options: &Norm<'_>) -> Result<Self, Error> {
        let call = Call::new(op, x, &[0, 1], options.threads)?;
        let (samples, channels) = (x.shape()[0], x.shape()[1]);
        if groups == 0 || !channels.is_multiple_of(groups) {
            return Err(RowError::Groups { op, channels, groups }.into());
        }
        for (what, array) in [("the weights", &options.weight), ("the biases", &options.bias)] {
            if let Some(array) = array {
                call.floats(what, array.dtype())?;
                call.shape(what, array, &[channels])?;
            }
        }
        let run = x.shape()[2..].iter().product();
        Ok(Self { call, x, samples, groups, channels: channels / groups, run })
    }

    /// Elements of a group.
    fn len(&self) -> usize {
        self.channels * self.run
    }

    fn statistics<F: RowFloat>(&self, options: &Norm<'_>) -> Statistics<F> {
        Statistics { layer: true, len: self.len() as u64, epsilon: F::from_f64(options.epsilon) }
    }

    fn all(&self) -> Slab {
        Slab { samples: 0..self.samples, groups: 0..self.groups }
    }

    /// Slabs that stay in the cache: none of no elements.
    fn slabs(&self) -> Vec<Slab> {
        let (samples, groups) = match self.groups * self.len() {
            _ if self.x.is_empty() => return Vec::new(),
            sample if sample <= SLAB => (SLAB / sample, self.groups),
            _ => (1, (SLAB / self.len()).max(1)),
        };
        let of = |from: usize, step: usize, n: usize| from..n.min(from + step);
        let starts = (0..self.samples).step_by(samples);
        starts
            .flat_map(|sample| (0..self.groups).step_by(groups).map(move |group| (sample, group)))
            .map(|(sample, group)| Slab {
                samples: of(sample, samples, self.samples),
                groups: of(group, groups, self.groups),
            })
            .collect()
    }

    /// The rows of a slab of an array with these steps in bytes.
    fn lines(&self, base: *mut u8, like: (DType, bool), strides: &[isize], slab: &Slab, rows: Rows) -> Lines {
        let (of_channel, rest) = (strides[1], &strides[2..]);
        let steps = [&[strides[0], of_channel * self.channels as isize, of_channel][..], rest].concat();
        let shape = [&[slab.samples.len(), slab.groups.len(), self.channels][..], &self.x.shape()[2..]].concat();
        let at = steps[0] * slab.samples.start as isize + steps[1] * slab.groups.start as isize;
        let axes: Vec<usize> = (if rows == Rows::Groups { 2 } else { 3 }..shape.len()).collect();
        Lines::at(base.wrapping_offset(at), like.0, like.1, &shape, &steps, &axes)
    }

    fn input<F: RowFloat>(&self, array: &ArrayRef<'_>, slab: &Slab, rows: Rows) -> Input<F> {
        let (dtype, swapped) = (array.dtype(), array.is_swapped());
        let lines = self.lines(array.base().cast_mut(), (dtype, swapped), array.strides(), slab, rows);
        Input { lines, gather: F::gather(dtype, swapped, F::DTYPE) }
    }

    /// The groups of a slab of a new array in C order.
    fn output(&self, base: *mut u8, slab: &Slab) -> Lines {
        let dtype = self.x.dtype();
        let mut strides = vec![dtype.size() as isize; self.x.shape().len()];
        for axis in (0..strides.len() - 1).rev() {
            strides[axis] = strides[axis + 1] * self.x.shape()[axis + 1] as isize;
        }
        self.lines(base, (dtype, false), &strides, slab, Rows::Groups)
    }

    /// Runs an operation on rows of a slab, and returns what they are reduced to, if that is asked for.
    ///
    /// # Safety
    /// The inputs are rows of that kind of the slab, which has some; the output is writable, and nobody else uses it.
    unsafe fn pass<F: RowFloat, O: RowOp<F>>(
        &self,
        op: &O,
        inputs: &[Input<F>],
        (slab, of, threads): (&Slab, Rows, usize),
        output: Option<&Lines>,
    ) -> Vec<O::Stat> {
        let (rows, len) = match of {
            Rows::Groups => (slab.rows(), self.len()),
            Rows::Channels => (slab.rows() * self.channels, self.run),
        };
        let asked = if output.is_none() { rows } else { 0 };
        let mut stats = Vec::with_capacity(asked);
        let places = Output::new(&mut stats.spare_capacity_mut()[..asked]);
        let stats_of = output.is_none().then_some(&places);
        let (mask, prepared, overwrites) = (None, None, false);
        // SAFETY: the caller's; there is a place for each row.
        unsafe {
            Work { op, inputs, mask, output, overwrites, prepared, stats: stats_of, rows, len, threads }.run();
            stats.set_len(asked);
        }
        stats
    }

    /// Numbers of channels: those of each element where stretches are short. `nothing` changes no bit.
    fn numbers<F: RowFloat>(&self, given: Option<Vec<F>>, nothing: F) -> Vec<F> {
        let numbers = given.unwrap_or_else(|| vec![nothing; self.groups * self.channels]);
        match self.run < SHORT {
            true => numbers.into_iter().flat_map(|number| std::iter::repeat_n(number, self.run)).collect(),
            false => numbers,
        }
    }

    fn stretches(&self, groups: &Range<usize>) -> Stretches {
        Stretches { run: self.run, len: self.len(), first: groups.start, groups: groups.len() }
    }

    fn forward<F: RowFloat>(&self, options: &Norm<'_>) -> Result<Array, Error> {
        let bias = options.bias.map(|bias| floats(&bias)).transpose()?;
        let affine = OfChannels {
            weight: self.numbers(weights(options)?, F::ONE),
            bias: self.numbers(bias, F::NOTHING),
            stretches: self.stretches(&(0..self.groups)),
        };
        let op = Forward::<F, _> { statistics: self.statistics(options), sums: None, affine };
        let all = self.all();
        let inputs = [self.input(&self.x, &all, Rows::Groups)];
        let write = |base: *mut u8| {
            let output = self.output(base, &all);
            on_threads(options.threads, |threads| {
                if !self.x.is_empty() {
                    // SAFETY: the input is the elements', which are readable, and the output new memory.
                    unsafe { self.pass(&op, &inputs, (&all, Rows::Groups, threads), Some(&output)) };
                }
            })
        };
        // SAFETY: the pass writes all elements.
        Ok(unsafe { created(self.x.dtype(), self.x.shape().to_vec(), write) }?.0)
    }

    fn backward<F: RowFloat>(&self, gradient: ArrayRef<'_>, options: &Norm<'_>) -> Result<NormGradients, Error> {
        let weight = weights::<F>(options)?;
        let given = weight.as_deref();
        let numbers = self.numbers(weight.clone(), F::ONE);
        let slabs = self.slabs();
        let write = |base: *mut u8| {
            let base = Output::<u8>::at_address(base, 1, 1);
            let found = on_threads(options.threads, |threads| {
                let apart = slabs.len() >= 2 * threads;
                let of_slab = |i: usize| {
                    let output = self.output(base.at(0, 1), &slabs[i]);
                    let threads = if apart { 1 } else { threads };
                    // SAFETY: the output is new memory, and slabs are disjoint and have elements.
                    unsafe { self.of_slab(&gradient, (given, &numbers), options, (&slabs[i], threads), &output) }
                };
                let n = slabs.len();
                results(n, |task| if apart && threads > 1 { for_each(n, task) } else { (0..n).for_each(task) }, of_slab)
            })?;
            found.into_iter().collect::<Result<Vec<_>, _>>()
        };
        // SAFETY: the slabs have all elements.
        let (x, found) = unsafe { created(self.x.dtype(), self.x.shape().to_vec(), write) }?;
        let all = self.groups * self.channels;
        let mut of_samples = [vec![F::ZERO; self.samples * all], vec![F::ZERO; self.samples * all]];
        for (slab, found) in slabs.iter().zip(found) {
            let width = slab.groups.len() * self.channels;
            for (sample, found) in slab.samples.clone().zip(found.chunks_exact(width)) {
                let at = sample * all + slab.groups.start * self.channels;
                for (which, numbers) in of_samples.iter_mut().enumerate() {
                    numbers[at..at + width].iter_mut().zip(found).for_each(|(to, sums)| *to = sums[which]);
                }
            }
        }
        let down = |array: Option<ArrayRef<'_>>, which: usize| {
            let sum = |array: ArrayRef<'_>| {
                let sums = total::<F>(&of_samples[which], [self.samples, all], 0, options.threads)?;
                rounded(&sums, array.dtype(), vec![all])
            };
            array.map(sum).transpose()
        };
        let of_weight = options.weight.filter(|_| !options.frozen);
        Ok(NormGradients { x, weight: down(of_weight, 0)?, bias: down(options.bias, 1)? })
    }

    /// Writes the gradients of a slab's elements, and returns the sums of each channel of each sample: of the products
    /// of gradients and normalised elements, and of the gradients.
    ///
    /// # Safety
    /// The output is the slab's, which has elements; it is writable, and nobody else uses it.
    unsafe fn of_slab<F: RowFloat>(
        &self,
        gradient: &ArrayRef<'_>,
        (weight, numbers): (Option<&[F]>, &[F]),
        options: &Norm<'_>,
        (slab, threads): (&Slab, usize),
        output: &Lines,
    ) -> Result<Vec<Node<F>>, Error> {
        let inputs = |rows| -> [Input<F>; 2] { [&self.x, gradient].map(|array| self.input(array, slab, rows)) };
        let of = |rows| (slab, rows, threads);
        let [x, _] = inputs(Rows::Groups);
        let of_groups = Forward::<F, ()> { statistics: self.statistics(options), sums: None, affine: () };
        // SAFETY: the inputs are readable, and of the shape of the call's array.
        let norms = unsafe { self.pass(&of_groups, &[x], of(Rows::Groups), None) };
        let sums_of = Sums { norms: &norms, channels: self.channels };
        // SAFETY: as above.
        let sums = unsafe { self.pass(&sums_of, &inputs(Rows::Channels), of(Rows::Channels), None) };
        let first = slab.groups.start * self.channels;
        let width = slab.groups.len() * self.channels;
        let of_group = |which: usize| {
            let weighted = |(i, sums): (usize, &Node<F>)| match weight {
                Some(weight) => sums[which].mul(weight[first + i % width]),
                None => sums[which],
            };
            let terms: Vec<F> = sums.iter().enumerate().map(weighted).collect();
            total(&terms, [slab.rows(), self.channels], 1, Some(1))
        };
        let (dots, totals) = (of_group(0)?, of_group(1)?);
        let gradient = |(dot, total): (&F, &F)| NormGradient::of(*total, *dot, self.len() as u64);
        let rows = norms.iter().copied().zip(dots.iter().zip(&totals).map(gradient)).collect();
        let op = Backward { rows, weight: numbers, stretches: self.stretches(&slab.groups) };
        // SAFETY: as above; the output is the caller's.
        unsafe { self.pass(&op, &inputs(Rows::Groups), of(Rows::Groups), Some(output)) };
        Ok(sums)
    }
}

/// The sums along one axis of a matrix.
fn total<F: RowFloat>(x: &[F], shape: [usize; 2], axis: isize, threads: Option<usize>) -> Result<Vec<F>, Error> {
    let options = Options { axes: Some(vec![axis]), threads, ..Options::default() };
    let sums = reduce(Op::Sum, ArrayRef::from_slice(x, &shape)?, &options)?;
    Ok(F::unwrap(sums.values).expect("a sum of floats has their dtype"))
}
