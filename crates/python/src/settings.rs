//! What holds for the process: threads and devices.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::pool;

/// Sets how many threads large arrays are reduced on.
///
/// The environment variable ``WARPFOLD_NUM_THREADS`` sets it, too. By default there is a thread for each processor. No
/// result depends on it.
///
/// Parameters
/// ----------
/// threads : int
///     At least 1.
///
/// Raises
/// ------
/// ValueError
///     For fewer than 1.
///
/// Examples
/// --------
/// >>> import warpfold as wf
/// >>> before = wf.get_num_threads()
/// >>> wf.set_num_threads(2)
/// >>> wf.get_num_threads()
/// 2
/// >>> wf.set_num_threads(before)
#[pyfunction]
#[pyo3(signature = (threads, /))]
fn set_num_threads(threads: i64) -> PyResult<()> {
    match usize::try_from(threads) {
        Ok(threads @ 1..=MOST) => pool::set_threads(threads),
        _ => return Err(PyValueError::new_err(format!("threads must be from 1 to {MOST}, not {threads}"))),
    }
    Ok(())
}

/// The most threads that can be asked for: rayon's own limit is far beyond what pays.
const MOST: usize = 1024;

/// How many threads large arrays are reduced on.
///
/// Returns
/// -------
/// int
///
/// Examples
/// --------
/// >>> import warpfold as wf
/// >>> wf.get_num_threads() >= 1
/// True
#[pyfunction]
fn get_num_threads() -> usize {
    pool::threads()
}

/// Adds the functions of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(get_num_threads, module)?)
}
