//! The error of all chores.

/// What went wrong, in words for the person at the terminal.
pub type Error = Box<dyn std::error::Error>;
