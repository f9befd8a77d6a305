//! Text as markup: escaped, with code and powers.

/// Text escaped for HTML, between tags or in an attribute.
pub fn escape(text: &str) -> String {
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

/// Escaped text, with backquoted parts as `code`, and powers raised.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        let part = escape(part);
        out += &if i % 2 == 1 { format!("<code>{part}</code>") } else { raise(&part) };
    }
    out
}

/// Powers such as `2^25` with a raised exponent.
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
