//! The learner's page: one file, no script, nothing fetched.

mod chart;
mod code;
mod diff;
mod page;
mod question;
mod rung;
mod table;

use crate::record::Record;

/// The page. It holds its own style and charts, and works without a network.
pub fn html(record: &Record) -> String {
    page::page(record)
}

/// Text as it stands between tags or in an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// The same, with `code` where the text has backquotes.
fn prose(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        let part = escape(part);
        out += &if i % 2 == 1 { format!("<code>{part}</code>") } else { part };
    }
    out
}
