//! What changed from one source to the next, line by line.

use super::code;
use similar::{ChangeTag, TextDiff};

/// The code below the opening comment, which always differs and is shown apart.
fn body(source: &str) -> &str {
    let comment: usize = source.split_inclusive('\n').take_while(|l| l.starts_with("//!")).map(str::len).sum();
    source[comment..].trim_start()
}

/// Lines removed and added, and the diff with two lines of context.
pub fn diff(label: &str, before: &str, after: &str) -> (usize, usize, String) {
    let (before, after) = (body(before), body(after));
    let lines = TextDiff::from_lines(before, after);
    let (mut removed, mut added) = (0, 0);
    let (mut out, mut longest) = (String::new(), 0);
    for (i, group) in lines.grouped_ops(2).iter().enumerate() {
        if i > 0 {
            out += "<span class=\"gap\">⋯\n</span>";
        }
        for change in group.iter().flat_map(|op| lines.iter_changes(op)) {
            let text = change.value().trim_end_matches('\n');
            longest = longest.max(text.chars().count());
            let text = code::line(text);
            match change.tag() {
                ChangeTag::Equal => out += &format!("<span class=\"ln\">{text}\n</span>"),
                ChangeTag::Delete => {
                    removed += 1;
                    out += &format!("<del class=\"ln\">{text}\n</del>");
                }
                ChangeTag::Insert => {
                    added += 1;
                    out += &format!("<ins class=\"ln\">{text}\n</ins>");
                }
            }
        }
    }
    (removed, added, code::clip("code diff", label, longest, &out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diff_of_a1_and_a2_is_the_loop() {
        let source = |name| warpfold_kernels::ladder::rung(name).expect("a rung").source;
        let (removed, added, html) = diff("a2", source("a1"), source("a2"));
        assert_eq!((removed, added), (6, 5));
        assert!(html.contains("<del class=\"ln\">") && !html.contains("//!"));
        assert_eq!(diff("a1", source("a1"), source("a1")).0, 0);
    }
}
