//! Arguments that several subcommands share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use warpfold::{ArrayRef, DType, DeviceName, Options, Ord};

use super::values::{AxisList, Initial, RawDType, Rounding, Shape, device, ord, threads};
use crate::input::Raw;

/// The input.
#[derive(Parser)]
pub struct Input {
    /// A .npy file, FILE.npz:MEMBER (no MEMBER needed if there is one), `-` for standard input, or a file of raw
    /// numbers
    #[arg(value_name = "INPUT")]
    pub input: OsString,
    /// INPUT has no header: its numbers have this dtype, in this machine's byte order, or in the one that NumPy's name
    /// states, as >f4
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

/// The axes of a reduction.
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
    /// The list of axes; `None` for all.
    pub fn list(&self) -> Option<Vec<isize>> {
        self.axis.clone().map(|list| list.0)
    }
}

/// How to reduce, and which elements.
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
    /// Reduce only where this array of bools (.npy, .npz:MEMBER or `-`), broadcast to INPUT's shape, is true
    #[arg(long = "where", value_name = "MASK")]
    pub mask: Option<OsString>,
    /// Start from this value: sum, prod, min, max
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub initial: Option<Initial>,
}

impl How {
    /// The options of a reduction by `threads` threads, where `mask` is true.
    pub fn options<'a>(&self, mask: Option<ArrayRef<'a>>, threads: Option<u16>) -> Options<'a> {
        Options {
            dtype: self.dtype,
            precision: self.precision.into(),
            skip_nan: self.skip_nan,
            mask,
            ddof: self.ddof,
            ord: self.ord,
            threads: threads.map(usize::from),
            ..Options::default()
        }
    }
}

/// Where to compute, for commands whose `auto` is the CPU.
#[derive(Parser)]
pub struct Place {
    /// Where to compute: cpu; cuda (the first GPU) or cuda:1; or auto, which is cpu: it reads files faster than a bus
    /// brings them to a GPU. The bits are the same
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceName,
    /// How many threads work on a CPU; all cores if not given
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<u16>,
}

/// Where the result goes, and how it is printed.
#[derive(Parser)]
pub struct To {
    /// Write the result to this .npy file (`-`: standard output). It appears whole or not at all
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: Option<PathBuf>,
    /// Print bit patterns in hexadecimal, such as 0x3f800000 for the f32 1
    #[arg(long, conflicts_with = "output")]
    pub bits: bool,
}
