//! `cargo xtask docs`: the generated pages. The ladder's crate makes them, which the chores with PTX must not depend on.

use crate::Error;
use std::process::Command;

/// Runs the generator.
pub fn run(arguments: &[&str]) -> Result<(), Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--package=warpfold-ladder", "--example=docs", "--"])
        .args(arguments)
        .status()?;
    if status.success() { Ok(()) } else { Err("the docs were not written, or are not up to date".into()) }
}
