//! Family A: the classic ladder, from a literal tree to 16-byte loads.

pub mod a0;
pub mod a1;
pub mod a2;
pub mod a3;
pub mod a4;
pub mod a5;
pub mod a6;
pub mod a7;
pub mod a8;
