//! The ladder: running it, what a run of it found, and every form in which that is shown.
//!
//! [`run`] carries out rungs on a GPU or in the emulator, checks every result and times it. A [`record::Record`] is
//! what one run on one device found. [`render`] turns it into a table, Markdown, CSV, a chart or the learner's page;
//! [`docs`] turns committed records into `docs/ladder.md`.

pub mod counts;
pub mod docs;
pub mod record;
pub mod render;
pub mod run;
