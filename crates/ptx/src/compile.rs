//! A crate for nvptx64, as one self-contained module per entry.

use crate::error::Error;
use crate::registers::renamed;
use crate::toolchain::Toolchain;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest GPU and PTX version whose instructions the kernels use: Turing, and drivers from CUDA 11.4.
const TARGET: [&str; 2] = ["-Ctarget-cpu=sm_75", "-Ctarget-feature=+ptx74"];

/// The same for an entry with instructions that one generation alone has: Hopper's products by four warps.
const HOPPER: [&str; 2] = [".version 8.0", ".target sm_90a"];

/// One exported kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name in the driver.
    pub name: String,
    /// A PTX module with this entry alone.
    pub module: String,
}

/// A crate with kernels.
#[derive(Clone, Debug)]
pub struct Crate {
    /// Its `Cargo.toml`, or that of its workspace.
    pub manifest: PathBuf,
    /// Which package of the workspace.
    pub package: Option<String>,
    /// Features, instead of the default ones.
    pub features: Option<String>,
    /// Where cargo builds it. Crates that share it share the `core` of the target, which takes longest.
    pub target: PathBuf,
    /// Whether `Cargo.lock` must be as it is.
    pub locked: bool,
}

impl Crate {
    /// Builds it, and takes its assembly apart.
    ///
    /// # Errors
    /// If it does not compile, or exports nothing.
    pub fn compile(&self, toolchain: &Toolchain) -> Result<Vec<Entry>, Error> {
        std::fs::create_dir_all(&self.target).map_err(Error::file(&self.target))?;
        let manifest = std::path::absolute(&self.manifest).map_err(Error::file(&self.manifest))?;
        let mut name = DefaultHasher::new();
        (manifest, &self.package).hash(&mut name);
        // A file for each crate, since cargo writes none if nothing has changed.
        let assembly = self.target.join(format!("kernels-{:016x}.s", name.finish()));
        let assembly = std::path::absolute(&assembly).map_err(Error::file(&assembly))?;
        let mut command = self.command(toolchain, &assembly);
        let out = command.output().map_err(Error::program(&toolchain.cargo))?;
        let manifest = || self.manifest.clone();
        if !out.status.success() {
            return Err(Error::Compile {
                manifest: manifest(),
                said: String::from_utf8_lossy(&out.stderr).trim_end().into(),
            });
        }
        let entries = split(&std::fs::read_to_string(&assembly).map_err(Error::file(&assembly))?)?;
        if entries.is_empty() { Err(Error::NoEntry { manifest: manifest() }) } else { Ok(entries) }
    }

    fn command(&self, toolchain: &Toolchain, assembly: &Path) -> Command {
        let mut command = Command::new(&toolchain.cargo);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PROFILE") || text.ends_with("RUSTFLAGS") || text == "RUSTUP_TOOLCHAIN" {
                command.env_remove(&name);
            }
        }
        command
            .env("RUSTC", &toolchain.rustc)
            // `build-std` and inline assembly for this target are unstable; the pinned version keeps them from moving.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_DIR", &self.target)
            // Entries are self-contained, so what they call in other crates must be there to be inlined.
            .env("RUSTFLAGS", "-Zcross-crate-inline-threshold=always")
            .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .args(["rustc", "--quiet", "--lib", "--release", "--manifest-path"])
            .arg(&self.manifest);
        if self.locked {
            command.arg("--locked");
        }
        if let Some(package) = &self.package {
            command.args(["--package", package]);
        }
        if let Some(features) = &self.features {
            command.args(["--no-default-features", "--features", features]);
        }
        command
            .args(["-Zbuild-std=core,alloc", "--target=nvptx64-nvidia-cuda", "--"])
            .arg(format!("--emit=asm={}", assembly.display()))
            .args(TARGET)
            .args(["-Cllvm-args=-unroll-threshold=20000", "-Cllvm-args=-inline-threshold=100000"])
            // A loop that is kept on purpose, so that the driver has little to compile, stays one: peeling makes seven
            // copies of what takes turns (`next`, `pick`).
            .arg("-Cllvm-args=-unroll-peel-max-count=0");
        command
    }
}

impl Entry {
    /// Whether GPUs before compute capability 8.0 do not take it.
    pub(crate) fn is_newer(&self) -> bool {
        self.module.contains(".target sm_80\n")
    }

    /// Whether GPUs before compute capability 9.0 do not take it.
    pub(crate) fn is_newest(&self) -> bool {
        self.module.contains(".target sm_90\n")
    }

    /// Whether only GPUs of compute capability 9.0 take it.
    pub(crate) fn is_hopper(&self) -> bool {
        self.module.contains(HOPPER[1])
    }
}

/// What the text of an entry must not have: calls, which are panic paths here, and arrays in local memory.
#[must_use]
pub fn faults(entry: &Entry) -> Vec<String> {
    let called = |line: &str| {
        let name = line.trim_start().strip_prefix("call")?.split([' ', ',', ';']).find(|w| w.starts_with('_'))?;
        Some(format!("{}: calls {name}; use unchecked access and wrapping arithmetic", entry.name))
    };
    let mut faults: Vec<String> = entry.module.lines().filter_map(called).collect();
    if entry.module.contains(".local") {
        faults.push(format!("{}: an array lives in local memory; unroll the loop that indexes it", entry.name));
    }
    faults
}

/// One module per `.entry`. Whatever else the assembly has is left out; an entry that needed it fails in `ptxas`.
fn split(assembly: &str) -> Result<Vec<Entry>, Error> {
    let directive = |l: &&str| [".version", ".target", ".address_size"].iter().any(|d| l.starts_with(d));
    let header: Vec<&str> = assembly.lines().filter(directive).collect();
    if header.len() != 3 {
        return Err(Error::NoHeader);
    }
    let mut entries = Vec::new();
    let mut lines = assembly.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix(".visible .entry ").and_then(|l| l.split('(').next()) else { continue };
        let mut module = String::new();
        for line in std::iter::once(line).chain(lines.by_ref()) {
            if !line.trim_start().starts_with("//") {
                module.push_str(&without_function_number(line));
                module.push('\n');
            }
            if line == "}" {
                break;
            }
        }
        module = declared_once(&module);
        if let Some(bytes) = room(&module) {
            let array = format!(".extern .shared .align 16 .b8 room_{bytes}[];\n.visible");
            module = module.replacen(".visible", &array, 1);
        }
        // Products of wgmma read and write their registers until they are waited for, so these keep names of their own.
        let is_hopper = module.contains("wgmma");
        let header = if is_hopper { [&HOPPER[..], &header[2..]].concat() } else { header.clone() };
        let body = if is_hopper { copied(&module) } else { renamed(&module) };
        entries.push(Entry { name: name.to_owned(), module: header.join("\n") + "\n" + &body });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// With the instruction that is given behind a sequence which does the same on older GPUs, and not that.
fn copied(module: &str) -> String {
    let own = |line: &'_ str| line.find("// cp.async").map_or(line, |at| &line[at + 3..]).to_owned() + "\n";
    module.lines().map(own).collect()
}

/// The bytes of the large shared array that an entry uses: its name says them.
fn room(module: &str) -> Option<&str> {
    let rest = module.split_once(", room_")?.1;
    Some(rest.split_once(';')?.0)
}

/// Shared arrays are declared where a kernel asks for them. An entry of two kernels, of which a launch runs one,
/// declares each that both ask for once, with room for either.
fn declared_once(module: &str) -> String {
    const DECLARED: &str = ".shared .align 16 .b8 ";
    let array = |line: &'_ str| {
        let (name, rest) = line.trim_start().strip_prefix(DECLARED)?.split_once('[')?;
        Some((name.to_owned(), rest.split_once(']')?.0.parse::<usize>().ok()?))
    };
    let all: Vec<(String, usize)> = module.lines().filter_map(array).collect();
    let mut most = BTreeMap::new();
    for (name, bytes) in &all {
        most.entry(name).and_modify(|most: &mut usize| *most = (*most).max(*bytes)).or_insert(*bytes);
    }
    if most.len() == all.len() {
        return module.to_owned();
    }
    let arrays: String = most.iter().map(|(name, bytes)| format!("\t{DECLARED}{name}[{bytes}];\n")).collect();
    let others: String = module.lines().filter(|line| array(line).is_none()).flat_map(|line| [line, "\n"]).collect();
    others.replacen("{\n", &format!("{{\n{arrays}"), 1)
}

/// Labels are numbered by function, so that a new kernel would change the text of all after it.
fn without_function_number(line: &str) -> String {
    let mut rest = line;
    let mut out = String::with_capacity(line.len());
    while let Some(i) = rest.find("$L__BB") {
        out.push_str(&rest[..i + 6]);
        rest = rest[i + 6..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_that_two_kernels_of_an_entry_ask_for_is_declared_once() {
        let of = |bytes: usize| format!("\t.shared .align 16 .b8 shared_0[{bytes}];\n\tmov.u32 %r1, shared_0;\n");
        let one = format!("{{\n{}}}\n", of(64));
        assert_eq!(declared_once(&one), one);
        let use_it = "\tmov.u32 %r1, shared_0;\n";
        let want = format!("{{\n\t.shared .align 16 .b8 shared_0[128];\n{use_it}{use_it}}}\n");
        assert_eq!(declared_once(&format!("{{\n{}{}}}\n", of(64), of(128))), want);
    }

    #[test]
    fn an_entry_leaves_with_the_header_and_without_its_neighbours() {
        let text = ".version 7.4\n.target sm_75\n.address_size 64\n\n.extern .func f\n;\n.visible .entry b()\n{\n\
                    \tbra $L__BB7_2;\n$L__BB7_2:\n\tret;\n}\n.visible .entry a(\n)\n{\n\t// note\n\tret;\n}\n";
        let entries = split(text).expect("a header");
        assert_eq!(entries.iter().map(|e| &e.name[..]).collect::<Vec<_>>(), ["a", "b"]);
        // A panic path looks like this.
        let panics = Entry { name: "k".into(), module: "\tcall.uni _RNvpanic_bounds_check, (param0);\n".into() };
        assert_eq!(faults(&panics), ["k: calls _RNvpanic_bounds_check; use unchecked access and wrapping arithmetic"]);
        let header = ".version 7.4\n.target sm_75\n.address_size 64\n";
        assert!(entries.iter().all(|e| faults(e).is_empty()));
        assert_eq!(entries[0].module, format!("{header}.visible .entry a(\n)\n{{\n\tret;\n}}\n"));
        assert_eq!(
            entries[1].module,
            format!("{header}.visible .entry b()\n{{\n\tbra $L__BB_2;\n$L__BB_2:\n\tret;\n}}\n")
        );
    }
}
