//! `--threads`, for commands whose work is not all one reduction.

use warpfold::DeviceName;

use crate::error::Failure;

/// Lets so many threads work in this process; all cores if not given. To be called once, before any work.
pub fn limit(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads.map(usize::from) else { return Ok(()) };
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    built.map_err(|why| warpfold::Error::Threads { threads, why: why.to_string() }.into())
}

/// Refuses a number of threads for a GPU, which has no say in it.
pub fn check(threads: Option<u16>, device: DeviceName) -> Result<(), Failure> {
    match (threads, device) {
        (Some(_), DeviceName::Cuda(_)) => Err(Failure::Usage(format!(
            "--threads is for a CPU, and --device {device} is a GPU: leave one of them out"
        ))),
        _ => Ok(()),
    }
}
