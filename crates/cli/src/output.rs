//! Where results go: a file appears whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use warpfold::Array;

use crate::error::Failure;
use crate::npy;
use crate::signals;

/// A place for a file, known to be writable.
pub struct Output {
    name: PathBuf,
    to: To,
}

enum To {
    /// `-`.
    Standard,
    /// A device or a named pipe, written in place.
    Special(File),
    /// A temporary file in the same directory, then renamed.
    Renamed(NamedTempFile<File>, PathBuf),
}

impl Output {
    /// Makes sure that `path` can be written, before any work is done. No file of that name appears yet.
    pub fn prepare(path: &Path) -> Result<Self, Failure> {
        let failure = |why| Failure::Create { path: path.into(), why };
        let name = path.to_path_buf();
        if path == Path::new("-") {
            return Ok(Self { name: "standard output".into(), to: To::Standard });
        }
        // A link stays a link: its target is replaced.
        let target = path.canonicalize().unwrap_or_else(|_| path.into());
        if let Ok(metadata) = target.metadata() {
            if metadata.is_dir() {
                return Err(failure(io::ErrorKind::IsADirectory.into()));
            }
            if !metadata.is_file() {
                let file = OpenOptions::new().write(true).open(&target).map_err(failure)?;
                return Ok(Self { name, to: To::Special(file) });
            }
            if metadata.permissions().readonly() {
                return Err(failure(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only")));
            }
        }
        let file_name = target.file_name().ok_or_else(|| failure(io::ErrorKind::InvalidInput.into()))?;
        let directory = match target.parent() {
            Some(directory) if directory != Path::new("") => directory,
            _ => Path::new("."),
        };
        let prefix = format!(".{}.", file_name.to_string_lossy().chars().take(40).collect::<String>());
        let temporary = tempfile::Builder::new().prefix(&prefix).suffix(".part").make_in(directory, |path| {
            signals::remove_on_exit(path);
            OpenOptions::new().write(true).create_new(true).open(path).inspect_err(|_| signals::keep(path))
        });
        Ok(Self { name, to: To::Renamed(temporary.map_err(failure)?, target) })
    }

    /// Whether standard output is taken.
    pub fn is_standard(&self) -> bool {
        matches!(self.to, To::Standard)
    }

    /// Writes the array; on failure, no file of the output's name has appeared or changed.
    pub fn write(self, array: &Array) -> Result<(), Failure> {
        self.put(&[&npy::header(array.dtype(), &array.shape), array.values.as_bytes()])
    }

    /// Writes a text; on failure, no file of the output's name has appeared or changed.
    pub fn write_text(self, text: &str) -> Result<(), Failure> {
        self.put(&[text.as_bytes()])
    }

    fn put(self, parts: &[&[u8]]) -> Result<(), Failure> {
        let to = self.name.display().to_string();
        let failure = |why| Failure::Write { to, why };
        let put = |file: &mut dyn Write| {
            for part in parts {
                file.write_all(part)?;
            }
            file.flush()
        };
        match self.to {
            To::Standard => put(&mut io::stdout().lock()),
            To::Special(mut file) => put(&mut file),
            To::Renamed(mut file, target) => match put(file.as_file_mut()) {
                Ok(()) => {
                    let temporary = file.path().to_path_buf();
                    let done = file.persist(target).map(drop).map_err(|e| e.error);
                    signals::keep(&temporary);
                    done
                }
                Err(e) => Err(e),
            },
        }
        .map_err(failure)
    }
}
