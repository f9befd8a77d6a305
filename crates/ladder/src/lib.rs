//! The ladder: teaching kernels planned, run, recorded and shown. The kernels are in `warpfold_kernels::ladder`.
//!
//! [`plan`] says what to launch for a rung: a pure value. [`Program`] carries plans out on a GPU, [`emulate_reduce`]
//! and [`emulate_centroids`] in the emulator. [`run`] runs many rungs, checks every result and times it. A
//! [`record::Record`] is the result of one run on one device. [`render`] turns it into a table, Markdown, CSV, a chart
//! or the learner's page; [`docs`] turns committed records into `docs/ladder.md`.

pub mod counts;
pub mod docs;
mod emulate;
pub mod plan;
mod program;
pub mod record;
pub mod render;
pub mod run;

pub use emulate::{Centers, Ran, emulate_centroids, emulate_probe, emulate_reduce};
pub use plan::{
    Arg, Buffer, Launch, Plan, PlanError, Sizes, Step, Tuning, plan_centroids, plan_probe, plan_read, plan_reduce,
    probe_input,
};
pub use program::{Inputs, Program, Work};
