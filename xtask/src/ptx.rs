//! `cargo xtask ptx`: kernels to PTX, one self-contained module per entry.

use crate::toolchain::Toolchain;
use crate::{Error, pack, ptxas};
use std::path::PathBuf;
use std::process::Command;

/// The oldest GPU and PTX version whose instructions the kernels use: Turing, and drivers from CUDA 11.4.
const TARGET: [&str; 2] = ["-Ctarget-cpu=sm_75", "-Ctarget-feature=+ptx74"];

/// One exported kernel.
pub struct Entry {
    /// Its name in the driver.
    pub name: String,
    /// A PTX module with this entry alone.
    pub module: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

/// Where the compiled kernels are committed.
pub fn folder() -> PathBuf {
    root().join("crates/device/ptx")
}

/// Compiles and writes.
pub fn write() -> Result<(), Error> {
    let toolchain = Toolchain::find()?;
    let entries = compile(&toolchain)?;
    let bytes = pack::write(&folder(), &entries)?;
    println!("{} entries, {} KiB compressed, by {}", entries.len(), bytes / 1024, toolchain.version);
    if !toolchain.is_pinned() {
        println!("note: this is not the version in xtask/ptx-toolchain; put it there before committing the result");
    }
    Ok(())
}

/// Compiles, compares with what is committed, and asks `ptxas` about every GPU.
pub fn check() -> Result<(), Error> {
    let toolchain = Toolchain::find()?;
    println!("compiling with {}", toolchain.version);
    let entries = compile(&toolchain)?;
    let mut faults: Vec<String> = entries.iter().flat_map(faults).collect();
    faults.extend(ptxas::check(&entries)?);
    let differences = pack::differences(&folder(), &entries)?;
    if toolchain.is_pinned() {
        faults.extend(differences);
    } else {
        differences.iter().for_each(|d| println!("another toolchain, so only noted: {d}"));
    }
    if faults.is_empty() {
        println!("{} entries are sound", entries.len());
        return Ok(());
    }
    Err(faults.join("\n").into())
}

/// What the text of an entry must not have: calls, which are panic paths here, and arrays in local memory.
fn faults(entry: &Entry) -> Vec<String> {
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

/// Builds the device crate for nvptx64 and takes its assembly apart.
fn compile(toolchain: &Toolchain) -> Result<Vec<Entry>, Error> {
    let target = root().join("target/ptx");
    std::fs::create_dir_all(&target)?;
    let assembly = target.join("kernels.s");
    let mut command = Command::new(&toolchain.cargo);
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PROFILE") || name_text.ends_with("RUSTFLAGS") || name_text == "RUSTUP_TOOLCHAIN"
        {
            command.env_remove(&name);
        }
    }
    let out = command
        .current_dir(root())
        .env("RUSTC", &toolchain.rustc)
        // `build-std` and inline assembly for this target are unstable; the pinned version keeps them from moving.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &target)
        // Entries are self-contained, so what they call in other crates must be there to be inlined.
        .env("RUSTFLAGS", "-Zcross-crate-inline-threshold=always")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .args(["rustc", "--quiet", "--locked", "--package=warpfold-device", "--release", "--no-default-features"])
        .args(["-Zbuild-std=core,alloc", "--target=nvptx64-nvidia-cuda", "--"])
        .arg(format!("--emit=asm={}", assembly.display()))
        .args(TARGET)
        .args(["-Cllvm-args=-unroll-threshold=20000", "-Cllvm-args=-inline-threshold=100000"])
        .output()?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(format!("the device crate does not compile for nvptx64:\n{said}").into());
    }
    split(&std::fs::read_to_string(assembly)?)
}

/// One module per `.entry`. Whatever else the assembly has is left out; an entry that needed it fails in `ptxas`.
fn split(assembly: &str) -> Result<Vec<Entry>, Error> {
    let directive = |l: &&str| [".version", ".target", ".address_size"].iter().any(|d| l.starts_with(d));
    let header: Vec<&str> = assembly.lines().filter(directive).collect();
    if header.len() != 3 {
        return Err("the assembly has no PTX header".into());
    }
    let mut entries = Vec::new();
    let mut lines = assembly.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix(".visible .entry ").and_then(|l| l.split('(').next()) else { continue };
        let mut module = header.join("\n") + "\n";
        for line in std::iter::once(line).chain(lines.by_ref()) {
            if line == "{" {
                module.push_str(&blocks(name));
            }
            if !line.trim_start().starts_with("//") {
                module.push_str(&without_function_number(line));
                module.push('\n');
            }
            if line == "}" {
                break;
            }
        }
        entries.push(Entry { name: name.to_owned(), module });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Blocks of 256 threads that a multiprocessor is to hold at once: what keeps the memory busy while other blocks meet and
/// finish. More of them leave a thread fewer registers; these are the most that no kernel needs the stack for.
fn blocks(name: &str) -> String {
    let least = match name.split_once('_') {
        Some(("rows" | "short" | "columns" | "narrow" | "shallow" | "parts", _)) => 3,
        Some(("any", _)) => 0,
        _ => return String::new(),
    };
    let least = if least > 0 { format!(".minnctapersm {least}\n") } else { String::new() };
    format!(".maxntid 256, 1, 1\n{least}")
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
