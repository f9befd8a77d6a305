//! One record, many forms. Every function here is pure: a record in, text out.

mod csv;
pub mod figures;
mod group;
mod html;
mod markdown;
mod markup;
pub(crate) mod number;
pub mod question;
pub mod sources;
mod svg;
mod table;

pub use csv::csv;
pub use group::{Group, groups};
pub use html::html;
pub use markdown::{markdown, markdown_counters, markdown_times};
pub use svg::svg;
pub use table::table;
