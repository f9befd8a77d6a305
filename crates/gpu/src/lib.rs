//! What a GPU does for Warpfold.

pub mod plan;
