//! `python -m warpfold`: the command.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, of which the first is the program's name. Returns the status to exit with.
///
/// It belongs to `python -m warpfold`: the command takes over signals, and prints.
#[pyfunction]
fn command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| warpfold_cli::command(args))
}

/// Adds the function of this file.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(command, module)?)
}
