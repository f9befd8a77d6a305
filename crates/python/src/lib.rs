//! The Python package of Warpfold: this is the module `warpfold._native`.
//!
//! - `functions`: the reductions as functions of Python, and `reduce`, which all of them call.
//! - `input`, `numpy`, `dlpack`: arrays of any library as memory, and results as arrays of that library.
//! - `gpu`: arrays on a GPU, and results there.
//! - `rows`, `keys`, `kmeans`, `spans`, `describe`, `command`: the other functions and classes.
//! - `options`, `error`: arguments as options, errors as exceptions.
//! - `pool`: threads, the interpreter's lock, signals, panics.
//!
//! What needs no speed is Python: `python/warpfold`.

mod command;
mod describe;
mod dlpack;
mod error;
mod functions;
mod gpu;
mod input;
mod keys;
mod kmeans;
mod numpy;
mod options;
mod pool;
mod reduce;
mod rows;
mod settings;
mod spans;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add_class::<dlpack::Exported>()?;
    functions::add(module)?;
    rows::add(module)?;
    keys::add(module)?;
    kmeans::add(module)?;
    describe::add(module)?;
    module.add_class::<spans::Spans>()?;
    module.add_class::<spans::Stream>()?;
    command::add(module)?;
    settings::add(module)
}
