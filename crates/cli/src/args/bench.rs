//! `warpfold bench`

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use warpfold::DeviceName;
use warpfold_bench::random;

/// Measure reductions beside other libraries, and check all results
///
/// Suites name cases, and --random makes random ones. On each case, Warpfold and its peers take turns, one sample each,
/// on the same data; a peer is a program of its own (bench/peers). Every result is compared with the exact one, within
/// bounds on rounding errors. Absent peers, and cases that a peer does not support, are named. Bytes count once if read
/// and once if written.
///
/// The table goes to standard output, progress to standard error. Exit status 1 if a result is wrong.
///
/// Without --suite and --random: the suite cpu, or full on a GPU.
#[derive(Parser)]
pub struct Bench {
    /// Suites by name (--list without a suite shows them), or .toml files
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',')]
    pub suite: Vec<String>,
    /// Random problems of this seed instead of a suite: op, dtype, shape, axes, NaNs and layout
    #[arg(long, value_name = "SEED", conflicts_with = "suite")]
    pub random: Option<u64>,
    /// The number of random problems
    #[arg(long, value_name = "N", default_value = "100", requires = "random")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub cases: u32,
    /// The approximate size of each problem
    #[arg(long, value_name = "SIZE", default_value = "256MiB", requires = "random", value_parser = random::bytes)]
    pub bytes: usize,
    /// Where Warpfold and its peers compute: cpu, cuda, cuda:1, or auto
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceName,
    /// The peers: cub, cub-by-key, torch, torch-compile, torch-deterministic, cupy, numpy, pandas, polars,
    /// flash-kmeans, flashlib, NAME=PROGRAM, or none. If not given, numpy and torch on a CPU, and cub, torch and cupy
    /// on a GPU (--random: cub and torch)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub peers: Option<Vec<String>>,
    /// The folder of the peers. If not given, $WARPFOLD_PEERS, or bench/peers beside this program or of the sources
    /// that it was built from
    #[arg(long, value_name = "FOLDER")]
    pub peers_from: Option<PathBuf>,
    /// Only cases whose name, as --list prints it, contains this
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Samples of each case and side
    #[arg(long, value_name = "N", default_value = "11", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub samples: u16,
    /// Seconds for the samples of one case and side; after three samples, a side that has used them up takes no more
    /// [default: 10, for random problems 0.3]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub budget: Option<Duration>,
    /// Begin no case later than this number of seconds after the start
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub limit: Option<Duration>,
    /// Compare all bits with those of the CPU (on a CPU: of one thread), at every size
    #[arg(long)]
    pub bits: bool,
    /// Write the record to this file, after each case
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Resume the record that --json names, if it exists: its cases are not measured again
    #[arg(long, requires = "json")]
    pub resume: bool,
    /// Write tables for a document to this file
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Print the names of the cases (or of the suites), and measure nothing
    #[arg(long)]
    pub list: bool,
}

/// A positive number of seconds, up to a day.
fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|seconds| (0.001..=86400.0).contains(seconds));
    number.map(Duration::from_secs_f64).ok_or_else(|| "give seconds, from 0.001 to 86400".into())
}
