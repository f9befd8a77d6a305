//! `cargo xtask ptx`: the library's kernels and those of the example, to PTX.

use crate::error::Error;
use crate::{blocks, code, pack};
use std::path::{Path, PathBuf};
use warpfold_ptx::ptxas::{self, Gpus};
use warpfold_ptx::{Crate, Entry, Toolchain, archive, faults};

const AGAIN: &str = "cargo xtask ptx";
/// The variable that says which entries alone are compiled (`is_asked_for` in `crates/kernels/src/kernel.rs`).
const PARTS: &str = "WARPFOLD_ENTRIES";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Where the library's compiled kernels are committed.
fn folder() -> PathBuf {
    root().join("crates/kernels/ptx")
}

/// Where those of the example with a reducer of its own are.
fn example() -> PathBuf {
    root().join("examples/mat2/kernels.ptxz")
}

/// A crate of this workspace. All share one folder, so that `core` is built once.
fn compile(toolchain: &Toolchain, package: &str, features: Option<&str>) -> Result<Vec<Entry>, Error> {
    let this = Crate {
        manifest: root().join("Cargo.toml"),
        package: Some(package.into()),
        features: features.map(str::to_owned),
        target: root().join("target/ptx"),
        locked: true,
    };
    Ok(this.compile(toolchain)?)
}

/// The library's kernels, and the example's.
fn compile_both(toolchain: &Toolchain) -> Result<[Vec<Entry>; 2], Error> {
    Ok([compile(toolchain, "warpfold-kernels", Some("entries"))?, compile(toolchain, "mat2", None)?])
}

/// Compiles and writes; `tune` asks `ptxas` again how many blocks each kernel allows.
pub fn write(tune: bool) -> Result<(), Error> {
    let toolchain = Toolchain::find()?;
    if let Some(parts) = std::env::var(PARTS).ok().filter(|parts| !parts.is_empty()) {
        if tune {
            return Err(format!("{PARTS} names some kernels, and `--tune` is for all: do without one of both").into());
        }
        return write_some(&toolchain, &parts);
    }
    let [mut library, user] = compile_both(&toolchain)?;
    let wrong: Vec<String> = library.iter().chain(&user).flat_map(faults).collect();
    if !wrong.is_empty() {
        return Err(wrong.join("\n").into());
    }
    let blocks = if tune { blocks::tune(&folder(), &library)? } else { blocks::read(&folder())? };
    blocks::apply(&mut library, &blocks);
    let bytes = pack::write(&folder(), &library)?;
    println!("{} entries, {} KiB compressed, by {}", library.len(), bytes / 1024, toolchain.version);
    let (images, bytes) = code::write(&folder(), &library)?;
    println!("{images} of machine code, {} KiB compressed", bytes / 1024);
    let packed = archive::write(&user);
    println!("{} entries of the example, {} KiB compressed", user.len(), packed.len() / 1024);
    std::fs::write(example(), packed)?;
    if !toolchain.is_pinned() {
        println!(
            "note: this is not the version in crates/ptx/ptx-toolchain; put it there before committing the result"
        );
    }
    Ok(())
}

/// Compiles the entries whose names have one of these parts, says what `ptxas` makes of them, and writes them among
/// those that are committed. What they have in common with others may have changed those, too: in the end compile all.
fn write_some(toolchain: &Toolchain, parts: &str) -> Result<(), Error> {
    let parts: Vec<&str> = parts.split(',').filter(|part| !part.is_empty()).collect();
    let is_asked_for = |name: &str| parts.iter().any(|part| name.contains(part));
    let mut some = compile(toolchain, "warpfold-kernels", Some("entries"))?;
    some.retain(|entry| is_asked_for(&entry.name));
    if some.is_empty() {
        return Err(format!("{PARTS}: no kernel's name has one of the parts `{}`", parts.join("`, `")).into());
    }
    let wrong: Vec<String> = some.iter().flat_map(faults).collect();
    wrong.iter().for_each(|fault| println!("{fault}"));
    blocks::apply(&mut some, &blocks::read(&folder())?);
    for ptxas::Use { entry, registers, memory } in ptxas::uses(&some)? {
        println!("{entry}: {registers} registers, {memory} bytes of stack and spills");
    }
    let mut all = pack::read(&folder())?;
    all.retain(|entry| !is_asked_for(&entry.name));
    all.append(&mut some);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let bytes = pack::write(&folder(), &all)?;
    code::write(&folder(), &all)?;
    println!("{} entries, {} KiB compressed", all.len(), bytes / 1024);
    if wrong.is_empty() {
        Ok(())
    } else {
        Err("what calls, or has arrays in memory, is written for a look only".into())
    }
}

/// Assembles what is committed.
pub fn code() -> Result<(), Error> {
    let (images, bytes) = code::write(&folder(), &pack::read(&folder())?)?;
    println!("{images} of machine code, {} KiB compressed", bytes / 1024);
    Ok(())
}

/// Compiles, compares with what is committed, and asks `ptxas` about these GPUs.
pub fn check(gpus: Gpus) -> Result<(), Error> {
    let toolchain = Toolchain::find()?;
    println!("compiling with {}", toolchain.version);
    let [mut library, user] = compile_both(&toolchain)?;
    let blocks = blocks::read(&folder())?;
    blocks::apply(&mut library, &blocks);
    let committed = std::fs::read(example()).map_err(|e| format!("{}: {e}; run `{AGAIN}`", example().display()))?;
    let mut differences = archive::differences(&pack::read(&folder())?, &library, AGAIN);
    differences.extend(archive::differences(&archive::read(&committed)?, &user, AGAIN));
    differences.extend(code::differences(&folder(), &library, AGAIN)?);
    let newer = |capability| library.iter().map(move |own| (code::newer(own, capability), own));
    let newer = newer((8, 0)).chain(newer((9, 0)).filter(|(newest, own)| *newest != code::newer(own, (8, 0))));
    let newer = newer.filter(|(newer, own)| newer.module != own.module).map(|(newer, _)| newer).collect();
    let entries = [newer, library.clone(), user].concat();
    let mut wrong: Vec<String> = entries.iter().flat_map(faults).collect();
    wrong.extend(ptxas::check(&entries, gpus, |name| blocks.get(name).is_some_and(|bound| bound.measured))?);
    if toolchain.is_pinned() {
        wrong.extend(differences);
    } else {
        differences.iter().for_each(|d| println!("another toolchain, so only noted: {d}"));
    }
    if wrong.is_empty() {
        println!("{} entries are sound", entries.len());
        return Ok(());
    }
    Err(wrong.join("\n").into())
}
