//! `cargo xtask house`: checks the structure of the sources. docs/architecture.md states the rules.
//!
//! - Every crate of the workspace stands on a floor, and depends on lower floors only.
//! - The imports between files have no circle.
//! - No file imports through the re-exports of its own crate's `lib.rs`.
//! - A kernel's arguments are never passed by position.
//! - Files are at most 400 lines long, lines at most 120 characters wide.
//!
//! Where the sources do not follow a rule yet, [`DEBTS`] says how many violations are left. More is an error. Fewer is an
//! error, too, until the number is lowered, so that no violation comes back.

mod floors;
mod imports;
mod lines;
mod modules;

use std::path::Path;

use crate::Error;

/// The violations that are still allowed, by rule.
const DEBTS: [Debt; 6] = [
    Debt { rule: Rule::Floors, allowed: 0 },
    Debt { rule: Rule::Circles, allowed: 56 },
    Debt { rule: Rule::Climbs, allowed: 57 },
    Debt { rule: Rule::Positions, allowed: 22 },
    Debt { rule: Rule::LongFiles, allowed: 16 },
    Debt { rule: Rule::WideLines, allowed: 650 },
];

struct Debt {
    rule: Rule,
    allowed: usize,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Dependencies of a crate on a floor that is not below its own, and crates that stand on no floor.
    Floors,
    /// Files that are part of a circle of imports.
    Circles,
    /// Imports from the own crate's root of names that the root only re-exports.
    Climbs,
    /// Kernel arguments by position.
    Positions,
    LongFiles,
    WideLines,
}

impl Rule {
    /// What is counted, in words.
    fn name(self) -> &'static str {
        match self {
            Self::Floors => "dependencies on a floor that is not below",
            Self::Circles => "files in circles of imports",
            Self::Climbs => "imports through the re-exports of lib.rs",
            Self::Positions => "kernel arguments by position",
            Self::LongFiles => "files over 400 lines",
            Self::WideLines => "lines over 120 characters",
        }
    }
}

/// A violation of a rule.
#[derive(Debug)]
struct Finding {
    rule: Rule,
    /// Where, and what is wrong there.
    text: String,
}

/// Checks the sources. `list` prints every violation, not only those of the rules whose count has changed.
pub fn check(list: bool) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    let members = floors::members(root)?;
    let mut findings = floors::check(&members);
    findings.extend(imports::check(root, &members)?);
    findings.extend(lines::check(root)?);
    let mut advice = Vec::new();
    for Debt { rule, allowed } in DEBTS {
        let found: Vec<&Finding> = findings.iter().filter(|finding| finding.rule == rule).collect();
        if list || found.len() > allowed {
            found.iter().for_each(|finding| println!("{}", finding.text));
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
