//! What can be seen in the text alone: long files, wide lines, kernel arguments by position.

use std::path::{Path, PathBuf};

use super::finding::{Finding, Rule};
use crate::error::Error;

/// The most lines of a file.
const LINES: usize = 400;
/// The most characters of a line.
const COLUMNS: usize = 120;
/// A launch that takes its arguments by position.
const LAUNCH: &str = "queue_at(";

/// Reads one file.
pub fn check(name: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let count = text.lines().count();
    if count > LINES {
        found.push(Finding { rule: Rule::LongFiles, text: format!("{name}: {count} lines") });
    }
    for (at, line) in text.lines().enumerate() {
        let mut add = |rule, what: &str| found.push(Finding { rule, text: format!("{name}:{}: {what}", at + 1) });
        if line.chars().count() > COLUMNS {
            add(Rule::WideLines, "wide");
        }
        // Neither the function itself, nor words about it.
        let code = line.split("//").next().unwrap_or_default();
        if code.contains(LAUNCH) && !code.contains("fn ") && !code.contains('"') {
            add(Rule::Positions, "kernel arguments by position");
        }
    }
    found
}

/// All Rust sources below a folder, sorted. Build outputs and hidden folders are left out.
pub fn sources(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let (mut folders, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            let left_out = name.to_string_lossy().starts_with('.') || name == "target";
            if entry.file_type()?.is_dir() && !left_out {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
