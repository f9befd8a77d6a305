//! What all operations on rows share. Arrays are the host's, and all of their elements are present. Results are of the
//! kind of the first argument.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use warpfold::rows::LossReduction;
use warpfold::{Array, ArrayRef, Error};

use crate::input::Input;
use crate::{options, pool};

/// An argument that may be left out.
pub type Object<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The docstring of an operation: its first line, its parameters, what it returns, examples.
macro_rules! text {
    ($first:literal, [$($section:ident)*], $returns:literal, $example:literal) => {
        concat!(
            $first, "\n\nParameters\n----------\n",
            $(crate::rows::call::text!(@ $section),)*
            "\nReturns\n-------\n", $returns,
            "\n\nRaises\n------\nTypeError\n    For what is no array of floats, an array with nulls, arrays of which \
             only some are on a GPU, and all on a GPU\n    if the operation has no kernels there: softmax, \
             log_softmax, rms_norm, layer_norm, \
             group_norm,\n    batch_norm, losses of two arrays, dot and their gradients have, and \
             cosine_similarity.\nValueError\n    For arrays of a wrong \
             shape and numbers out of their range.\nnumpy.exceptions.AxisError\n    For an axis that is not there.\n\
             MemoryError\n    For a result that memory does not hold.\n\n\
             Examples\n--------\n>>> import warpfold as wf, numpy as np\n",
            $example
        )
    };
    (@ x) => { "x : array\n    Of floats, of any library, where it is.\n" };
    (@ y) => { "y : array\n    The result of the operation.\n" };
    (@ gradient) => { "gradient : array\n    That of the result, of its shape.\n" };
    (@ axis) => {
        "axis : int, tuple of int or None\n    The axes that a row lies along; None: all. By default the last.\n"
    };
    (@ mask) => {
        "where : array of bool, optional\n    Elements where it is false take no part; broadcast to the shape of `x`.\n"
    };
    (@ scale) => { "scale : float\n    Elements are multiplied by it first.\n" };
    (@ weight) => {
        "weight, bias : array, optional\n    Factors of the normalised elements, and what is added after that: of the \
         shape of a row.\n"
    };
    (@ epsilon) => {
        "epsilon : float\n    Added to the mean square, or to the variance, before its root is taken.\n"
    };
    (@ offset) => {
        "weight_offset : float\n    Added to each weight: 1 for weights that are stored as their distance from 1.\n"
    };
    (@ residual) => {
        "residual : array, optional\n    Of the shape of `x`: added to it first. Two arrays are the result, then.\n"
    };
    (@ samples) => { "x : array\n    Of floats: axis 0 has samples, axis 1 channels.\n" };
    (@ groups) => { "num_groups : int\n    Into how many groups of neighbours the channels go.\n" };
    (@ of_channels) => {
        "weight, bias : array, optional\n    A factor of each channel's normalised elements, and what is added after \
         that.\n"
    };
    (@ channels) => { "axis : int\n    That of the channels.\n" };
    (@ places) => { "x : array\n    Of floats.\n" };
    (@ added) => { "axis : int\n    That of the indices.\n" };
    (@ index) => {
        "index : array of int\n    Where indices of `source` go, along one axis.\nsource : array\n    Of floats: of \
         the shape of `x` but for `axis`, where it is as long as `index`.\n"
    };
    (@ alpha) => { "alpha : float\n    A factor of the sums.\n" };
    (@ indices) => {
        "index, source : array\n    Integers and floats of one shape, along other axes at most that of `x`: where each \
         element goes.\n"
    };
    (@ taken) => {
        "gradient : array\n    Of floats: that of the rows that were taken, of the shape of `indices` and an axis \
         more.\nindices : array of int\n    The rows that were taken.\nnum_embeddings : int\n    How many rows \
         there are.\npadding_idx : int, optional\n    This row has no gradient.\nscale_grad_by_freq : bool\n    \
         Whether the gradient of a row is divided by how often it was taken.\n"
    };
    (@ logits) => { "logits : array\n    Of floats, with an axis of classes.\n" };
    (@ targets) => {
        "targets : array\n    Of integers, the class of each row: of the shape of the other axes. Or of floats, the \
         probabilities\n    of the classes: of the shape of `logits`.\n"
    };
    (@ classes) => { "axis : int\n    That of the classes.\n" };
    (@ class_options) => {
        "ignore_index : int\n    Rows with this class have the loss 0.\nlabel_smoothing : float\n    The share of the \
         loss that is spread evenly over all classes, between 0 and 1.\nweight : array, optional\n    The weight of \
         each class.\nreduction : {\"mean\", \"sum\", \"none\"}\n    What becomes of the losses of all rows. The mean \
         is their sum over that of the weights of their\n    classes, without rows that are ignored; of probabilities \
         over the number of rows.\n"
    };
    (@ class_gradient) => {
        "gradient : array, optional\n    That of the loss, of its shape. By default 1.\n"
    };
    (@ pair) => { "x, y : array\n    Of floats, of one shape.\n" };
    (@ target) => { "x, y : array\n    Elements and their targets: floats, of one shape.\n" };
    (@ some) => { "axis : int, tuple of int or None\n    The axes to reduce; None: all.\n" };
    (@ reduction) => {
        "reduction : {\"mean\", \"sum\", \"none\"}\n    What becomes of the losses of the elements along the axes.\n"
    };
    (@ of_result) => { "gradient : array, optional\n    That of the result, of its shape. By default 1.\n" };
    (@ least) => { "epsilon : float\n    A norm that is smaller counts as this.\n" };
    (@ delta) => { "delta : float\n    The greatest difference whose loss is its square, over 2.\n" };
    (@ log_target) => { "log_target : bool\n    Whether the targets are logarithms, too.\n" };
}
pub(super) use text;

/// The axes of a row. `None`: all.
#[derive(Clone)]
pub struct Axes(pub Option<Vec<isize>>);

impl Axes {
    /// What is taken where no axis is given.
    pub fn last() -> Self {
        Self(Some(vec![-1]))
    }

    /// Those that are given. None: all.
    pub fn some(axis: Object<'_, '_>) -> PyResult<Self> {
        Ok(Self(axis.map(|axis| options::axes(axis)).transpose()?))
    }

    /// Those of an array.
    pub fn of(self, x: &ArrayRef<'_>) -> Vec<isize> {
        self.of_rank(x.shape().len())
    }

    /// Those of an array of so many axes.
    pub fn of_rank(self, rank: usize) -> Vec<isize> {
        self.0.unwrap_or_else(|| (0..rank as isize).collect())
    }
}

impl<'py> FromPyObject<'_, 'py> for Axes {
    type Error = PyErr;

    fn extract(x: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(if x.is_none() { None } else { Some(options::axes(&x)?) }))
    }
}

/// Why an array on a GPU is refused.
const ON_HOST: &str = "this array is on a GPU, where of the operations on rows only softmax, log_softmax, \
    rms_norm, layer_norm, losses of two arrays, dot, their gradients, cosine_similarity, pooling and top_k are \
    computed, of arrays that are all there";

/// An array of the host whose elements are all present.
///
/// # Errors
/// TypeError for another one.
pub fn host<'py>(x: &Bound<'py, PyAny>) -> PyResult<Input<'py>> {
    let input = Input::on_host(x, ON_HOST)?;
    match input.mask() {
        None => Ok(input),
        Some(_) => Err(PyTypeError::new_err("operations on rows take no nulls: fill them, or leave them out, first")),
    }
}

/// An array that may be left out.
pub fn optional<'py>(x: Object<'_, 'py>) -> PyResult<Option<Input<'py>>> {
    x.map(host).transpose()
}

/// The memory of an array that may be left out.
pub fn layout<'a>(x: &'a Option<Input<'_>>) -> PyResult<Option<ArrayRef<'a>>> {
    x.as_ref().map(Input::layout).transpose()
}

/// What becomes of losses, by name.
pub fn reduction(name: &str) -> PyResult<LossReduction> {
    match name {
        "none" => Ok(LossReduction::None),
        "mean" => Ok(LossReduction::Mean),
        "sum" => Ok(LossReduction::Sum),
        _ => Err(PyValueError::new_err(format!("reduction must be \"mean\", \"sum\" or \"none\", not {name:?}"))),
    }
}

/// Computes an array of the kind of `like` from as many elements as the layout has, with a number of threads.
pub fn computed<'py>(
    like: &Input<'py>,
    x: &ArrayRef<'_>,
    work: impl FnOnce(Option<usize>) -> Result<Array, Error> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let result = pool::run(like.py(), x.len(), |how| work(how.threads))?;
    like.result(like.py(), result, None)
}
