//! What keeps benchmarks from running, in words that say what to do.

use std::path::PathBuf;

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a suite's name nor a file.
    #[error("no suite `{name}`: give one of {known}, or a path to a .toml file")]
    NoSuite {
        /// As given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A suite that cannot be read.
    #[error("cannot read {path}: {why}; give one of the built-in suites, or a .toml file")]
    Read {
        /// As given.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// A suite that says something wrong.
    #[error("{file}:{line}: {why}")]
    Suite {
        /// As given, or a built-in's.
        file: String,
        /// From one.
        line: usize,
        /// And what to do.
        why: String,
    },
    /// A filter that leaves nothing.
    #[error("no case of the chosen suites contains `{filter}`: `warpfold bench --list` shows their names")]
    NoCase {
        /// As given.
        filter: String,
    },
    /// A peer that is none.
    #[error("no peer `{name}`: give some of {known}, or NAME=PROGRAM, or none")]
    NoPeer {
        /// As given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// No folder of peers.
    #[error(
        "where is the peer `{name}`? This program does not lie where cargo built it: name the folder bench/peers of \
         the sources with --peers-from or in $WARPFOLD_PEERS, or give --peers none"
    )]
    NoPeers {
        /// As given.
        name: String,
    },
    /// A record that a run cannot go on from.
    #[error("{path} is not of this run: {why}; name another file, or leave --resume out")]
    OtherRun {
        /// As given.
        path: PathBuf,
        /// What is different.
        why: String,
    },
    /// Warpfold's own side is not there.
    #[error("{0}")]
    Device(String),
    /// The record cannot be written.
    #[error("cannot write {path}: {why}; choose another file")]
    Write {
        /// As given.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// A record that is none.
    #[error("{path} is not a record of `warpfold bench`: {why}")]
    Record {
        /// As given.
        path: PathBuf,
        /// The parser's words.
        why: String,
    },
}

impl Error {
    /// Whether what was asked for cannot be done; otherwise, doing it went wrong.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Error::Write { .. })
    }
}
