//! Arguments that several subcommands share.

use std::ffi::OsString;

use clap::Parser;
use warpfold::{DType, Ord};

use super::values::{AxisList, RawDType, Rounding, Shape, ord};
use crate::input::Raw;

/// What to read.
#[derive(Parser)]
pub struct Input {
    /// A .npy file, FILE.npz:MEMBER (no MEMBER needed if there is one), `-` for standard input, or a file of raw
    /// numbers
    #[arg(value_name = "INPUT")]
    pub input: OsString,
    /// INPUT has no header: its numbers have this dtype, in this machine's byte order, or in that which NumPy's name
    /// has: >f4
    #[arg(long, value_name = "DTYPE", requires = "shape")]
    raw: Option<RawDType>,
    /// The shape of raw numbers, in C order, such as 1000,1000
    #[arg(long, value_name = "N,M", requires = "raw", allow_hyphen_values = true)]
    shape: Option<Shape>,
}

impl Input {
    /// The dtype and shape of data without a header.
    pub fn raw(&self) -> Option<Raw> {
        let RawDType { dtype, swapped } = self.raw?;
        Some(Raw { dtype, swapped, shape: self.shape.clone()?.0 })
    }
}

/// Over what.
#[derive(Parser)]
pub struct Axes {
    /// The axes to reduce, such as 0,2; -1 is the last; all if not given
    #[arg(long, visible_alias = "axes", value_name = "AXES", allow_hyphen_values = true)]
    axis: Option<AxisList>,
    /// Keep reduced axes, with length 1
    #[arg(long)]
    pub keepdims: bool,
}

impl Axes {
    /// `None`: all.
    pub fn list(&self) -> Option<Vec<isize>> {
        self.axis.clone().map(|list| list.0)
    }
}

/// How to compute.
#[derive(Parser)]
pub struct How {
    /// Cast elements to this dtype first; it is also the result's
    #[arg(long, value_name = "DTYPE")]
    pub dtype: Option<DType>,
    /// How carefully sums are rounded
    #[arg(long, value_enum, default_value = "tree")]
    pub precision: Rounding,
    /// Leave NaNs out
    #[arg(long)]
    pub skip_nan: bool,
    /// Divide by the count less N: var, std (default 0)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub ddof: Option<f64>,
    /// Which norm: 1, 2 or inf (default 2)
    #[arg(long, value_parser = ord)]
    pub ord: Option<Ord>,
}
