//! `cargo xtask docs`: the generated pages. The crates that they are about make them, on which the chores with PTX must not
//! depend.

use crate::Error;
use crate::bundle::build;
use std::path::Path;
use std::process::Command;

/// The examples that write them.
const GENERATORS: [&str; 2] = ["ladder_docs", "bench_docs"];

/// Runs the generators. They are built as `cargo test --workspace --all-features` builds them: after it, nothing is built anew.
pub fn run(arguments: &[&str]) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask lies in no folder")?;
    let programs = build(root, &["build", "--quiet", "--workspace", "--all-features", "--examples"])?;
    let mut all_well = true;
    for name in GENERATORS {
        let program = programs.get(name).ok_or_else(|| format!("there is no example {name}"))?;
        all_well &= Command::new(program).current_dir(root).args(arguments).status()?.success();
    }
    if all_well { Ok(()) } else { Err("the docs were not written, or are not up to date".into()) }
}
