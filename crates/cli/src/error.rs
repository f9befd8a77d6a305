//! Errors. Their messages say what to do.

use std::io;
use std::path::PathBuf;

use warpfold::DType;

use crate::names::shown;

/// Why the command stops.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input cannot be used.
    #[error("{name}: {why}")]
    Input {
        /// The name as given.
        name: String,
        /// Why, and what to do.
        why: InputError,
    },
    /// The reduction cannot be done.
    #[error(transparent)]
    Library(#[from] warpfold::Error),
    /// Options that do not go together, or not with this input.
    #[error("{0}")]
    Usage(String),
    /// The output cannot be created.
    #[error("cannot create {path}: {why}; choose another file", path = shown(path))]
    Create {
        /// The path as given.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// Writing failed in the middle.
    #[error("cannot write {to}: {why}")]
    Write {
        /// A path, or standard output.
        to: String,
        /// The system's error.
        why: io::Error,
    },
    /// Reading failed in the middle.
    #[error("cannot read {name}: {why}")]
    Read {
        /// The name as given.
        name: String,
        /// The system's error.
        why: io::Error,
    },
    /// A pipe or a compressed member could not be stored in a temporary file.
    #[error("cannot keep the data of {name} in a temporary file: {why}; set TMPDIR to a directory with room for them")]
    Spool {
        /// The name as given.
        name: String,
        /// The system's error.
        why: io::Error,
    },
    /// The ladder could not be run.
    #[error(transparent)]
    Ladder(#[from] warpfold_ladder::run::Error),
    /// The benchmarks could not be run.
    #[error(transparent)]
    Bench(#[from] warpfold_bench::Error),
    /// Wrong results of a benchmark, our own or a peer's.
    #[error("wrong results: {}", .0.join("; "))]
    Wrong(Vec<String>),
    /// Rungs of the ladder that are wrong, or published forms that were not caught.
    #[error("not as expected:\n  {}", .0.join("\n  "))]
    Rungs(Vec<String>),
}

impl Failure {
    /// 2 if the request itself is wrong, 1 if carrying it out failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Library(warpfold::Error::Threads { .. }) => 1,
            Failure::Library(warpfold::Error::Cuda(why)) if !why.is_refusal() => 1,
            Failure::Input { .. } | Failure::Library(_) | Failure::Usage(_) | Failure::Create { .. } => 2,
            Failure::Ladder(warpfold_ladder::run::Error::Cuda(why)) if why.is_unavailable() => 2,
            Failure::Ladder(warpfold_ladder::run::Error::Cuda(_)) | Failure::Rungs(_) => 1,
            Failure::Ladder(_) => 2,
            Failure::Bench(why) if why.is_usage() => 2,
            Failure::Bench(_) | Failure::Wrong(_) => 1,
            Failure::Write { .. } | Failure::Read { .. } | Failure::Spool { .. } => 1,
        }
    }

    /// Whether standard output was closed at the other end.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Write { why, .. } if why.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Writing to standard output failed.
    pub fn stdout(why: io::Error) -> Self {
        Failure::Write { to: "standard output".into(), why }
    }
}

/// Why an input cannot be used.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum InputError {
    #[error("no such file{}", after_colon(.0))]
    NotFound(Option<String>),
    #[error("is a directory: name a .npy or .npz file in it")]
    Directory,
    #[error("cannot be opened: {0}")]
    Open(String),
    #[error("is empty: a .npy file starts with a header")]
    Empty,
    #[error("is neither .npy nor .npz (it starts with {start}): for raw data give --raw DTYPE --shape N,M")]
    NotNpy { start: String },
    #[error("is a .npy file, it has no members: leave out `:{0}`")]
    NotNpz(String),
    #[error("is truncated: its header promises {expected} bytes, {found} are there; write it again")]
    Truncated { expected: u64, found: u64 },
    #[error("has {extra} more than the {expected} bytes that its header promises; write it again")]
    Trailing { expected: u64, extra: Extra },
    #[error("has a bad .npy header: {0}; write it again with numpy.save")]
    Header(String),
    #[error("is a .npy file of version {0}.{1}, which is not known (1.0, 2.0 and 3.0 are)")]
    Version(u8, u8),
    #[error("has dtype {descr} ({what}), which has no reductions here: {hint}")]
    DType { descr: String, what: &'static str, hint: &'static str },
    #[error("has {found} bytes, --shape {} of {dtype} needs {expected}: correct --shape or --raw", comma(.shape))]
    RawLength { shape: Vec<usize>, dtype: DType, expected: u64, found: Extra },
    #[error("is a damaged .npz file: {0}; write it again with numpy.savez")]
    Zip(String),
    #[error("is a .npz file that is not read here: {0}; write it again with numpy.savez")]
    Archive(String),
    #[error("is encrypted: write it again without a password")]
    Encrypted,
    #[error("is compressed with {0}, which is not read here: write it again with numpy.savez_compressed")]
    Method(String),
    #[error("has no member `{name}`: {}", listed(.members))]
    NoMember { name: String, members: Vec<String> },
    #[error("has {} members: choose one as FILE.npz:MEMBER; {}", .members.len(), listed(.members))]
    WhichMember { members: Vec<String> },
    #[error("has no members: write it again with numpy.savez")]
    NoMembers,
}

/// A number of bytes; for a pipe perhaps only a lower bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extra {
    /// This number.
    Exactly(u64),
    /// At least this number: reading stopped there.
    AtLeast(u64),
}

impl std::fmt::Display for Extra {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Extra::Exactly(n) => write!(f, "{n}"),
            Extra::AtLeast(n) => write!(f, "at least {n}"),
        }
    }
}

impl InputError {
    /// The failure of the input `name`.
    pub fn of(self, name: &str) -> Failure {
        let name = if name == "-" { "standard input".into() } else { name.into() };
        Failure::Input { name, why: self }
    }
}

fn after_colon(hint: &Option<String>) -> String {
    hint.as_ref().map_or(String::new(), |hint| format!(": {hint}"))
}

/// A shape as `--shape` takes it.
pub fn comma(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(|name| name.trim_end_matches(".npy")).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("it has {}{more}", shown.join(", "))
}
