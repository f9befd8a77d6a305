//! Family B: the textbook's ladder, from global memory in place to coarsened segments.

pub mod b0;
pub mod b1;
pub mod b2;
pub mod b3;
pub mod b4;
