//! The ladder: running it, and what a run of it found.
//!
//! [`run`] carries out rungs on a GPU or in the emulator, checks every result and times it; the outcome is a
//! [`record::Record`], of which every other form is made.

pub mod counts;
pub mod record;
pub mod run;
