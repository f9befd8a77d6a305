//! The command line.

mod bench;
mod common;
mod examples;
mod keys;
mod ladder;
mod rows;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use warpfold::{DType, DeviceName, Op, Ord};

pub use bench::Bench;
pub use common::{Axes, How, Input, Place, To};
pub use examples::EXIT_STATUS;
pub use keys::{First, Group, GroupOp, Histogram, KMeans, Keyed, Segments, Unique};
pub use ladder::Ladder;
pub use rows::{Norm, Normalize, Rows, Softmax};
pub use values::{Layout, Rounding, Shape};
use values::{device, op, ord, threads};

/// Reduces arrays in files: sums, means, extremes and their kin, over any axes, with the same bits on every machine.
///
/// INPUT is a .npy file (versions 1 to 3, C or Fortran order, either byte order), FILE.npz:MEMBER, `-` for standard
/// input, or, with --raw and --shape, a file of nothing but numbers. Files are mapped, so they may be larger than
/// memory.
///
/// Exit status: 0 if all went well; 2 if the command line or the input is wrong, and then nothing was written; 1 if
/// reading or writing failed in the middle; 130 after Ctrl-C; 141 if the reader of standard output has closed it.
///
/// A DTYPE is f16, bf16, f32, f64, i8 to i64, u8 to u64 or bool; or NumPy's name for one, such as float32, f4 or <f4.
/// (i8 has 8 bits here; NumPy's i8 of 8 bytes is <i8 or int64.)
#[derive(Parser)]
#[command(name = "warpfold", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = examples::WARPFOLD)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    #[command(after_help = examples::REDUCE)]
    Reduce(Reduce),
    #[command(after_help = examples::DESCRIBE)]
    Describe(Describe),
    #[command(after_help = examples::SEGMENTS)]
    Segments(Segments),
    #[command(after_help = examples::GROUP)]
    Group(Group),
    #[command(after_help = examples::UNIQUE)]
    Unique(Unique),
    #[command(after_help = examples::HISTOGRAM)]
    Histogram(Histogram),
    #[command(name = "kmeans", after_help = examples::KMEANS)]
    KMeans(KMeans),
    #[command(after_help = examples::SOFTMAX)]
    Softmax(Softmax),
    /// The logarithm of the softmax of each row
    #[command(after_help = examples::LOG_SOFTMAX)]
    LogSoftmax(Softmax),
    #[command(after_help = examples::NORMALIZE)]
    Normalize(Normalize),
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    #[command(after_help = examples::DEVICES)]
    Devices(Devices),
    #[command(after_help = examples::LADDER)]
    Ladder(Ladder),
    #[command(after_help = examples::BENCH)]
    Bench(Bench),
    #[command(after_help = examples::COMPLETIONS)]
    Completions(Completions),
    /// Print the man page, in roff: `warpfold man > warpfold.1`
    #[command(after_help = examples::MAN)]
    Man,
}

/// Reduce an array to one value, or along axes
///
/// A single value is printed alone on its line, as the shortest decimal that reads back as the same bits; an array as
/// NumPy prints it, but with all digits, and abbreviated above 1000 elements. The result of argmin and argmax is an
/// int64: the position in the reduced elements, counted in row-major order over the reduced axes (over all axes: the
/// index into the flattened array). The result of minmax has one more axis, at the end, of length 2: the least, the
/// greatest; of a whole array both are printed on one line.
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
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub to: To,
    /// Print one JSON object: op, input, axes, dtype, shape, and value (of shape []) or values (nested lists), or the
    /// output's name; with --bits also bits. NaN and infinities are the strings "nan", "inf", "-inf"
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
/// Every value has the bits that `warpfold reduce` gives; count is the number of elements reduced into each, NaN
/// included. No elements have no min, argmin, max or argmax.
///
/// On a GPU, contiguous floats are read once; for integers and other layouts each statistic is a reduction of its own.
/// The array must fit into the GPU's memory.
#[derive(Parser)]
pub struct Describe {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub axes: Axes,
    /// Leave NaNs out of all but count and nan_count
    #[arg(long)]
    pub skip_nan: bool,
    /// Describe only the elements where this array of bools, broadcast to INPUT's shape, is true; count is then an
    /// array
    #[arg(long = "where", value_name = "MASK")]
    pub mask: Option<OsString>,
    /// Write the description to this file (`-`: standard output): JSON with --json, else text. It appears whole or not
    /// at all
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Print one JSON object: input, axes, shape, count, and under stats the statistics, as reduce --json prints
    /// values, null for one without a value
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub place: Place,
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
    /// Where to compute, as for reduce. Without a GPU the plan is that for an H200
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceName,
    /// How many threads work; all cores if not given
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
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
