//! The library against its contract.

mod bits;
mod laws;
mod reference;
