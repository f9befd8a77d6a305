//! `cargo xtask docs`: the generated pages. Examples of the crates write their own pages, so that xtask does not depend
//! on these crates.

use crate::bundle::build;
use crate::error::Error;
use std::path::Path;
use std::process::Command;

/// The task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Write,
    /// Fail unless they are what would be written.
    Check,
    /// The same, and fail if a record was made from other sources than there are.
    Strict,
}

/// The examples that write the pages, and their argument for [`Mode::Strict`]. The ladder's page has no records that
/// could be stale.
const GENERATORS: [(&str, &str); 2] = [("ladder_docs", "--check"), ("bench_docs", "--strict")];

/// Runs the generators. They are built as `cargo test --workspace --all-features` builds them: after it, nothing is
/// built anew.
pub fn run(mode: Mode) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask lies in no folder")?;
    let programs = build(root, &["build", "--quiet", "--workspace", "--all-features", "--examples"])?;
    let mut all_well = true;
    for (name, strict) in GENERATORS {
        let program = programs.get(name).ok_or_else(|| format!("there is no example {name}"))?;
        let word = match mode {
            Mode::Write => None,
            Mode::Check => Some("--check"),
            Mode::Strict => Some(strict),
        };
        all_well &= Command::new(program).current_dir(root).args(word).status()?.success();
    }
    if all_well { Ok(()) } else { Err("the docs were not written, are not up to date, or have stale records".into()) }
}
