//! Syntax colours for Rust source, so that the page needs no script.

use super::super::markup::escape;

const KEYWORDS: [&str; 24] = [
    "as", "break", "const", "continue", "else", "enum", "false", "fn", "for", "if", "impl", "in", "let", "loop",
    "match", "mod", "mut", "pub", "return", "self", "struct", "true", "use", "while",
];

/// One line of source as HTML. In the kernels, only comments span lines, and each of their lines starts with slashes.
pub fn line(source: &str) -> String {
    let mut out = String::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (class, length) = token(rest, first);
        let (word, after) = rest.split_at(length);
        let word = escape(word);
        out += &if class.is_empty() { word } else { format!("<i class=\"{class}\">{word}</i>") };
        rest = after;
    }
    out
}

/// The class and length of the token at the start of `rest`.
fn token(rest: &str, first: char) -> (&'static str, usize) {
    let run = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
    let word: fn(char) -> bool = |c| c.is_alphanumeric() || c == '_';
    if rest.starts_with("//") {
        return ("c", rest.len());
    }
    if first == '"' {
        return ("s", rest[1..].find('"').map_or(rest.len(), |end| end + 2));
    }
    if first == '\'' {
        let name = rest[1..].find(|c| !word(c)).map_or(rest.len(), |end| end + 1);
        return if rest[name..].starts_with('\'') { ("s", name + 1) } else { ("t", name) };
    }
    if first.is_ascii_digit() {
        // The dots of a range such as 0..4 are not part of the number.
        let end = run(word);
        let fraction = rest[end..].starts_with('.') && rest[end + 1..].starts_with(|c: char| c.is_ascii_digit());
        let tail = if fraction { rest[end + 1..].find(|c| !word(c)).map_or(rest.len() - end, |n| n + 1) } else { 0 };
        return ("n", end + tail);
    }
    if word(first) {
        let end = run(word);
        let name = &rest[..end];
        let class = if KEYWORDS.contains(&name) {
            "k"
        } else if first.is_uppercase() || ["u8", "u32", "u64", "usize", "i32", "f32", "f64", "bool"].contains(&name) {
            "t"
        } else if rest[end..].starts_with(['(', '!']) || rest[end..].starts_with("::<") {
            "f"
        } else {
            ""
        };
        return (class, end);
    }
    ("", rest.find(|c: char| word(c) || c == '"' || c == '\'' || c == '/').unwrap_or(rest.len()).max(first.len_utf8()))
}

/// Code that scrolls by itself where its lines are longer than the page is wide, with a cue that says so.
pub fn clip(class: &str, label: &str, longest: usize, lines: &str) -> String {
    format!(
        "<div class=\"clip\"><p class=\"cue {CUE}{}\" aria-hidden=\"true\">long lines: scroll sideways →</p>\
         <pre class=\"{class}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><code>{lines}</code></pre></div>",
        half_rems(longest),
        escape(label)
    )
}

/// The prefix of a cue's class, followed by the width in half rems.
const CUE: &str = "cue-";

/// The width of a listing beside its lines: the line numbers, and the margin.
const GUTTER: f64 = 4.0;
/// The width of a character of a listing in common fonts.
const CHARACTER: f64 = 0.82 * 0.602;

/// The width of a listing with lines of this length, in half rems.
fn half_rems(longest: usize) -> usize {
    (2.0 * (longest as f64 * CHARACTER + GUTTER)).ceil() as usize
}

/// The rules that show each cue of `page` where the listing is wider than its place. A style cannot measure text, so
/// each width that occurs has a rule.
pub fn cues(page: &str) -> String {
    let mut widths: Vec<usize> = page
        .split(&format!("<p class=\"cue {CUE}"))
        .skip(1)
        .filter_map(|rest| rest.split('"').next()?.parse().ok())
        .collect();
    widths.sort_unstable();
    widths.dedup();
    let rule =
        |n: &usize| format!("@container (max-width: {}rem) {{ .{CUE}{n} {{ display: block; }} }}\n", *n as f64 / 2.0);
    widths.iter().map(rule).collect()
}

/// The length of the longest line in characters.
pub fn longest<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    lines.map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
}

/// A text, its lines numbered from `first`; `marked` lines stand out.
pub fn listing(label: &str, source: &str, first: usize, marked: &[usize]) -> String {
    let mut out = String::new();
    for (i, text) in source.lines().enumerate() {
        let number = first + i;
        let content = line(text);
        out += &if marked.contains(&number) {
            format!("<mark class=\"ln\" data-n=\"{number}\">{content}\n</mark>")
        } else {
            format!("<span class=\"ln\" data-n=\"{number}\">{content}\n</span>")
        };
    }
    clip("code", label, longest(source.lines()), &out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader sees: the text without tags.
    fn seen(html: &str) -> String {
        let mut out = String::new();
        for part in html.split('<') {
            out += part.split_once('>').map_or(part, |(_, text)| text);
        }
        out.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&")
    }

    #[test]
    fn colours_change_no_character_of_any_rung() {
        for rung in warpfold_kernels::ladder::rungs() {
            for text in rung.source.lines() {
                assert_eq!(seen(&line(text)), text, "{}", rung.name);
            }
        }
    }

    #[test]
    fn tokens_are_told_apart() {
        let html = line("let x: Pack<'a, f32> = f(0..2, 1.5, \"s\"); // x < y");
        assert!(
            html.starts_with("<i class=\"k\">let</i> x: <i class=\"t\">Pack</i>&lt;<i class=\"t\">&#39;a</i>"),
            "{html}"
        );
        assert!(
            html.contains("<i class=\"f\">f</i>(<i class=\"n\">0</i>..<i class=\"n\">2</i>, <i class=\"n\">1.5</i>")
        );
        assert!(html.ends_with("<i class=\"c\">// x &lt; y</i>"));
    }
}
