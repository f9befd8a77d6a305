//! The ladder: the classic reduction kernels, each one step better than the last.
//!
//! One file per rung; each opens with its idea, its delta from the rung before, and the bottleneck that it leaves.
//! Where the published kernel was wrong, the rung keeps the idea and is right; [`published`] keeps the wrong form.
//!
//! `Rung` (host) describes them. The ladder's own crate plans, runs and shows them.

pub mod a;
pub mod b;
pub mod c;
pub mod published;
pub mod read;

#[macro_use]
mod table;
#[cfg(not(target_arch = "nvptx64"))]
mod made_of;
#[cfg(not(target_arch = "nvptx64"))]
mod rungs;

#[cfg(not(target_arch = "nvptx64"))]
pub use made_of::{Part, made_of};
#[cfg(not(target_arch = "nvptx64"))]
pub use rungs::{Family, Form, Grid, PRESETS, Preset, Published, Rung, rung, rungs};

use warpfold_simt::{Atom, Word};

/// The element types of families A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// Single precision.
    F32,
    /// 32-bit integers, wrapping.
    I32,
}

/// What families A and B sum.
pub trait Element: Word + Atom {
    /// Changes nothing when added.
    const ZERO: Self;
    /// Its name as data.
    const DTYPE: DType;
}
impl Element for f32 {
    const ZERO: f32 = -0.0;
    const DTYPE: DType = DType::F32;
}
impl Element for i32 {
    const ZERO: i32 = 0;
    const DTYPE: DType = DType::I32;
}
