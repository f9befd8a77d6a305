//! The error of a part or a state that does not fit.

use warpfold_array::Error;

/// See the module.
pub fn wrong(why: String) -> Error {
    Error::Spans { why }
}
