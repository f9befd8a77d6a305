//! What the checks count, and what they find.

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Dependencies of a crate on a floor that is not below its own, and crates that stand on no floor.
    Floors,
    /// Files that are part of a circle of imports.
    Circles,
    /// Imports from the own crate's root of names that the root only re-exports.
    Climbs,
    /// Kernel arguments by position.
    Positions,
    /// Pairs of places with the same code.
    Duplicates,
    /// The same between rungs of the ladder.
    Rungs,
    LongFiles,
    WideLines,
}

impl Rule {
    /// What is counted, in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Floors => "dependencies on a floor that is not below",
            Self::Circles => "files in circles of imports",
            Self::Climbs => "imports through the re-exports of lib.rs",
            Self::Positions => "kernel arguments by position",
            Self::Duplicates => "pairs of duplicates",
            Self::Rungs => "pairs of duplicates between rungs",
            Self::LongFiles => "files over 400 lines",
            Self::WideLines => "lines over 120 characters",
        }
    }
}

/// A violation of a rule.
#[derive(Debug)]
pub struct Finding {
    pub rule: Rule,
    /// Where, and what is wrong there.
    pub text: String,
}
