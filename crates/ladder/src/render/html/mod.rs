//! The learner's page: one file, no script, nothing fetched.

mod anchor;
mod chart;
mod code;
mod diff;
mod page;
mod production;
mod question;
mod rung;
mod table;
mod words;

use crate::record::Record;

/// The page. It holds its own style and charts, and works without a network.
pub fn html(record: &Record) -> String {
    page::page(record)
}
