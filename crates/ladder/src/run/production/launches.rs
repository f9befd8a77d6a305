//! What the launches of the library have in common, whatever they compute.

use super::super::error::Error;
use warpfold_device::emulator::{Fault, Faults, Report};

/// What a row says of the launches.
pub struct Shape {
    /// Threads per block of the first launch.
    pub block: u32,
    /// Bytes that are read.
    pub bytes: u64,
    /// How many launches there are.
    pub launches: u32,
}

/// What one launch did, added to what others have.
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
