use std::path::PathBuf;

/// Why there is no PTX, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No compiler that can build the target.
    #[error(
        "no rustc with library sources found. Install {} with rust-src: on Debian `apt install rustc-web cargo-web \
         rust-web-src`, elsewhere `rustup toolchain install {number} --component rust-src`; or name one in \
         $WARPFOLD_PTX_RUSTC",
        pinned.trim()
    )]
    NoCompiler {
        /// As `rustc --version` prints it.
        pinned: &'static str,
        /// Its number.
        number: &'static str,
    },
    /// The compiler refused the crate.
    #[error("{} does not compile for nvptx64:\n{said}", manifest.display())]
    Compile {
        /// The crate's.
        manifest: PathBuf,
        /// Its words.
        said: String,
    },
    /// The assembly is none.
    #[error("the assembly has no PTX header: was it compiled for nvptx64?")]
    NoHeader,
    /// Nothing is exported.
    #[error(
        "{} exports no kernel: call `warpfold_kernels::export_reducer!(name: Reducer);` in its lib.rs",
        manifest.display()
    )]
    NoEntry {
        /// The crate's.
        manifest: PathBuf,
    },
    /// Kernels that must not ship.
    #[error("{}", faults.join("\n"))]
    Unsound {
        /// What is wrong, and what to do.
        faults: Vec<String>,
    },
    /// No assembler.
    #[error("ptxas not found: put it on PATH, name it in $PTXAS, or `pip install nvidia-cuda-nvcc`")]
    NoPtxas,
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A program that cannot be started.
    #[error("`{}` does not start: {source}", program.display())]
    Program {
        /// Which.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that `cargo warpfold-ptx` has not written.
    #[error("no archive of kernels ({why}): write it again with `cargo warpfold-ptx -o FILE`")]
    Archive {
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Error {
    /// For `map_err` of what concerns a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        |source| Error::File { path, source }
    }

    /// For `map_err` of what concerns a program.
    pub(crate) fn program(program: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let program = program.into();
        |source| Error::Program { program, source }
    }
}
