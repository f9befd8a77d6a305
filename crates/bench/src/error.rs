//! Errors that keep benchmarks from running. Their messages say what to do.

use std::path::PathBuf;

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that is neither a built-in suite nor a file.
    #[error("no suite `{name}`: give one of {known}, or a path to a .toml file")]
    NoSuite {
        /// The name as given.
        name: String,
        /// The known names.
        known: String,
    },
    /// A suite that cannot be read.
    #[error("cannot read {path}: {why}; give one of the built-in suites, or a .toml file")]
    Read {
        /// The path as given.
        path: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// A suite with a mistake.
    #[error("{file}:{line}: {why}")]
    Suite {
        /// The file as given, or the name of a built-in suite.
        file: String,
        /// The line, counted from one.
        line: usize,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A filter that no case passes.
    #[error("no case of the chosen suites contains `{filter}`: `warpfold bench --list` shows their names")]
    NoCase {
        /// The filter as given.
        filter: String,
    },
    /// An unknown peer.
    #[error("no peer `{name}`: give some of {known}, or NAME=PROGRAM, or none")]
    NoPeer {
        /// The name as given.
        name: String,
        /// The known names.
        known: String,
    },
    /// No folder of peers.
    #[error(
        "where is the peer `{name}`? This program does not lie where cargo built it: name the folder bench/peers of \
         the sources with --peers-from or in $WARPFOLD_PEERS, or give --peers none"
    )]
    NoPeers {
        /// The name as given.
        name: String,
    },
    /// A record that a run cannot resume.
    #[error("{path} is not of this run: {why}; name another file, or leave --resume out")]
    OtherRun {
        /// The path as given.
        path: PathBuf,
        /// What is different.
        why: String,
    },
    /// Warpfold's own side is not there.
    #[error("{0}")]
    Device(String),
    /// A record that cannot be written.
    #[error("cannot write {path}: {why}; choose another file")]
    Write {
        /// The path as given.
        path: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// A file that is not a record.
    #[error("{path} is not a record of `warpfold bench`: {why}")]
    Record {
        /// The path as given.
        path: PathBuf,
        /// The parser's error.
        why: String,
    },
}

impl Error {
    /// Whether the request itself is wrong. Otherwise the run failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Error::Write { .. })
    }
}
