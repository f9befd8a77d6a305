//! The ladder: what a run of it found, and every form in which that is shown.
//!
//! A [`record::Record`] is what one run on one device found. [`render`] turns it into a table, Markdown, CSV, a chart or
//! the learner's page; [`docs`] turns committed records into `docs/ladder.md`.

pub mod counts;
pub mod docs;
pub mod record;
pub mod render;
