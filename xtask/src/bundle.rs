//! `cargo xtask gpu-bundle`: what a machine with a GPU and nothing else needs, in one folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use warpfold_ptx::output;

use crate::error::Error;

/// Where it goes; git ignores it.
const FOLDER: &str = ".carry";
/// More does not travel.
const MOST_BYTES: u64 = 60 << 20;
/// Wheels of peers, if there are any; git ignores it.
const WHEELS: &str = "bench/peers/wheels";
/// The programs, which the scripts unpack beside themselves.
const PROGRAMS: &str = "programs.tar.xz";
const RUN_TESTS: &str = include_str!("../bundle/run-tests.sh");
const RUN_BENCH: &str = include_str!("../bundle/run-bench.sh");

/// Which programs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// Those of run-tests.sh.
    Tests,
    /// Those of run-bench.sh.
    Bench,
}

/// Builds the GPU tests, the ladder and the command, for release; packs them, stripped, beside scripts that run them.
pub fn write(part: Part) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask lies in no folder")?;
    let folder = root.join(FOLDER);
    // One build of all, so that what they share is compiled once.
    let mut words: Vec<String> =
        ["build", "--release", "-p", "warpfold-ladder", "--example", "ladder"].map(str::to_owned).into();
    if part != Part::Bench {
        // Tests of GPUs are those whose files or folders begin with `gpu`.
        let mut tests = BTreeSet::new();
        for package in packages(root)? {
            let names = gpu_tests(root, &package);
            if !names.is_empty() {
                words.extend(["-p".to_owned(), package]);
            }
            tests.extend(names);
        }
        words.extend(tests.into_iter().flat_map(|test| ["--test".to_owned(), test]));
    }
    if part != Part::Tests {
        words.extend(["-p", "mat2", "--bin", "mat2", "-p", "warpfold-cli", "--bin", "warpfold"].map(str::to_owned));
    }
    let mut found = build(root, &words.iter().map(String::as_str).collect::<Vec<_>>())?;
    // If it was built here, for the GPU's architecture, nvcc need not run there.
    let cub = root.join("bench/peers/cub");
    found.extend((part != Part::Tests && cub.exists()).then(|| ("cub".to_owned(), cub)));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    pack(&folder, &found)?;
    let revision = output(Command::new("git").current_dir(root).args(["describe", "--always", "--dirty"]));
    let revision = revision.unwrap_or_default();
    for (name, text) in [("run-tests.sh", RUN_TESTS), ("run-bench.sh", RUN_BENCH)] {
        let to = folder.join(name);
        fs::write(&to, text.replace("@REVISION@", &revision))?;
        executable(&to)?;
    }
    // What `warpfold bench` looks for beside itself. The suites are in the program, too; here they can be edited.
    for part in ["bench/peers", "bench/suites"] {
        copy(&root.join(part), &folder.join(part))?;
    }
    // Pure Python, for peers that a machine without a network cannot install.
    if root.join(WHEELS).is_dir() {
        copy(&root.join(WHEELS), &folder.join("wheels"))?;
    }
    let mut total = 0;
    for path in files(&folder)? {
        let bytes = path.metadata()?.len();
        total += bytes;
        println!("{FOLDER}/{:<28} {:>9} bytes", path.strip_prefix(&folder)?.display(), bytes);
    }
    println!("{:.1} MiB at {revision}", total as f64 / f64::from(1 << 20));
    if total > MOST_BYTES {
        return Err(
            format!("{FOLDER} has more than {} MiB: take `--only tests` or `--only bench`", MOST_BYTES >> 20).into()
        );
    }
    Ok(())
}

/// Strips programs and packs them into one archive.
fn pack(folder: &Path, programs: &BTreeMap<String, PathBuf>) -> Result<(), Error> {
    for (name, path) in programs {
        let to = folder.join(name);
        fs::copy(path, &to)?;
        if !Command::new("strip").arg(&to).status().is_ok_and(|s| s.success()) {
            eprintln!("{name} is not stripped: no `strip` on PATH");
        }
    }
    // Every program has the same compressed kernels in it; the dictionary is large enough to find them again.
    let mut tar = Command::new("tar");
    tar.env("XZ_OPT", "--lzma2=preset=3,dict=128MiB").args(["-cJf", PROGRAMS]).args(programs.keys());
    if !tar.current_dir(folder).status().is_ok_and(|s| s.success()) {
        return Err("the programs were not packed: `tar` and `xz` must be on PATH".into());
    }
    for name in programs.keys() {
        fs::remove_file(folder.join(name))?;
    }
    Ok(())
}

/// Copies the files of a folder, but for what was built in it.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let is_source = Path::new(&entry.file_name()).extension().is_some();
        if entry.file_type()?.is_file() && is_source {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// All files in a folder and below, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    found.sort();
    Ok(found)
}

/// The workspace's packages.
fn packages(root: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let manifest = entry?.path().join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let name = text.lines().find_map(|l| l.strip_prefix("name = \"")?.strip_suffix('"'));
        names.extend(name.map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The tests of a package that need a GPU.
fn gpu_tests(root: &Path, package: &str) -> Vec<String> {
    let short = package.trim_start_matches("warpfold-");
    let folder = root.join("crates").join(short).join("tests");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| match entry.path().join("main.rs").is_file() {
        true => entry.file_name().into_string().ok(),
        false => Some(entry.file_name().to_str()?.strip_suffix(".rs")?.to_owned()),
    });
    let mut names: Vec<String> = names.filter(|name| name.starts_with("gpu")).collect();
    names.sort();
    names
}

/// Runs cargo, and says which executables it made, by target.
pub fn build(root: &Path, words: &[&str]) -> Result<BTreeMap<String, PathBuf>, Error> {
    println!("cargo {}", words.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .current_dir(root)
        .args(words)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    if !out.status.success() {
        return Err(format!("`cargo {}` failed", words.join(" ")).into());
    }
    let text = String::from_utf8_lossy(&out.stdout);
    let found = executables(&text);
    if found.is_empty() { Err(format!("`cargo {}` made no executable", words.join(" ")).into()) } else { Ok(found) }
}

/// The executables that cargo's messages name, by target. The name of a test has its package's before it.
fn executables(messages: &str) -> BTreeMap<String, PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message["reason"] == "compiler-artifact")
        .filter_map(|message| {
            let target = &message["target"];
            let (name, path) = (target["name"].as_str()?, message["executable"].as_str()?);
            if target["kind"][0] != "test" {
                return Some((name.to_owned(), path.into()));
            }
            // An id ends in `folder#name@version`, or in `name#version` if the folder has the package's name.
            let (folder, version) = message["package_id"].as_str()?.split_once('#')?;
            let package = version.split_once('@').map_or_else(|| folder.rsplit('/').next(), |(name, _)| Some(name))?;
            Some((format!("test-{}-{name}", package.trim_start_matches("warpfold-")), path.into()))
        })
        .collect()
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn executable(_: &Path) -> Result<(), Error> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_share_is_packed_once() {
        let folder = std::env::temp_dir().join(format!("warpfold-bundle-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        // Noise, which nothing compresses.
        let mut state = 1u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        });
        let noise: Vec<u8> = noise.take(5 << 20).collect();
        let source = folder.join("source");
        fs::write(&source, &noise).expect("a file");
        let programs = ["one", "two", "three"].map(|name| (name.to_owned(), source.clone()));
        pack(&folder, &BTreeMap::from(programs)).expect("an archive");
        let bytes = folder.join(PROGRAMS).metadata().expect("an archive").len();
        assert!((5 << 20..6 << 20).contains(&bytes), "{bytes} bytes");
        assert!(!folder.join("one").exists());
        fs::remove_dir_all(&folder).expect("the folder goes");
    }

    #[test]
    fn gpu_tests_are_found_as_files_and_as_folders() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
        let found: Vec<(String, Vec<String>)> =
            packages(root).expect("packages").into_iter().map(|p| (p.clone(), gpu_tests(root, &p))).collect();
        for package in ["warpfold", "warpfold-ladder"] {
            let of = found.iter().find(|(name, _)| name == package).map(|(_, tests)| tests.as_slice());
            assert_eq!(of, Some(["gpu".to_owned()].as_slice()), "{package}");
        }
    }

    #[test]
    fn executables_are_found_in_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","package_id":"x","target":{"kind":["lib"],"name":"core"},"#,
            r#""executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/ladder#warpfold-ladder@0.1.0","#,
            r#""target":{"kind":["test"],"name":"gpu"},"executable":"/t/gpu-1f"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/warpfold#0.1.0","#,
            r#""target":{"kind":["test"],"name":"gpu"},"executable":"/t/gpu-2f"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/examples/mat2#0.1.0","#,
            r#""target":{"kind":["bin"],"name":"mat2"},"executable":"/t/mat2"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let expected = [("mat2", "/t/mat2"), ("test-ladder-gpu", "/t/gpu-1f"), ("test-warpfold-gpu", "/t/gpu-2f")];
        let expected = expected.map(|(name, path)| (name.to_owned(), PathBuf::from(path)));
        assert_eq!(executables(messages), BTreeMap::from(expected));
    }
}
