//! Reads the name of a reduction, and suggests one where there is none.

use std::str::FromStr;

use crate::error::Error;
use crate::op::Op;

impl FromStr for Op {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self, Error> {
        let name = s.to_ascii_lowercase().replace('_', "-");
        let name = if name == "count" { "count-nonzero".into() } else { name };
        Op::ALL.into_iter().find(|op| op.name() == name).ok_or_else(|| Error::UnknownOp {
            name: s.into(),
            nearest: match name.as_str() {
                "avg" | "average" => Some("mean"),
                "variance" => Some("var"),
                "stdev" | "stddev" => Some("std"),
                "product" => Some("prod"),
                "maximum" => Some("max"),
                "minimum" => Some("min"),
                _ => nearest(&name),
            },
        })
    }
}

/// The name that is fewest changes away, if these are at most a quarter of it, or one.
fn nearest(name: &str) -> Option<&'static str> {
    let near = Op::ALL.map(Op::name).into_iter().min_by_key(|n| distance(n, name))?;
    (distance(near, name) <= (name.len() / 4).max(1)).then_some(near)
}

/// Levenshtein's distance, for one suggestion in an error message.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + (x != y) as usize;
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
