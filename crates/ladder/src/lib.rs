//! The ladder: runs, their records, and every form in which records are shown.
//!
//! [`run`] carries out rungs on a GPU or in the emulator, checks every result and times it. A [`record::Record`] is the
//! result of one run on one device. [`render`] turns it into a table, Markdown, CSV, a chart or the learner's page;
//! [`docs`] turns committed records into `docs/ladder.md`.

pub mod counts;
pub mod docs;
pub mod record;
pub mod render;
pub mod run;
