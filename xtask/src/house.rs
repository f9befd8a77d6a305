//! `cargo xtask house`: whether the house stands as docs/architecture.md says. A crate depends on lower floors alone; files import
//! one another without going in a circle; files are short, and lines too.
//!
//! An import is a `use` of an item or a module, outside of tests. Re-exports are followed to the file that defines what they name, and are no
//! imports themselves.

mod modules;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::Error;
use modules::Modules;

/// The floors, from below: a crate depends only on those before it.
const FLOORS: [&str; 9] = [
    "warpfold-core",
    "warpfold-array",
    "warpfold-cpu",
    "warpfold-device",
    "warpfold-ptx",
    "warpfold",
    "warpfold-ladder",
    "warpfold-bench",
    "warpfold-cli",
];

/// Lines of a file, at most.
const LINES: usize = 400;
/// Characters of a line, at most.
const COLUMNS: usize = 120;

/// What is not yet as it should be: how many of each. Fewer is progress, to be written down here; more is an error.
const DEBTS: [(&str, usize); 3] = [("circles of files", 0), ("long files", 0), ("wide lines", 0)];

/// Looks through the sources, and says what is wrong.
pub fn check() -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask lies in no folder")?;
    let mut climbs = Vec::new();
    for (floor, name) in FLOORS.iter().enumerate() {
        let manifest = folder(root, name).join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
        climbs.extend(dependencies(&text).filter(|found| FLOORS[floor..].contains(found)).map(|found| {
            format!("{name} depends on {found}, which is no lower floor")
        }));
    }
    let crates: BTreeMap<String, PathBuf> =
        FLOORS.iter().map(|name| (name.replace('-', "_"), folder(root, name).join("src/lib.rs"))).collect();
    let modules = Modules::read(crates.into_iter().filter(|(_, file)| file.exists()))?;
    let short = |file: &Path| file.strip_prefix(root).unwrap_or(file).display().to_string();
    let graph: DiGraphMap<usize, ()> = modules.imports().into_iter().map(|(from, to)| (from, to, ())).collect();
    let circles = tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1).map(|files| {
        let mut names: Vec<String> = files.into_iter().map(|file| short(modules.file(file))).collect();
        names.sort();
        format!("a circle of {} files: {}", names.len(), names.join(", "))
    });
    let circles: Vec<String> = circles.collect();
    let (mut long, mut wide) = (Vec::new(), Vec::new());
    for file in sources(root)? {
        let text = std::fs::read_to_string(&file)?;
        let lines = text.lines().count();
        if lines > LINES {
            long.push(format!("{} has {lines} lines", short(&file)));
        }
        let too_wide = text.lines().enumerate().filter(|(_, line)| line.chars().count() > COLUMNS);
        wide.extend(too_wide.map(|(at, _)| format!("{}:{} is wide", short(&file), at + 1)));
    }
    climbs.iter().for_each(|climb| println!("{climb}"));
    let mut well = climbs.is_empty();
    for ((what, allowed), found) in DEBTS.into_iter().zip([circles, long, wide]) {
        if found.len() != allowed {
            found.iter().for_each(|line| println!("{line}"));
        }
        println!("{what}: {}, of {allowed}", found.len());
        well &= found.len() == allowed;
    }
    if well { Ok(()) } else { Err("the house is not as xtask/src/house.rs says".into()) }
}

/// Where a crate lies.
fn folder(root: &Path, name: &str) -> PathBuf {
    root.join("crates").join(name.strip_prefix("warpfold-").unwrap_or(name))
}

/// The crates of the project that a manifest names outside of `[dev-dependencies]`.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut counts = true;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            counts = line.contains("dependencies") && !line.contains("dev-dependencies");
        }
        let name = line.split(['=', ' ', '.']).next()?;
        (counts && name.starts_with("warpfold")).then_some(name)
    })
}

/// All Rust sources.
fn sources(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let (mut folders, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            let hidden = name.to_string_lossy().starts_with('.') || name == "target";
            if path.is_dir() && !hidden {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
