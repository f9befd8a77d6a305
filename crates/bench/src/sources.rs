//! The sources that a record is about. Each record has their digest. A record whose digest differs from that of the
//! sources is stale: its numbers are those of other code. `build.rs` includes this file, too.

use std::path::{Path, PathBuf};

/// The files that decide how fast a device computes.
pub struct Sources {
    /// The kind of device: `CPU` or `GPU`.
    pub name: &'static str,
    /// Files, and folders with everything in them, relative to the root of the repository. Of the root's `Cargo.toml`
    /// only the profiles count.
    pub paths: &'static [&'static str],
}

/// The sources of the CPU: the loops, their selection, and their compilation.
pub const CPU: Sources =
    Sources { name: "CPU", paths: &["crates/core/src", "crates/array/src", "crates/cpu/src", "Cargo.toml"] };

/// The sources of a GPU: the committed PTX, plans and policies, and the host's side of launches.
pub const GPU: Sources = Sources {
    name: "GPU",
    paths: &["crates/kernels/ptx", "crates/kernels/src", "crates/simt/src", "crates/gpu/src", "crates/cuda/src"],
};

impl Sources {
    /// The sources of a device, by the kind that records have.
    #[allow(dead_code)]
    pub fn of(kind: &str) -> &'static Sources {
        if kind == "cpu" { &CPU } else { &GPU }
    }

    /// The digest, in 16 hexadecimal digits; `None` where the sources are absent.
    pub fn digest(&self, root: &Path) -> Option<String> {
        let mut files = Vec::new();
        self.paths.iter().for_each(|path| list(&root.join(path), &mut files));
        files.sort();
        let mut digest = Fnv(0xcbf2_9ce4_8422_2325);
        for file in &files {
            digest.add(file.strip_prefix(root).unwrap_or(file).to_string_lossy().as_bytes());
            digest.add(&counts(file, std::fs::read(file).ok()?));
        }
        (!files.is_empty()).then(|| format!("{:016x}", digest.0))
    }
}

/// The part of a file that the digest covers: Rust without comments and blank lines, and the profiles of a manifest.
fn counts(file: &Path, bytes: Vec<u8>) -> Vec<u8> {
    let keep: fn(&str) -> bool = match file.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => |line| !line.trim().is_empty() && !line.trim_start().starts_with("//"),
        Some("toml") => |line| !line.trim().is_empty() && !line.starts_with('#'),
        _ => return bytes,
    };
    let is_manifest = file.file_name().is_some_and(|name| name == "Cargo.toml");
    let mut is_in = !is_manifest;
    let mut kept = String::new();
    for line in String::from_utf8_lossy(&bytes).lines() {
        if is_manifest && line.starts_with('[') {
            is_in = line.starts_with("[profile.");
        }
        if is_in && keep(line) {
            kept.push_str(line.trim());
            kept.push('\n');
        }
    }
    kept.into_bytes()
}

/// All files at a path, without tests.
fn list(path: &Path, to: &mut Vec<PathBuf>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name == "tests" || name == "tests.rs" || name.ends_with("_tests.rs") {
        return;
    }
    if path.is_file() {
        return to.push(path.to_owned());
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.for_each(|entry| list(&entry.path(), to));
}

/// FNV-1a of 64 bits: enough to tell that something changed.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn a_digest_changes_with_code_and_with_profiles_and_with_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let digest = || CPU.digest(folder.path()).unwrap();
        assert_eq!(CPU.digest(folder.path()), None);
        write(folder.path(), "crates/cpu/src/sum.rs", "fn sum() {}\n");
        write(folder.path(), "Cargo.toml", "[workspace]\nmembers = []\n\n[profile.release]\nlto = \"thin\"\n");
        let before = digest();
        write(folder.path(), "crates/cpu/src/sum.rs", "// It adds.\nfn sum() {}\n\n");
        write(folder.path(), "crates/cpu/src/sum_tests.rs", "fn test() {}\n");
        write(folder.path(), "Cargo.toml", "[workspace]\nmembers = [\"x\"]\n\n[profile.release]\nlto = \"thin\"\n");
        assert_eq!(digest(), before);
        write(folder.path(), "Cargo.toml", "[workspace]\n[profile.release]\nlto = \"fat\"\n");
        let other = digest();
        assert_ne!(other, before);
        write(folder.path(), "crates/cpu/src/sum.rs", "fn sum() { }\n");
        assert_ne!(digest(), other);
    }

    /// The crates `array` and `cpu` may not be there yet; every other path is.
    #[test]
    fn every_path_of_the_tables_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for path in CPU.paths.iter().chain(GPU.paths) {
            let is_new = ["crates/array/src", "crates/cpu/src"].contains(path) && !root.join("crates/cpu").exists();
            assert!(is_new || root.join(path).exists(), "{path}");
        }
        assert!(GPU.digest(&root).is_some() && CPU.digest(&root).is_some());
    }
}
