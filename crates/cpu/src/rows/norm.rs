//! Root-mean-square norm and layer norm, and their gradients.

use warpfold_array::{Array, ArrayRef, Error};
use warpfold_core::ops::{Deviation, Moments, Square, Sum};
use warpfold_core::rows::{Norm as Row, NormGradient};
use warpfold_core::{DType, Reducer};

use crate::kernel::Tree;
use crate::moments::Spread;
use crate::simd::vectorize;

use super::call::{Call, Want, floats, rounded, with_float};
use super::engine::{Block, Node, RowOp};
use super::lines::RowFloat;
use super::nodes::{nodes, sums};

/// The options of [`rms_norm`] and [`layer_norm`].
///
/// ```
/// use warpfold::{ArrayRef, rows};
///
/// let (x, weight) = ([3.0f64, -3.0], [1.0f64, 2.0]);
/// let options = rows::Norm { weight: Some(ArrayRef::flat(&weight)), epsilon: 0.0, ..rows::Norm::default() };
/// let y = rows::rms_norm(ArrayRef::flat(&x), &[0], &options)?;
/// assert_eq!(y.into_vec::<f64>().unwrap(), [1.0, -2.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Norm<'a> {
    /// Factors of the normalised elements, an array of the shape of a row, of any float dtype. `None`: 1.
    pub weight: Option<ArrayRef<'a>>,
    /// Added to each weight, 1 for weights that are stored as their distance from 1. Default 0.
    pub weight_offset: f64,
    /// Addends after that, an array of the shape of a row, of any float dtype. `None`: 0.
    pub bias: Option<ArrayRef<'a>>,
    /// Added to the mean square, or to the variance, before its root is taken. Default 1e-5.
    pub epsilon: f64,
    /// How many threads; `None`: all of rayon's current pool.
    pub threads: Option<usize>,
}

impl Default for Norm<'_> {
    fn default() -> Self {
        Self { weight: None, weight_offset: 0.0, bias: None, epsilon: 1e-5, threads: None }
    }
}

/// The gradients of a norm.
#[derive(Clone, Debug, PartialEq)]
pub struct NormGradients {
    /// Of the elements: an array of their shape and dtype.
    pub x: Array,
    /// Of the weights, if there are any: a tree over the rows, rounded to their dtype.
    pub weight: Option<Array>,
    /// Of the biases, if there are any.
    pub bias: Option<Array>,
}

/// A norm and its gradients as public functions: a row has the documentation and the name of each, and whether the norm
/// is layer norm.
macro_rules! norms {
    ($($(#[$of_norm:meta])* $norm:ident, $(#[$of_gradients:meta])* $gradients:ident, layer $layer:literal;)*) => {$(
        $(#[$of_norm])*
        pub fn $norm(x: ArrayRef<'_>, axes: &[isize], options: &Norm<'_>) -> Result<Array, Error> {
            forward((stringify!($norm), $layer), x, axes, options)
        }

        $(#[$of_gradients])*
        pub fn $gradients(
            x: ArrayRef<'_>,
            gradient: ArrayRef<'_>,
            axes: &[isize],
            options: &Norm<'_>,
        ) -> Result<NormGradients, Error> {
            backward((stringify!($gradients), $layer), [x, gradient], axes, options)
        }
    )*};
}

norms! {
    /// Each row over the root of its mean square: x / √(Σx²/n + ε) · weight + bias, an array of the shape and dtype of
    /// `x`, in C order. A row lies along some axes, and the weights have the shape of a row.
    ///
    /// ```
    /// use warpfold::{ArrayRef, rows};
    ///
    /// let x = [1.0f64, 7.0, 5.0, -5.0];
    /// let x = ArrayRef::from_slice(&x, &[2, 2])?;
    /// let y = rows::rms_norm(x, &[1], &rows::Norm { epsilon: 0.0, ..rows::Norm::default() })?;
    /// assert_eq!(y.into_vec::<f64>().unwrap(), [0.2, 1.4000000000000001, 1.0, -1.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`warpfold_array::RowError`]: no floats, or weights of another shape; bad axes; [`Error::Memory`].
    rms_norm,
    /// The gradients of [`rms_norm`] of the elements `x`, from that of its result.
    ///
    /// ```
    /// use warpfold::{ArrayRef, rows};
    ///
    /// let (x, weight, gradient) = ([3.0f64, -3.0], [1.0f64, 2.0], [1.0f64, 0.0]);
    /// let options = rows::Norm { weight: Some(ArrayRef::flat(&weight)), epsilon: 0.0, ..rows::Norm::default() };
    /// let of = rows::rms_norm_backward(ArrayRef::flat(&x), ArrayRef::flat(&gradient), &[0], &options)?;
    /// assert_eq!(of.weight.unwrap().into_vec::<f64>().unwrap(), [1.0, 0.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rms_norm`]; a gradient of another shape.
    rms_norm_backward, layer false;
    /// Each row less its mean, over its deviation: (x - mean) / √(variance + ε) · weight + bias, as [`rms_norm`].
    ///
    /// ```
    /// use warpfold::{ArrayRef, rows};
    ///
    /// let x = [1.0f32, 3.0];
    /// let y = rows::layer_norm(ArrayRef::flat(&x), &[0], &rows::Norm { epsilon: 0.0, ..rows::Norm::default() })?;
    /// assert_eq!(y.into_vec::<f32>().unwrap(), [-1.0, 1.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rms_norm`].
    layer_norm,
    /// The gradients of [`layer_norm`], as [`rms_norm_backward`].
    ///
    /// ```
    /// use warpfold::{ArrayRef, rows};
    ///
    /// let (x, gradient) = ([1.0f64, 3.0], [1.0f64, 1.0]);
    /// let options = rows::Norm::default();
    /// let of = rows::layer_norm_backward(ArrayRef::flat(&x), ArrayRef::flat(&gradient), &[0], &options)?;
    /// assert_eq!(of.x.into_vec::<f64>().unwrap(), [0.0, 0.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rms_norm_backward`].
    layer_norm_backward, layer true;
}

/// A function's name, and whether the norm is layer norm.
type Named = (&'static str, bool);

fn forward((name, layer): Named, x: ArrayRef<'_>, axes: &[isize], options: &Norm<'_>) -> Result<Array, Error> {
    let call = Call::new(name, x, axes, options.threads)?;
    check(&call, options)?;
    with_float!(x.dtype(), F => call.map(&Forward::<F>::new(layer, &call, options)?, &[call.input(x)], None))
}

fn backward(
    (name, layer): Named,
    [x, gradient]: [ArrayRef<'_>; 2],
    axes: &[isize],
    options: &Norm<'_>,
) -> Result<NormGradients, Error> {
    let call = Call::new(name, x, axes, options.threads)?;
    check(&call, options)?;
    call.alike("the gradients", &gradient)?;
    with_float!(x.dtype(), F => {
        let (weight, bias) = (options.weight.is_some(), options.bias.is_some());
        let op = Backward { forward: Forward::<F>::new(layer, &call, options)?, weight, bias };
        let inputs = [call.input(x), call.input(gradient)];
        let results = call.run(&op, &inputs, None, Want { stats: false, array: true })?;
        let mut columns = results.columns.into_iter();
        let mut sums = |array: &Option<ArrayRef<'_>>| {
            let mut of = |dtype: DType| {
                let sums = columns.next().expect("weights and biases have sums");
                rounded(&sums, dtype, call.lengths(true))
            };
            array.map(|array| of(array.dtype())).transpose()
        };
        let (weight, bias) = (sums(&options.weight)?, sums(&options.bias)?);
        Ok(NormGradients { x: results.array.expect("the array was asked for"), weight, bias })
    })
}

/// Checks weights and biases.
fn check(call: &Call<'_>, options: &Norm<'_>) -> Result<(), Error> {
    for (what, array) in [("the weights", &options.weight), ("the biases", &options.bias)] {
        if let Some(array) = array {
            call.floats(what, array.dtype())?;
            call.shape(what, array, &call.lengths(true))?;
        }
    }
    Ok(())
}

struct Forward<F> {
    layer: bool,
    len: u64,
    epsilon: F,
    /// With the offset; 1 without weights, which changes no bit.
    weight: Vec<F>,
    /// -0.0 without biases, which changes no bit.
    bias: Vec<F>,
}

impl<F: RowFloat> Forward<F> {
    fn new(layer: bool, call: &Call<'_>, options: &Norm<'_>) -> Result<Self, Error> {
        let offset = F::from_f64(options.weight_offset);
        let mut weight = options.weight.map(|weight| floats::<F>(&weight)).transpose()?;
        if options.weight_offset != 0.0 {
            weight.iter_mut().flatten().for_each(|weight| *weight = weight.add(offset));
        }
        let bias = options.bias.map(|bias| floats::<F>(&bias)).transpose()?;
        Ok(Self {
            layer,
            len: call.len as u64,
            epsilon: F::from_f64(options.epsilon),
            weight: weight.unwrap_or_else(|| vec![F::ONE; call.len]),
            bias: bias.unwrap_or_else(|| vec![F::NOTHING; call.len]),
        })
    }

    fn nodes(&self, x: &[F], n: usize, to: &mut [Node<F>]) {
        if self.layer {
            nodes(&Spread(Deviation::<F>::new(0.0, false)), x, n, |row, node| to[row] = [node.mean, node.m2]);
        } else {
            nodes(&Tree(Sum::<F, Square>::norm2()), x, n, |row, squares| to[row] = [squares, F::ZERO]);
        }
    }

    fn row(&self, node: Node<F>) -> Row<F> {
        if self.layer {
            Row::layer(Moments { mean: node[0], m2: node[1] }, self.len, self.epsilon)
        } else {
            Row::rms(node[0], self.len, self.epsilon)
        }
    }
}

impl<F: RowFloat> RowOp<F> for Forward<F> {
    type Stat = Row<F>;

    fn reduce(&self, _round: usize, block: &mut Block<'_, F>, _stats: &[Row<F>], nodes: &mut [Node<F>]) {
        self.nodes(block.x[0], block.part.n, nodes);
    }

    fn join(&self, _round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        if !self.layer {
            return [left.0[0].add(right.0[0]), F::ZERO];
        }
        let [a, b] = [left.0, right.0].map(|[mean, m2]| Moments { mean, m2 });
        let Moments { mean, m2 } = Deviation::<F>::new(0.0, false).combine_counted(a, left.1, b, right.1);
        [mean, m2]
    }

    fn finish(&self, _round: usize, _row: usize, node: Node<F>, stat: &mut Row<F>) {
        *stat = self.row(node);
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Row<F>], out: &mut [F]) {
        let n = block.part.n;
        let of_row = block.part.from..block.part.from + n;
        let (weight, bias) = (&self.weight[of_row.clone()], &self.bias[of_row]);
        for ((x, row), out) in block.x[0].chunks_exact(n).zip(stats).zip(out.chunks_exact_mut(n)) {
            vectorize(
                #[inline(always)]
                || {
                    for (((x, out), weight), bias) in x.iter().zip(out).zip(weight).zip(bias) {
                        *out = row.normalised(*x).mul(*weight).add(*bias);
                    }
                },
            );
        }
    }
}

struct Backward<F> {
    forward: Forward<F>,
    /// Whether weights have a gradient.
    weight: bool,
    /// Whether biases have one.
    bias: bool,
}

impl<F: RowFloat> RowOp<F> for Backward<F> {
    type Stat = (Row<F>, NormGradient<F>);

    fn rounds(&self) -> usize {
        2
    }

    fn reduce(&self, round: usize, block: &mut Block<'_, F>, stats: &[Self::Stat], nodes: &mut [Node<F>]) {
        let Block { part, x: [x, gradient, _], terms, .. } = block;
        let n = part.n;
        if round == 0 {
            return self.forward.nodes(x, n, nodes);
        }
        let weight = &self.forward.weight[part.from..part.from + n];
        for (gradient, terms) in gradient.chunks_exact(n).zip(terms.chunks_exact_mut(n)) {
            vectorize(
                #[inline(always)]
                || {
                    for ((gradient, weight), term) in gradient.iter().zip(weight).zip(terms) {
                        *term = gradient.mul(*weight);
                    }
                },
            );
        }
        if self.forward.layer {
            sums(terms, n, nodes, 0);
        }
        for ((x, terms), (row, _)) in x.chunks_exact(n).zip(terms.chunks_exact_mut(n)).zip(stats) {
            vectorize(
                #[inline(always)]
                || {
                    for (x, term) in x.iter().zip(terms) {
                        *term = term.mul(row.normalised(*x));
                    }
                },
            );
        }
        sums(terms, n, nodes, 1);
    }

    fn join(&self, round: usize, left: (Node<F>, u64), right: (Node<F>, u64)) -> Node<F> {
        match round {
            0 => self.forward.join(round, left, right),
            _ => [left.0[0].add(right.0[0]), left.0[1].add(right.0[1])],
        }
    }

    fn finish(&self, round: usize, _row: usize, node: Node<F>, (row, gradient): &mut Self::Stat) {
        match round {
            0 => *row = self.forward.row(node),
            _ => *gradient = NormGradient::of(node[0], node[1], self.forward.len),
        }
    }

    fn map(&self, block: &mut Block<'_, F>, stats: &[Self::Stat], out: &mut [F]) {
        let n = block.part.n;
        let weight = &self.forward.weight[block.part.from..block.part.from + n];
        let rows = block.x[0].chunks_exact(n).zip(block.x[1].chunks_exact(n)).zip(stats);
        for (((x, gradient), (row, of_row)), out) in rows.zip(out.chunks_exact_mut(n)) {
            vectorize(
                #[inline(always)]
                || {
                    for (((x, gradient), weight), out) in x.iter().zip(gradient).zip(weight).zip(out) {
                        *out = of_row.gradient(*row, row.normalised(*x), gradient.mul(*weight));
                    }
                },
            );
        }
    }

    fn columns(&self) -> usize {
        self.weight as usize + self.bias as usize
    }

    fn column(&self, which: usize, block: &Block<'_, F>, stats: &[Self::Stat], out: &mut [F]) {
        if which == 1 || !self.weight {
            return out.copy_from_slice(block.x[1]);
        }
        let n = block.part.n;
        let rows = block.x[0].chunks_exact(n).zip(block.x[1].chunks_exact(n)).zip(stats);
        for (((x, gradient), (row, _)), out) in rows.zip(out.chunks_exact_mut(n)) {
            vectorize(
                #[inline(always)]
                || {
                    for ((x, gradient), out) in x.iter().zip(gradient).zip(out) {
                        *out = gradient.mul(row.normalised(*x));
                    }
                },
            );
        }
    }
}
