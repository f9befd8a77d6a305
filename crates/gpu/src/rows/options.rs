//! The options of operations on rows on a GPU.

use crate::array::Array;
use crate::view::ArrayView;

/// The options of [`softmax`](super::softmax) and its kin: as [`warpfold_cpu::rows::Softmax`], with a mask on the
/// device.
#[derive(Clone, Copy, Debug)]
pub struct Softmax<'a> {
    /// Elements are multiplied by this number first. Default 1.
    pub scale: f64,
    /// Elements where this bool array, broadcast to the array's shape, is false take no part.
    pub mask: Option<ArrayView<'a>>,
}

impl Default for Softmax<'_> {
    fn default() -> Self {
        Self { scale: 1.0, mask: None }
    }
}

/// The options of [`rms_norm`](super::rms_norm) and [`layer_norm`](super::layer_norm): as [`warpfold_cpu::rows::Norm`],
/// with arrays on the device.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    /// Factors of the normalised elements, an array of the shape of a row, of any float dtype. `None`: 1.
    pub weight: Option<ArrayView<'a>>,
    /// Added to each weight. Default 0.
    pub weight_offset: f64,
    /// Addends after that, an array of the shape of a row, of any float dtype. `None`: 0.
    pub bias: Option<ArrayView<'a>>,
    /// Added to the mean square, or to the variance, before its root is taken. Default 1e-5.
    pub epsilon: f64,
    /// Of gradients: what the norm has noted of the same elements ([`RowMap::run_noted`](super::RowMap::run_noted); of
    /// groups of channels [`ChannelAddresses::mean`](super::ChannelAddresses::mean) and the variances, an array of
    /// [`ChannelMap::shape_of_noted`](super::ChannelMap::shape_of_noted)), which are read once less then. Default none.
    pub noted: Option<ArrayView<'a>>,
}

impl Default for Norm<'_> {
    fn default() -> Self {
        Self { weight: None, weight_offset: 0.0, bias: None, epsilon: 1e-5, noted: None }
    }
}

/// The options of [`batch_norm`](super::batch_norm): as [`warpfold_cpu::rows::BatchNorm`], with arrays on the device.
#[derive(Clone, Copy, Debug)]
pub struct BatchNorm<'a> {
    /// A factor of each channel, of any float dtype. `None`: 1.
    pub weight: Option<ArrayView<'a>>,
    /// An addend of each channel after that, of any float dtype. `None`: 0.
    pub bias: Option<ArrayView<'a>>,
    /// The mean and the variance of each channel, of any float dtype. `None`: those of the elements.
    pub statistics: Option<(ArrayView<'a>, ArrayView<'a>)>,
    /// Added to the variance before its root is taken. Default 1e-5.
    pub epsilon: f64,
    /// Of gradients: the means and the variances that the norm has found of the same elements ([`BatchNormed`]), which
    /// are read once less then. Other than `statistics` they are the elements' own, and so are the gradients. Default
    /// none.
    pub noted: Option<(ArrayView<'a>, ArrayView<'a>)>,
}

impl Default for BatchNorm<'_> {
    fn default() -> Self {
        Self { weight: None, bias: None, statistics: None, epsilon: 1e-5, noted: None }
    }
}

/// A batch norm and its statistics: as [`warpfold_cpu::rows::BatchNormed`], on the device.
pub struct BatchNormed {
    /// The norm: an array of the shape and dtype of the elements.
    pub y: Array,
    /// The mean of each channel: f64 if the elements are, and else f32.
    pub mean: Array,
    /// The variance of each channel, likewise.
    pub variance: Array,
}

/// The options of [`loss`](super::loss), [`dot`](super::dot) and their kin: as [`warpfold_cpu::rows::Pairs`], with a
/// gradient on the device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairs<'a> {
    /// Axes to reduce, from the end if negative; `None`: all.
    pub axes: Option<&'a [isize]>,
    /// The gradient of the result, an array of the result's shape and any float dtype. `None`: 1.
    pub gradient: Option<ArrayView<'a>>,
}

/// The gradients of a norm: as [`warpfold_cpu::rows::NormGradients`], on the device.
pub struct NormGradients {
    /// Of the elements: an array of their shape and dtype.
    pub x: Array,
    /// Of the weights, if there are any: an array of their shape and dtype.
    pub weight: Option<Array>,
    /// Of the biases, if there are any.
    pub bias: Option<Array>,
}

/// The options of [`cross_entropy`](super::cross_entropy).
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropy<'a> {
    /// Rows with this target have the loss 0 and the gradient 0. Default -100.
    pub ignore: i64,
    /// The weight of each class, a dense array of any float dtype. `None`: 1.
    pub weights: Option<ArrayView<'a>>,
    /// The gradient of the loss of each row, or (of one element, with no axes) of all, of any float dtype. `None`: 1.
    pub scales: Option<ArrayView<'a>>,
    /// Whether the gradient of the logits is wanted. Default true.
    pub gradient: bool,
    /// What an earlier call has noted of the same logits ([`RowLosses::noted`]): they are read once then. Default none.
    pub noted: Option<ArrayView<'a>>,
}

impl Default for CrossEntropy<'_> {
    fn default() -> Self {
        Self { ignore: -100, weights: None, scales: None, gradient: true, noted: None }
    }
}

/// The losses of rows, and what is computed beside them.
pub struct RowLosses {
    /// The loss of each row, as the arithmetic has it: in f32, or f64 of f64.
    pub losses: Array,
    /// The logsumexp of each row, in the same dtype.
    pub logsumexp: Array,
    /// The gradient of the logits, an array of their shape and dtype, if it was wanted.
    pub gradient: Option<Array>,
    /// What follows from rows, for [`CrossEntropy::noted`] of a later call: an axis of 2 after those of the losses.
    pub noted: Option<Array>,
}
