//! Finding a rustc that can build the nvptx64 target: it needs its own library sources.

use crate::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that built the committed PTX, as `rustc --version` prints it.
const PINNED: &str = include_str!("../ptx-toolchain");

/// A rustc with its sources, and the cargo beside it.
pub struct Toolchain {
    /// The compiler.
    pub rustc: PathBuf,
    /// Its cargo.
    pub cargo: PathBuf,
    /// What `rustc --version` says.
    pub version: String,
}

impl Toolchain {
    /// The pinned version if it is installed, otherwise any usable one, newest place first.
    ///
    /// # Errors
    /// If there is none.
    pub fn find() -> Result<Toolchain, Error> {
        let named = std::env::var_os("WARPFOLD_PTX_RUSTC").map(PathBuf::from);
        let number = PINNED.split(' ').nth(1).unwrap_or_default();
        let candidates = match named {
            Some(path) => vec![path],
            None => [rustup(number), Some("/usr/bin/rustc".into()), rustup("nightly")].into_iter().flatten().collect(),
        };
        let usable: Vec<Toolchain> = candidates.iter().filter_map(|rustc| Toolchain::at(rustc)).collect();
        let pinned = usable.iter().position(Toolchain::is_pinned).unwrap_or(0);
        usable.into_iter().nth(pinned).ok_or(Error::NoCompiler { pinned: PINNED, number })
    }

    /// Whether this is the version that the committed PTX comes from.
    pub fn is_pinned(&self) -> bool {
        self.version == PINNED.trim()
    }

    fn at(rustc: &Path) -> Option<Toolchain> {
        let sysroot = PathBuf::from(output(Command::new(rustc).args(["--print", "sysroot"]))?);
        let version = output(Command::new(rustc).arg("--version"))?;
        let version = version.split(" (built").next().unwrap_or(&version).to_owned();
        let cargo = rustc.with_file_name("cargo");
        let has_sources = sysroot.join("lib/rustlib/src/rust/library/core").is_dir();
        (has_sources && cargo.exists()).then(|| Toolchain { rustc: rustc.to_owned(), cargo, version })
    }
}

fn rustup(toolchain: &str) -> Option<PathBuf> {
    output(Command::new("rustup").args(["which", "--toolchain", toolchain, "rustc"])).map(PathBuf::from)
}

/// The trimmed standard output of a command that succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let out = command.env_remove("RUSTUP_TOOLCHAIN").output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}
