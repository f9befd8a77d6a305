//! What is made of a record.

mod docs;
mod fake;
#[path = "../../examples/docs/generate.rs"]
mod generate;
mod page;
mod text;
