//! `cargo xtask docs`: the generated pages. The crates that they are about make them, on which the chores with PTX must not
//! depend.

use crate::Error;
use std::process::Command;

/// Runs the generators.
pub fn run(arguments: &[&str]) -> Result<(), Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut all_well = true;
    for package in ["--package=warpfold-ladder", "--package=warpfold-bench"] {
        let mut command = Command::new(&cargo);
        let status = command.args(["run", "--quiet", package, "--example=docs", "--"]).args(arguments).status()?;
        all_well &= status.success();
    }
    if all_well { Ok(()) } else { Err("the docs were not written, or are not up to date".into()) }
}
