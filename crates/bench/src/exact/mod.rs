//! Exact results, computed from the generator in integers, without any array, layout or tree.

pub mod by_key;
pub mod kmeans;
pub mod known;
pub mod sample;
pub mod table;
pub mod walk;
pub mod want;
