//! `warpfold bench`

use std::path::PathBuf;

use clap::Parser;
use warpfold::DeviceName;

/// Measure reductions beside other libraries, and check all results
///
/// Suites name cases. On each, Warpfold and its peers take turns, one sample each, on the same data; a peer is a program of
/// its own (bench/peers). Every result is compared with the exact one, within what rounding explains. Peers that are not
/// there, and cases that one does not have, are named. Bytes count once if read and once if written.
///
/// The table goes to standard output, progress to standard error. Exit status 1 if a result is wrong.
#[derive(Parser)]
pub struct Bench {
    /// Suites by name (--list without a suite shows them), or .toml files
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',')]
    pub suite: Vec<String>,
    /// Where Warpfold and its peers compute: cpu, cuda, cuda:1, or auto
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceName,
    /// Who else: cub, torch, cupy, numpy, pandas, polars, flash-kmeans, flashlib, NAME=PROGRAM, or none. If not given, numpy and torch
    /// on a CPU, and cub, torch and cupy on a GPU
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub peers: Option<Vec<String>>,
    /// Only cases whose name, as --list has it, contains this
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Samples of each case and side
    #[arg(long, value_name = "N", default_value = "11", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub samples: u16,
    /// Seconds for the samples of one case and side; after three, a side that has used them up takes no more
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub budget: u32,
    /// Keep the record in this file; it is written anew after each case
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write tables for a document to this file
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Print the names of the cases (or of the suites), and measure nothing
    #[arg(long)]
    pub list: bool,
}
