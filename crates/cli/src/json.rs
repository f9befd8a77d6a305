//! Results as JSON. Numbers have the digits that distinguish them in their own dtype, as printed numbers do.

use std::io::{self, Write};

use warpfold::{Scalar, Values};

use crate::print;

/// A text in quotes.
pub fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A list of lengths or axes.
pub fn list(numbers: &[usize]) -> String {
    format!("{numbers:?}")
}

/// A number, a bool, or one of the strings "nan", "inf", "-inf".
pub fn number(x: Scalar) -> String {
    let text = x.to_string();
    if text.ends_with("nan") || text.ends_with("inf") { format!("\"{text}\"") } else { text }
}

/// A bit pattern, as a string.
pub fn bits(x: Scalar) -> String {
    format!("\"{}\"", print::bits(x))
}

/// An array as nested lists; a scalar if it has no axes.
pub fn nested(to: &mut dyn Write, shape: &[usize], values: &Values, element: fn(Scalar) -> String) -> io::Result<()> {
    nest(to, shape, &mut 0, values, element)
}

fn nest(
    to: &mut dyn Write,
    shape: &[usize],
    at: &mut usize,
    values: &Values,
    element: fn(Scalar) -> String,
) -> io::Result<()> {
    let Some((&len, inner)) = shape.split_first() else {
        let text = element(values.get(*at));
        *at += 1;
        return to.write_all(text.as_bytes());
    };
    to.write_all(b"[")?;
    for i in 0..len {
        if i > 0 {
            to.write_all(b", ")?;
        }
        nest(to, inner, at, values, element)?;
    }
    to.write_all(b"]")
}
