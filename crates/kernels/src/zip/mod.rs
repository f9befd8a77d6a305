//! Two arrays in front of a reduction: losses of elements and their targets, dot products, cosines; and gradients.
//!
//! Idea: the second array lies where a mask would, so the shape of rows serves both: a warp reads a tile of each, makes
//! a term of each pair of elements, and from there on it is a sum. What lies otherwise, or has short rows, becomes an
//! array of terms first, which the library's own kernels reduce. Bottleneck: memory; of exponentials and logarithms,
//! instructions.
//!
//! - [`term`]: what becomes of two elements. [`fold`]: what becomes of terms. [`rows`]: tiles of both arrays. [`each`]:
//!   every term, or every derivative, by itself. [`table`]: the kernels' names.

pub mod each;
pub mod fold;
pub mod rows;
pub mod table;
pub mod term;
