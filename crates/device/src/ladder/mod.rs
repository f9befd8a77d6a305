//! The ladder: the classic reduction kernels, each one step better than the last.
//!
//! One file per rung; each opens with its idea, its delta from the rung before, and the bottleneck that it leaves. Where
//! the published kernel was wrong, the rung keeps the idea and is right; [`published`] keeps the wrong form.
//!
//! `Rung` (host) describes them, and `Plan` says what to launch; emulator and GPU carry out the same plan.

pub mod a;
pub mod b;
pub mod c;
pub mod published;
pub mod read;

#[cfg(any(target_arch = "nvptx64", feature = "emulator"))]
#[macro_use]
mod entries;
#[cfg(all(not(target_arch = "nvptx64"), feature = "emulator"))]
mod emulate;
#[cfg(all(not(target_arch = "nvptx64"), any(feature = "emulator", feature = "ptx")))]
mod made_of;
#[cfg(all(not(target_arch = "nvptx64"), any(feature = "emulator", feature = "ptx")))]
mod plan;
#[cfg(all(not(target_arch = "nvptx64"), any(feature = "emulator", feature = "ptx")))]
mod rungs;

#[cfg(all(not(target_arch = "nvptx64"), feature = "emulator"))]
pub use emulate::{Centers, Ran, emulate_centroids, emulate_probe, emulate_reduce};
#[cfg(target_arch = "nvptx64")]
pub(crate) use entries::for_each_entry;
#[cfg(all(not(target_arch = "nvptx64"), any(feature = "emulator", feature = "ptx")))]
pub use made_of::{Part, made_of};
#[cfg(all(not(target_arch = "nvptx64"), any(feature = "emulator", feature = "ptx")))]
pub use plan::{
    Arg, Buffer, Launch, Plan, PlanError, Sizes, Step, Tuning, plan_centroids, plan_probe, plan_read, plan_reduce,
    probe_input,
};
#[cfg(all(not(target_arch = "nvptx64"), any(feature = "emulator", feature = "ptx")))]
pub use rungs::{Family, Form, Grid, PRESETS, Preset, Published, Rung, rung, rungs};

use crate::simt::{Atom, Word};

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
