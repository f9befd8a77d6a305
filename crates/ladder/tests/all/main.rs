//! The forms of a record.

mod docs;
mod fake;
#[path = "../../examples/ladder_docs/generate.rs"]
mod generate;
mod page;
mod text;
