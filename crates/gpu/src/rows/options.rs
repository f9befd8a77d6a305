//! The options of operations on rows on a GPU.

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
}

impl Default for Norm<'_> {
    fn default() -> Self {
        Self { weight: None, weight_offset: 0.0, bias: None, epsilon: 1e-5 }
    }
}
