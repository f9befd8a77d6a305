//! Common parts of the library's launches.

use super::super::error::Error;
use warpfold_emulator::{Fault, Faults, Report};
use warpfold_simt::Global;

/// The facts about launches in a row.
pub struct Shape {
    /// Threads per block of the first launch.
    pub block: u32,
    /// Bytes that are read.
    pub bytes: u64,
    /// How many launches there are.
    pub launches: u32,
}

/// Adds the report and the faults of a launch to those of the launches before.
pub fn carry_out(
    said: Option<Result<Report, Box<Faults>>>,
    entry: &str,
    report: &mut Report,
    faults: &mut Vec<Fault>,
) -> Result<(), Error> {
    match said {
        Some(Ok(seen)) => report.add(&seen),
        Some(Err(wrong)) => {
            report.add(&wrong.report);
            faults.extend(wrong.faults);
        }
        None => return Err(Error::NoKernel(entry.to_owned())),
    }
    Ok(())
}

/// The address of an array in the emulator's memory.
pub fn at<T>(array: Global<T>) -> u64 {
    array.as_ptr().addr() as u64
}
