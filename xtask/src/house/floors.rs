//! The floors: which crate may depend on which.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::finding::{Finding, Rule};
use crate::error::Error;

/// The floors, from below. A crate depends on crates of the floors before its own.
///
/// A name that is no member of the workspace does no harm. A member that has no place here is an error.
const FLOORS: &[&[&str]] = &[
    &["warpfold-core"],
    &["warpfold-array"],
    &["warpfold-cpu", "warpfold-simt"],
    &["warpfold-kernels"],
    &["warpfold-gpu"],
    &["warpfold-cuda", "warpfold-emulator"],
    &["warpfold"],
    &["warpfold-ladder"],
    &["warpfold-bench"],
    &["warpfold-cli"],
    &["warpfold-python"],
];

/// Crates beside the floors: tools, examples, tests. They may depend on every crate, and no crate of a floor on them.
const BESIDE: &[&str] = &["mat2", "warpfold-emulated", "warpfold-hot", "warpfold-ptx", "warpfold-testing", "xtask"];

/// A crate of the workspace.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    /// The root files of its library and its programs.
    pub roots: Vec<Root>,
    /// The crates of the workspace that it needs, other than for its tests.
    pub dependencies: Vec<String>,
}

/// The root file of a library or a program.
#[derive(Debug)]
pub struct Root {
    /// The library's name in paths. Programs have none.
    pub library: Option<String>,
    pub file: PathBuf,
}

/// The workspace's crates, as cargo reads their manifests.
pub fn members(root: &Path) -> Result<Vec<Member>, Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    let out = Command::new(cargo).current_dir(root).args(words).output()?;
    if !out.status.success() {
        return Err(format!("`cargo metadata` failed: {}", String::from_utf8_lossy(&out.stderr)).into());
    }
    let value: Value = serde_json::from_slice(&out.stdout)?;
    Ok(list(&value["packages"]).map(member).collect())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn member(package: &Value) -> Member {
    let roots = list(&package["targets"]).filter_map(|target| {
        let library = list(&target["kind"]).any(|kind| kind == "lib" || kind == "proc-macro" || kind == "cdylib");
        let program = list(&target["kind"]).any(|kind| kind == "bin");
        let name = library.then(|| text(&target["name"]));
        (library || program).then(|| Root { library: name, file: text(&target["src_path"]).into() })
    });
    let needed = |dependency: &&Value| dependency["path"].is_string() && dependency["kind"] != "dev";
    Member {
        name: text(&package["name"]),
        roots: roots.collect(),
        dependencies: list(&package["dependencies"]).filter(needed).map(|it| text(&it["name"])).collect(),
    }
}

/// Dependencies that do not go down, and members without a place.
pub fn check(members: &[Member]) -> Vec<Finding> {
    let floor = |name: &str| FLOORS.iter().position(|crates| crates.contains(&name));
    let mut found = Vec::new();
    for member in members {
        let name = member.name.as_str();
        let Some(own) = floor(name) else {
            if !BESIDE.contains(&name) {
                found.push(format!("{name} stands on no floor: add the crate to xtask/src/house/floors.rs"));
            }
            continue;
        };
        let too_high = |dependency: &&String| floor(dependency).is_none_or(|other| other >= own);
        let dependencies = member.dependencies.iter().filter(too_high);
        found.extend(dependencies.map(|other| format!("{name} depends on {other}, which stands on no lower floor")));
    }
    found.into_iter().map(|text| Finding { rule: Rule::Floors, text }).collect()
}
