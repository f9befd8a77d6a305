//! `warpfold segments`, `group`, `unique`, `histogram` and `kmeans`

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, ValueEnum};
use warpfold::{DeviceName, Op};

use super::common::{How, Input, Place, To};
use super::values::{Initial, device, op, threads};

/// Reduce consecutive parts of the first axis, each by itself
///
/// Segment i of INPUT goes from offset i to before offset i + 1, and is reduced along axis 0; it may be empty. The
/// result has the segments there, and the other axes as they are. argmin and argmax count from the segment's first
/// element. Every result has the bits that `warpfold reduce` gives for the segment alone.
#[derive(Parser)]
pub struct Segments {
    /// As for reduce
    #[arg(value_name = "OP", value_parser = op)]
    pub op: Op,
    #[command(flatten)]
    pub input: Input,
    /// One more integer than there are segments, along one axis: a .npy file, FILE.npz:MEMBER, or `-`
    #[arg(long, value_name = "OFFSETS")]
    pub offsets: OsString,
    /// Where to compute: cpu; cuda or cuda:1 (without masks and casts); or auto, which is cpu
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceName,
    #[command(flatten)]
    pub keyed: Keyed,
}

/// Reduce the elements of each label
///
/// Group k is INPUT[LABELS == k], reduced along axis 0, for the labels 0, 1, … in any order; -1 belongs to no group.
/// The result has the groups there, and the other axes as they are. argmin and argmax give indices of INPUT. Every
/// result has the bits that `warpfold reduce` gives for the group's elements alone, in their order.
#[derive(Parser)]
pub struct Group {
    /// As for reduce, or first, last (element of each group) or size (how many it has)
    #[arg(value_name = "OP", value_parser = GroupOp::from_str)]
    pub op: GroupOp,
    #[command(flatten)]
    pub input: Input,
    /// An integer for each index of axis 0: a .npy file, FILE.npz:MEMBER, or `-`
    #[arg(long, value_name = "LABELS")]
    pub by: OsString,
    /// How many groups; one more than the greatest label if not given
    #[arg(long, value_name = "N")]
    pub groups: Option<usize>,
    /// Where to compute: cpu; cuda or cuda:1 (without masks and casts); or auto, which is cpu
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceName,
    #[command(flatten)]
    pub keyed: Keyed,
}

/// The computation on a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupOp {
    /// A reduction.
    Reduce(Op),
    /// The first element.
    First,
    /// The last element.
    Last,
    /// The number of elements.
    Size,
}

impl GroupOp {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            GroupOp::Reduce(op) => op.name(),
            GroupOp::First => "first",
            GroupOp::Last => "last",
            GroupOp::Size => "size",
        }
    }
}

impl FromStr for GroupOp {
    type Err = warpfold::Error;

    fn from_str(s: &str) -> Result<Self, warpfold::Error> {
        Ok(match s {
            "first" => GroupOp::First,
            "last" => GroupOp::Last,
            "size" => GroupOp::Size,
            _ => GroupOp::Reduce(op(s)?),
        })
    }
}

/// How to reduce by keys, and where the result goes.
#[derive(Parser)]
pub struct Keyed {
    #[command(flatten)]
    pub how: How,
    /// The result where there is none: min, max, minmax, argmin, argmax, first and last of no elements
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub fill: Option<Initial>,
    /// How many threads work; all cores if not given
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub to: To,
    /// Print one JSON object: op, input, dtype, shape, and values or the output's name; with --bits also bits
    #[arg(long)]
    pub json: bool,
}

/// List the distinct values of an array, ascending, and how often each occurs
///
/// All NaNs are one value, the last; -0.0 and 0.0 are one, of which the first is kept. Without other outputs, a line
/// for each value: it, its count, and with --first the index in the flattened array where it occurs first.
#[derive(Parser)]
pub struct Unique {
    #[command(flatten)]
    pub input: Input,
    /// Print the index of the first occurrence of each value
    #[arg(long)]
    pub first: bool,
    #[command(flatten)]
    pub place: Place,
    /// Write the values to this .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: Option<PathBuf>,
    /// Write the counts to this .npy file
    #[arg(long, value_name = "OUT.npy")]
    pub counts: Option<PathBuf>,
    /// Write the index of each element's value, an int64 of INPUT's shape, to this .npy file
    #[arg(long, value_name = "OUT.npy")]
    pub inverse: Option<PathBuf>,
    /// Print one JSON object: input, dtype, values, counts, and with --first first
    #[arg(long)]
    pub json: bool,
}

/// Count elements between edges
///
/// Bin i has the elements x with edge i <= x < edge i + 1; the last one also those at its end. NaN, and what is
/// outside, is not counted. The edges of uniform bins are those of numpy.histogram. Prints a line for each bin: its
/// edges, and its count.
#[derive(Parser)]
pub struct Histogram {
    #[command(flatten)]
    pub input: Input,
    /// The number of bins of equal width
    #[arg(long, value_name = "N", default_value = "10", conflicts_with = "edges")]
    pub bins: usize,
    /// The range of the bins; from the least to the greatest element if not given
    #[arg(long, value_name = "A,B", allow_hyphen_values = true, conflicts_with = "edges")]
    pub range: Option<Range>,
    /// The edges: numbers that do not decrease, along one axis of a .npy file, FILE.npz:MEMBER, or `-`
    #[arg(long, value_name = "EDGES")]
    pub edges: Option<OsString>,
    /// Add up these numbers, of INPUT's shape, instead of counting
    #[arg(long, value_name = "WEIGHTS")]
    pub weights: Option<OsString>,
    #[command(flatten)]
    pub place: Place,
    /// Write the counts or sums to this .npy file
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: Option<PathBuf>,
    /// Print one JSON object: input, edges, dtype, and counts
    #[arg(long)]
    pub json: bool,
}

/// `--range`.
#[derive(Clone, Copy, Debug)]
pub struct Range(pub f64, pub f64);

impl FromStr for Range {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let parse = |part: &str| part.trim().parse().ok();
        let ends = s.split_once(',').and_then(|(a, b)| Some(Range(parse(a)?, parse(b)?)));
        ends.ok_or_else(|| "not a range: give two numbers, such as 0,1 or -2.5,2.5".into())
    }
}

/// Find clusters of points by k-means
///
/// Points are the rows of INPUT: f16, bf16, f32 or f64. Each is assigned to the nearest centroid (the first of equally
/// near ones), each centroid moves to the mean of its points, and so on, until no label changes, or the centroids
/// hardly move. Centroids, labels and inertia (the sum of squared distances) are the same bits on every machine and any
/// number of threads.
///
/// Prints the inertia, and each cluster's size and centroid; the inertia of each iteration goes to standard error.
#[derive(Parser)]
pub struct KMeans {
    #[command(flatten)]
    pub input: Input,
    /// The number of clusters
    #[arg(short = 'k', long = "clusters", value_name = "K")]
    pub clusters: usize,
    /// The first centroids: kmeans++ (random points, far from each other), random (points), or a .npy file of K rows
    #[arg(long, value_name = "kmeans++|random|FILE", default_value = "kmeans++",
        value_parser = OsStringValueParser::new().map(First::from))]
    pub init: First,
    /// The greatest number of iterations
    #[arg(long, value_name = "N", default_value = "300")]
    pub iters: usize,
    /// Stop when the squares of the centroids' moves add up to no more than this times the mean variance of the
    /// coordinates
    #[arg(long, value_name = "T", default_value = "1e-4")]
    pub tol: f64,
    /// The seed of the random numbers (default 0)
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// The number of runs from other first centroids, of which the least inertia counts
    #[arg(long, value_name = "R", default_value = "1")]
    pub n_init: usize,
    /// The centroid of a cluster without points moves to the point that is farthest from its own centroid, or stays
    #[arg(long, value_enum, default_value = "farthest")]
    pub empty: Empty,
    /// Points are the columns of INPUT
    #[arg(long)]
    pub columns: bool,
    /// Where to compute: cpu, cuda, cuda:1, or auto: a GPU if there is one and much to compute
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceName,
    /// How many threads work; all cores if not given
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<u16>,
    /// Write the cluster of each point, an int32, to this .npy file
    #[arg(long, value_name = "OUT.npy")]
    pub labels: Option<PathBuf>,
    /// Write the centroids to this .npy file
    #[arg(long, value_name = "OUT.npy")]
    pub centroids: Option<PathBuf>,
    /// Print nothing about the iterations
    #[arg(short, long)]
    pub quiet: bool,
    /// Print one JSON object: input, inertia, iterations, converged, run, sizes, dtype and centroids
    #[arg(long)]
    pub json: bool,
}

/// `--init`.
#[derive(Clone, Debug)]
pub enum First {
    /// k-means++.
    PlusPlus,
    /// Random points.
    Random,
    /// In a file.
    File(OsString),
}

impl From<OsString> for First {
    fn from(given: OsString) -> Self {
        match given.to_str().map(str::to_ascii_lowercase).as_deref() {
            Some("kmeans++") => First::PlusPlus,
            Some("random") => First::Random,
            _ => First::File(given),
        }
    }
}

/// `--empty`.
#[derive(Clone, Copy, ValueEnum)]
pub enum Empty {
    /// It moves
    Farthest,
    /// It stays
    Keep,
}

impl From<Empty> for warpfold::keys::EmptyCluster {
    fn from(empty: Empty) -> Self {
        match empty {
            Empty::Farthest => Self::Farthest,
            Empty::Keep => Self::Keep,
        }
    }
}
