//! Segments: the elements of each output follow those of the one before, and an array of offsets says where they end.
//!
//! Idea: every warp takes an equal share of bytes, of values and of what goes with a segment; it searches the offsets
//! for where that begins, and reads them 256 at a time, a window. Whatever mix of lengths there is, none waits for
//! another. A lane takes 32 bytes straight from memory, so one has a short segment to itself (`alone`); up to 4 KiB, 2
//! to 32 lanes share one (`together`). Where no segment has more than one element, there is no tree (`singles`). Longer
//! ones are listed in stretches for a second launch ([`stretches`]), and a third, of the same kernel, reduces their
//! parts. Bottleneck: memory; for segments of a few elements, the instructions that find, finish and write them.

mod alone;
pub mod call;
pub mod kernel;
mod offsets;
mod singles;
mod stretches;
mod together;
mod work;

pub use offsets::BAD;
pub use stretches::{Room, stretches};
