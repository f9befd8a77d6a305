//! Reductions of arrays on a device, in one call and prepared.

pub mod custom;
pub mod describe;
pub mod explain;
pub(crate) mod layout;
pub mod once;
pub mod reduction;
mod work;
