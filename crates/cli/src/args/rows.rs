//! Arguments of operations on rows.

use std::ffi::OsString;

use clap::{Parser, ValueEnum};

use super::common::{Input, Place, To};
use super::values::AxisList;

/// What all have in common.
#[derive(Parser)]
pub struct Rows {
    #[command(flatten)]
    pub input: Input,
    /// The axes that a row lies along, such as 0,2; -1 is the last
    #[arg(long, visible_alias = "axes", value_name = "AXES", default_value = "-1", allow_hyphen_values = true)]
    axis: AxisList,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub to: To,
}

impl Rows {
    /// The axes.
    pub fn axes(&self) -> &[isize] {
        &self.axis.0
    }
}

/// The exponentials of each row over their sum
///
/// The result is an array of the shape and dtype of INPUT, of floats, in C order. Rows may lie along any axes. The bits
/// of a row depend on nothing but the row.
#[derive(Parser)]
pub struct Softmax {
    #[command(flatten)]
    pub rows: Rows,
    /// Multiply elements by this number first
    #[arg(long, value_name = "X", default_value_t = 1.0, allow_hyphen_values = true)]
    pub scale: f64,
    /// Elements where this array of bools (.npy, .npz:MEMBER or `-`), broadcast to INPUT's shape, is false take no
    /// part: 0 in the result, or minus infinity in a logarithm
    #[arg(long = "where", value_name = "MASK")]
    pub mask: Option<OsString>,
}

/// By what rows are normalised.
#[derive(Clone, Copy, ValueEnum)]
pub enum Norm {
    /// Over the root of the mean square
    Rms,
    /// Less the mean, over the standard deviation
    Layer,
}

/// Each row over the root of its mean square, or less its mean and over its standard deviation
///
/// The result is an array of the shape and dtype of INPUT, of floats, in C order: x / √(mean of x² + ε) · weight +
/// bias, or (x - mean) / √(variance + ε) · weight + bias. The bits of a row depend on nothing but the row.
#[derive(Parser)]
pub struct Normalize {
    #[command(flatten)]
    pub rows: Rows,
    /// By what
    #[arg(long, value_enum, default_value = "layer")]
    pub by: Norm,
    /// Factors of the normalised elements, of the shape of a row
    #[arg(long, value_name = "WEIGHTS")]
    pub weight: Option<OsString>,
    /// Addends after that, of the shape of a row
    #[arg(long, value_name = "BIASES")]
    pub bias: Option<OsString>,
    /// ε, which is added to the mean square, or to the variance
    #[arg(long, value_name = "X", default_value_t = 1e-5, allow_hyphen_values = true)]
    pub epsilon: f64,
}
