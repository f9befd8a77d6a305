//! Reductions of segments.

pub mod rows;
pub mod segmented;
