//! What is made of a record.

#[path = "../../examples/emulate/record.rs"]
mod emulated;
mod fake;
mod page;
mod text;
