//! The command line.

mod bench;
mod keys;
mod ladder;

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use warpfold::{DType, DeviceName, Op, Ord, Order, Precision, Scalar};

use crate::error::Failure;
use crate::input::Raw;

pub use bench::Bench;
pub use keys::{First, Group, GroupOp, Histogram, KMeans, Keyed, Segments, Unique};
pub use ladder::Ladder;

/// Reduces arrays in files: sums, means, extremes and their kin, over any axes, with the same bits on every machine.
///
/// INPUT is a .npy file (versions 1 to 3, C or Fortran order, either byte order), FILE.npz:MEMBER, `-` for standard input, or,
/// with --raw and --shape, a file of nothing but numbers. Files are mapped, so they may be larger than memory.
///
/// Exit status: 0 if all went well; 2 if the command line or the input is wrong, and then nothing was written; 1 if reading
/// or writing failed in the middle; 130 after Ctrl-C; 141 if whoever reads standard output has closed it.
#[derive(Parser)]
#[command(name = "warpfold", version, propagate_version = true, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Reduce(Reduce),
    Describe(Describe),
    Segments(Segments),
    Group(Group),
    Unique(Unique),
    Histogram(Histogram),
    #[command(name = "kmeans")]
    KMeans(KMeans),
    Explain(Explain),
    Devices(Devices),
    Ladder(Ladder),
    Bench(Bench),
    Completions(Completions),
    /// Print the man page, in roff: `warpfold man > warpfold.1`
    Man,
}

/// Reduce an array to one value, or along axes
///
/// A single value is printed alone on its line, as the shortest decimal that reads back as the same bits; an array as
/// NumPy prints it, but with all digits, and abbreviated above 1000 elements. The result of argmin and argmax is an int64:
/// the position in the reduced elements, counted in row-major order over the reduced axes (over all axes: the index into
/// the flattened array). The result of minmax has one more axis, at the end, of length 2: the least, the greatest; of a
/// whole array both are printed on one line.
#[derive(Parser)]
pub struct Reduce {
    /// sum, prod, mean, var, std, norm, min, max, minmax, argmin, argmax, any, all, count-nonzero or logsumexp
    #[arg(value_name = "OP", value_parser = op)]
    pub op: Op,
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub axes: Axes,
    #[command(flatten)]
    pub how: How,
    /// Reduce only where this array of bools (.npy, .npz:MEMBER or `-`), broadcast to INPUT's shape, is true
    #[arg(long = "where", value_name = "MASK")]
    pub mask: Option<OsString>,
    /// Start from this value: sum, prod, min, max
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub initial: Option<Initial>,
    /// Where to compute: cpu; cuda (the first GPU) or cuda:1; or auto, which is cpu: it reads files faster than a bus brings
    /// them to a GPU. The bits are the same
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceName,
    /// How many threads work on a CPU; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
    /// Write the result to this .npy file (`-`: standard output). It appears whole or not at all
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: Option<PathBuf>,
    /// Print bit patterns in hexadecimal, such as 0x3f800000 for the f32 1
    #[arg(long, conflicts_with = "output")]
    pub bits: bool,
    /// Print one JSON object: op, input, axes, dtype, shape, and value (of shape []) or values (nested lists), or the output's
    /// name; with --bits also bits. NaN and infinities are the strings "nan", "inf", "-inf"
    #[arg(long)]
    pub json: bool,
    /// Print the time that the reduction took, and the bytes read per second, on standard error
    #[arg(long)]
    pub time: bool,
    /// Print the plan on standard error, then carry it out
    #[arg(long)]
    pub explain: bool,
}

/// Describe an array: count, NaN count, min, argmin, max, argmax, mean, std, sum and norm in one read
///
/// Every value has the bits that `warpfold reduce` gives; count is the number of elements reduced into each, NaN included.
///
/// On a GPU, floats that lie side by side are read once; of integers and of other layouts each statistic is a reduction of its
/// own. The array must fit into the GPU's memory.
#[derive(Parser)]
pub struct Describe {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub axes: Axes,
    /// Print one JSON object: input, axes, shape, count, and under stats the statistics, as reduce --json prints values
    #[arg(long)]
    pub json: bool,
    /// Where to compute: cpu; cuda (the first GPU) or cuda:1; or auto, which is cpu: it reads files faster than a bus brings
    /// them to a GPU. The bits are the same
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceName,
    /// How many threads work; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
}

/// Show how an array would be reduced, without any data
#[derive(Parser)]
pub struct Explain {
    /// As for reduce
    #[arg(value_name = "OP", value_parser = op)]
    pub op: Op,
    /// The length of each axis, such as 3,4,5
    #[arg(long, value_name = "N,M", allow_hyphen_values = true)]
    pub shape: Shape,
    /// The dtype of the elements
    #[arg(long, value_name = "DTYPE")]
    pub dtype: DType,
    /// How the elements lie in memory
    #[arg(long, value_enum, default_value = "c")]
    pub order: Layout,
    #[command(flatten)]
    pub axes: Axes,
    /// The dtype of the result, and of the elements before they are added
    #[arg(long, value_name = "DTYPE")]
    pub result: Option<DType>,
    /// How carefully sums are rounded
    #[arg(long, value_enum, default_value = "tree")]
    pub precision: Rounding,
    /// Leave NaNs out
    #[arg(long)]
    pub skip_nan: bool,
    /// Which norm: 1, 2 or inf
    #[arg(long, value_parser = ord)]
    pub ord: Option<Ord>,
    /// Where it would be computed, as for reduce. No GPU need be there: the plan is then that for an H200
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceName,
    /// How many threads work; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
    /// Print one JSON object; a GPU's plan has the launches with each kernel's parameter in 64-bit words
    #[arg(long)]
    pub json: bool,
    /// Print the PTX of the GPU's kernels instead: what the driver compiles
    #[arg(long, conflicts_with = "json")]
    pub ptx: bool,
}

/// List the devices that can compute
#[derive(Parser)]
pub struct Devices {
    /// Print a JSON list
    #[arg(long)]
    pub json: bool,
}

/// Print a completion script for a shell, such as `warpfold completions bash`
#[derive(Parser)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// What to read.
#[derive(Parser)]
pub struct Input {
    /// A .npy file, FILE.npz:MEMBER (no MEMBER needed if there is one), `-` for standard input, or a file of raw numbers
    #[arg(value_name = "INPUT")]
    pub input: OsString,
    /// INPUT has no header: its numbers have this dtype, in this machine's byte order
    #[arg(long, value_name = "DTYPE", requires = "shape")]
    raw: Option<DType>,
    /// The shape of raw numbers, in C order, such as 1000,1000
    #[arg(long, value_name = "N,M", requires = "raw", allow_hyphen_values = true)]
    shape: Option<Shape>,
}

impl Input {
    /// The dtype and shape of data without a header.
    pub fn raw(&self) -> Option<Raw> {
        Some(Raw { dtype: self.raw?, shape: self.shape.clone()?.0 })
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
#[derive(Clone, Copy, ValueEnum)]
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

/// `3,4,5`; nothing at all for a single element without axes.
#[derive(Clone)]
pub struct Shape(pub Vec<usize>);

impl FromStr for Shape {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        numbers(s).map(Self).map_err(|bad| format!("`{bad}` is not a length: give lengths of 0 or more, such as 3,4,5"))
    }
}

/// `0,2`, `-1`; nothing at all to reduce no axis.
#[derive(Clone)]
pub struct AxisList(Vec<isize>);

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
    /// The value, if a result of `dtype` can start from it.
    pub fn of(self, dtype: DType) -> Result<Scalar, Failure> {
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
                "--initial {}: the result is {dtype}, give an integer from {least} to {greatest}",
                self.0
            ))),
        }
    }
}

fn op(s: &str) -> Result<Op, warpfold::Error> {
    s.parse()
}

fn device(s: &str) -> Result<DeviceName, warpfold::Error> {
    s.parse()
}

fn ord(s: &str) -> Result<Ord, String> {
    match s {
        "1" => Ok(Ord::One),
        "2" => Ok(Ord::Two),
        "inf" => Ok(Ord::Inf),
        _ => Err("give 1, 2 or inf".into()),
    }
}
