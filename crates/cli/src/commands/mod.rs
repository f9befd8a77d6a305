//! The subcommands.

pub mod bench;
pub mod describe;
pub mod devices;
pub mod explain;
pub mod generate;
pub mod group;
pub mod histogram;
pub mod kmeans;
pub mod ladder;
pub mod reduce;
pub mod rows;
pub mod segments;
pub mod unique;

mod keyed;
mod threads;

use std::io::{BufWriter, StdoutLock, Write};

use crate::error::Failure;
use crate::stdio;

/// Writes to standard output, and flushes it.
fn print(f: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> std::io::Result<()>) -> Result<(), Failure> {
    let mut to = BufWriter::new(std::io::stdout().lock());
    stdio::check_output().and_then(|()| f(&mut to)).and_then(|()| to.flush()).map_err(Failure::stdout)
}
