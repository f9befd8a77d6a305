//! The values of options: shapes, axes, numbers, names.

use std::str::FromStr;

use clap::ValueEnum;
use warpfold::core::UnknownDType;
use warpfold::{DType, DeviceName, Op, Ord, Order, Precision, Scalar};

use crate::error::Failure;

/// `--raw`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawDType {
    pub dtype: DType,
    /// Whether the byte order is not this machine's.
    pub swapped: bool,
}

impl FromStr for RawDType {
    type Err = UnknownDType;

    fn from_str(s: &str) -> Result<Self, UnknownDType> {
        let other = if cfg!(target_endian = "little") { '>' } else { '<' };
        match s.strip_prefix(other) {
            Some(code) => {
                let dtype = DType::from_code(code).ok_or(UnknownDType)?;
                Ok(Self { dtype, swapped: dtype.size() > 1 })
            }
            None => Ok(Self { dtype: s.parse()?, swapped: false }),
        }
    }
}

/// `--order`.
#[derive(Clone, Copy, ValueEnum)]
pub enum Layout {
    /// Row-major: the last axis is contiguous
    C,
    /// Column-major: the first axis is contiguous
    Fortran,
}

impl From<Layout> for Order {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::C => Order::C,
            Layout::Fortran => Order::Fortran,
        }
    }
}

/// `--precision`.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Rounding {
    /// The tree, in the accumulator's own precision
    Tree,
    /// The same tree of double words: about 48 bits for f32, 106 for f64
    Compensated,
}

impl From<Rounding> for Precision {
    fn from(rounding: Rounding) -> Self {
        match rounding {
            Rounding::Tree => Precision::Tree,
            Rounding::Compensated => Precision::Compensated,
        }
    }
}

/// A shape such as `3,4,5`; an empty text is a single element without axes.
#[derive(Clone)]
pub struct Shape(pub Vec<usize>);

impl FromStr for Shape {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        numbers(s).map(Self).map_err(|bad| format!("`{bad}` is not a length: give lengths of 0 or more, such as 3,4,5"))
    }
}

/// Axes such as `0,2` or `-1`; an empty text reduces no axis.
#[derive(Clone)]
pub struct AxisList(pub Vec<isize>);

impl FromStr for AxisList {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        numbers(s).map(Self).map_err(|bad| format!("`{bad}` is not an axis: give integers, such as 0,2 or -1"))
    }
}

fn numbers<T: FromStr>(s: &str) -> Result<Vec<T>, &str> {
    let inside = s.trim().trim_start_matches('(').trim_end_matches(')').trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Ok(Vec::new());
    }
    inside.split(',').map(|part| part.trim().parse().map_err(|_| part)).collect()
}

/// `--initial`.
#[derive(Clone, Copy, Debug)]
pub struct Initial(Scalar);

impl FromStr for Initial {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let integer = s.parse().map(Scalar::I64).or_else(|_| s.parse().map(Scalar::U64));
        let scalar = integer.or_else(|_| s.parse().map(Scalar::F64));
        scalar.map(Self).map_err(|_| "not a number: give one such as 0, -1.5, 1e300, inf or nan".into())
    }
}

impl Initial {
    /// The value in the dtype of the result, if it is representable. `option` is for messages.
    pub fn of(self, option: &str, dtype: DType) -> Result<Scalar, Failure> {
        let signed = |bits: u32| (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
        let unsigned = |bits: u32| (0, (1i128 << bits) - 1);
        let bits = 8 * dtype.size() as u32;
        let (least, greatest) = match dtype.kind() {
            warpfold::Kind::Float => return Ok(self.0),
            warpfold::Kind::Bool => (0, 1),
            warpfold::Kind::Signed => signed(bits),
            warpfold::Kind::Unsigned => unsigned(bits),
        };
        let integer = match self.0 {
            Scalar::I64(v) => Some(v as i128),
            Scalar::U64(v) => Some(v as i128),
            _ => None,
        };
        match integer {
            Some(v) if (least..=greatest).contains(&v) => Ok(self.0),
            _ => Err(Failure::Usage(format!(
                "{option} {}: the result is {dtype}, give an integer from {least} to {greatest}",
                self.0
            ))),
        }
    }
}

pub fn threads(s: &str) -> Result<u16, String> {
    let threads = s.parse().ok().filter(|n| (1..=4096).contains(n));
    threads.ok_or_else(|| "give a number of threads from 1 to 4096".into())
}

pub fn op(s: &str) -> Result<Op, warpfold::Error> {
    s.parse()
}

pub fn device(s: &str) -> Result<DeviceName, warpfold::Error> {
    s.parse()
}

pub fn ord(s: &str) -> Result<Ord, String> {
    match s {
        "1" => Ok(Ord::One),
        "2" => Ok(Ord::Two),
        "inf" => Ok(Ord::Inf),
        _ => Err("give 1, 2 or inf".into()),
    }
}
