//! The Python package of Warpfold: this is the module `warpfold._native`.
//!
//! - `functions`: the reductions as functions of Python, and `reduce`, which all of them call.
//! - `input`, `numpy`, `dlpack`: arrays of any library as memory, and results as arrays of that library.
//! - `options`, `error`: arguments as options, errors as exceptions.
//! - `pool`: threads, the interpreter's lock, signals, panics.
//!
//! What needs no speed is Python: `python/warpfold`.

mod command;
mod dlpack;
mod error;
mod functions;
mod input;
mod numpy;
mod options;
mod pool;
mod reduce;
mod settings;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add_class::<dlpack::Exported>()?;
    functions::add(module)?;
    command::add(module)?;
    settings::add(module)
}
