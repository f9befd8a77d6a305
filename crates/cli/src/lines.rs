//! Lines that fit a terminal.

/// The width of messages.
pub const NARROW: usize = 80;
/// The width of results.
pub const WIDE: usize = 100;

/// `text` in lines of at most `width` columns. The first line has `taken` columns less; the others are indented by
/// `indent`. Longer words stay whole, and line feeds of the text are kept.
pub fn wrapped(text: &str, width: usize, taken: usize, indent: usize) -> String {
    let (mut out, mut column) = (String::new(), taken);
    for line in text.lines() {
        for (i, word) in line.split_whitespace().enumerate() {
            let length = word.chars().count();
            if i > 0 && column + 1 + length <= width {
                out.push(' ');
                column += 1;
            } else if !out.is_empty() {
                out.push('\n');
                out += &" ".repeat(indent);
                column = indent;
            }
            out += word;
            column += length;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_no_word_is_lost() {
        let long = "left out: ".to_owned() + &"c3_as_published, ".repeat(20) + "µ not offered";
        for text in [&long, "short", "", "two\nlines"] {
            let lines = wrapped(text, NARROW, 7, 2);
            let columns = |(i, line): (usize, &str)| line.chars().count() + if i == 0 { 7 } else { 0 };
            assert!(lines.lines().enumerate().map(columns).all(|columns| columns <= NARROW), "{lines}");
            assert_eq!(lines.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
        }
        assert_eq!(wrapped("short", NARROW, 0, 2), "short");
        assert_eq!(wrapped("two\nlines", NARROW, 0, 2), "two\n  lines");
        assert!(wrapped(&long, NARROW, 0, 2).lines().count() > 2);
    }
}
