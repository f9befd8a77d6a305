//! The learner's page: one file, no script, nothing fetched.

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

/// The same, with `code` where the text has backquotes, and powers raised.
fn prose(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        let part = escape(part);
        out += &if i % 2 == 1 { format!("<code>{part}</code>") } else { raise(&part) };
    }
    out
}

/// `2^25` as it is written by hand.
fn raise(text: &str) -> String {
    let mut parts = text.split('^');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len()));
        out += &if digits.is_empty() { format!("^{rest}") } else { format!("<sup>{digits}</sup>{rest}") };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_code_and_powers_and_nothing_of_its_own_markup() {
        assert_eq!(prose("a <b> `x^2` & 2^25 f32"), "a &lt;b&gt; <code>x^2</code> &amp; 2<sup>25</sup> f32");
        assert_eq!(prose("x^y"), "x^y");
    }
}
