//! Why there is no record.

use super::case;
use crate::plan::PlanError;
use warpfold::cuda;

/// Why there is no record. A rung that is wrong is no error: it has a row that says so.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The GPU or its driver.
    #[error(transparent)]
    Cuda(#[from] cuda::Error),
    /// The emulator's plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The library's own reduction.
    #[error(transparent)]
    Library(#[from] warpfold::Error),
    /// A rung that does not exist.
    #[error("there is no rung `{}`; there are {}", .0.escape_debug(), case::names().join(", "))]
    NoSuchRung(String),
    /// An option that would change nothing, or that asks for too much.
    #[error("{option}: {why}")]
    Refused {
        /// As it was given.
        option: String,
        /// And what to do.
        why: String,
    },
    /// Nothing that was asked for is offered.
    #[error("no rung is left to run{}", because(.0))]
    Nothing(Vec<String>),
}

fn because(notes: &[String]) -> String {
    notes.iter().map(|note| format!("\n  {note}")).collect()
}
