//! `cargo xtask house`: checks the structure of the sources. docs/architecture.md states the rules.
//!
//! - Every crate of the workspace stands on a floor, and depends on lower floors only.
//! - The imports between files have no circle.
//! - No file imports through the re-exports of its own crate's `lib.rs`.
//! - A kernel's arguments are never passed by position.
//! - Code stands in one place.
//! - Files are at most 400 lines long, lines at most 120 characters wide.
//!
//! Where the sources do not follow a rule yet, [`DEBTS`] says how many violations are left. More is an error. Fewer is
//! an error, too, until the number is lowered, so that no violation comes back.

mod duplicates;
mod finding;
mod floors;
mod imports;
mod lines;
mod modules;

use std::path::Path;

use crate::error::Error;
use duplicates::Sources;
use finding::{Finding, Rule};

/// The violations that are still allowed, by rule.
const DEBTS: [Debt; 8] = [
    Debt { rule: Rule::Floors, allowed: 0 },
    Debt { rule: Rule::Circles, allowed: 0 },
    Debt { rule: Rule::Climbs, allowed: 0 },
    Debt { rule: Rule::Positions, allowed: 0 },
    Debt { rule: Rule::Duplicates, allowed: 56 },
    Debt { rule: Rule::Rungs, allowed: 29 },
    Debt { rule: Rule::LongFiles, allowed: 0 },
    Debt { rule: Rule::WideLines, allowed: 0 },
];

/// The violations that are printed of a rule with too many, without `--list`.
const SHOWN: usize = 30;
/// The rungs as published, which repeat our own by intent.
const PUBLISHED: &str = "/ladder/published/";

struct Debt {
    rule: Rule,
    allowed: usize,
}

/// Checks the sources. `list` prints every violation, not only those of the rules whose count has changed.
pub fn check(list: bool) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    let members = floors::members(root)?;
    let mut findings = floors::check(&members);
    findings.extend(imports::check(root, &members)?);
    let mut code = Sources::default();
    for file in lines::sources(root)? {
        let text = std::fs::read_to_string(&file)?;
        let name = file.strip_prefix(root)?.display().to_string();
        findings.extend(lines::check(&name, &text));
        if !name.contains(PUBLISHED) {
            code.add(&name, &text)?;
        }
    }
    findings.extend(code.check());
    let mut advice = Vec::new();
    for Debt { rule, allowed } in DEBTS {
        let found: Vec<&Finding> = findings.iter().filter(|finding| finding.rule == rule).collect();
        let shown = match list {
            true => found.len(),
            false if found.len() > allowed => found.len().min(SHOWN),
            false => 0,
        };
        found[..shown].iter().for_each(|finding| println!("{}", finding.text));
        if 0 < shown && shown < found.len() {
            println!("and {} more: `cargo xtask house --list`", found.len() - shown);
        }
        println!("{:>5} {}, {allowed} allowed", found.len(), rule.name());
        match found.len() {
            count if count > allowed => advice.push(format!("{}: {count} where {allowed} are allowed", rule.name())),
            count if count < allowed => {
                advice.push(format!("{}: lower the number in xtask/src/house.rs to {count}", rule.name()));
            }
            _ => {}
        }
    }
    if advice.is_empty() { Ok(()) } else { Err(advice.join("\n").into()) }
}

#[cfg(test)]
mod tests;
