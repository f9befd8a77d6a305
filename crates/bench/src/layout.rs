//! How arrays lie in memory.

use std::fmt;
use std::str::FromStr;

/// Where the elements lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Densely, the last axis contiguous.
    C,
    /// Densely, the first axis contiguous.
    F,
    /// As C, but so many elements behind an aligned address.
    Offset(usize),
    /// As C, but rows (the last axis) begin so many elements apart.
    Pitch(usize),
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |n: &str| n.parse().map_err(|_| format!("`{n}` in layout `{text}` is not a number of elements"));
        match text.split_once(':') {
            None if text == "c" => Ok(Layout::C),
            None if text == "f" => Ok(Layout::F),
            Some(("offset", n)) => number(n).map(Layout::Offset),
            Some(("pitch", n)) => number(n).map(Layout::Pitch),
            _ => Err(format!("unknown layout `{text}`: give c, f, offset:N or pitch:N (in elements)")),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::C => f.write_str("c"),
            Layout::F => f.write_str("f"),
            Layout::Offset(n) => write!(f, "offset:{n}"),
            Layout::Pitch(n) => write!(f, "pitch:{n}"),
        }
    }
}
