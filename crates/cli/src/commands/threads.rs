//! `--threads`, for commands that do more than one reduction.

use warpfold::DeviceName;

use crate::error::Failure;

/// Sets the number of threads of this process; all cores if not given. Must be called once, before any work.
pub fn limit(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads.map(usize::from) else { return Ok(()) };
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    built.map_err(|why| warpfold::Error::Threads { threads, why: why.to_string() }.into())
}

/// Refuses a number of threads for a GPU, where it has no effect.
pub fn check(threads: Option<u16>, device: DeviceName) -> Result<(), Failure> {
    match (threads, device) {
        (Some(_), DeviceName::Cuda(_)) => Err(Failure::Usage(format!(
            "--threads is for a CPU, and --device {device} is a GPU: leave one of them out"
        ))),
        _ => Ok(()),
    }
}
