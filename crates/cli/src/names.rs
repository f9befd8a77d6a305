//! Names of files, and texts of archives and arguments, for messages. Characters that would move the cursor, change
//! colours or break the line are escaped.

use std::ffi::OsStr;
use std::fmt::Write;

/// A name as messages show it. Bytes that are not text become `\xff`.
pub fn shown(name: impl AsRef<OsStr>) -> String {
    let mut text = String::new();
    for chunk in name.as_ref().as_encoded_bytes().utf8_chunks() {
        text.push_str(&escaped(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// A text without characters that control a terminal.
pub fn escaped(text: &str) -> String {
    escape(text, "")
}

/// The same for a message of several lines.
pub fn escaped_lines(text: &str) -> String {
    escape(text, "\n")
}

fn escape(text: &str, except: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        // The others change the direction of writing.
        let controls = c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if controls && !except.contains(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_a_terminal_is_escaped_and_nothing_else() {
        assert_eq!(shown("größe 1\\2.npy"), "größe 1\\2.npy");
        assert_eq!(shown("a\x1b[2Jb\nc\td\u{202e}e\u{9b}f"), "a\\u{1b}[2Jb\\nc\\td\\u{202e}e\\u{9b}f");
        assert_eq!(escaped_lines("a\nb\rc"), "a\nb\\rc");
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_text_are_shown() {
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(shown(OsStr::from_bytes(b"a\xffb\xc3(")), "a\\xffb\\xc3(");
    }
}
