//! From an INPUT argument to an array in memory.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read;
#[cfg(unix)]
use std::io::Seek;
use std::path::Path;

use warpfold::{DType, Order};

use crate::error::{Extra, Failure, InputError};
use crate::mapping::{Mapping, spool};
use crate::names::shown;
use crate::npy::{self, Header};
use crate::npz;
use crate::output::FileId;
use crate::source::{Source, copy_failure, in_npy, is_zip, spool_npy};

/// How to read data that have no header.
#[derive(Clone, Debug)]
pub struct Raw {
    /// The dtype of the elements.
    pub dtype: DType,
    /// Whether the byte order is not this machine's.
    pub swapped: bool,
    /// The shape, in C order.
    pub shape: Vec<usize>,
}

/// Opens `-`, `FILE`, or `FILE.npz:MEMBER`.
pub fn open(name: &OsStr, raw: Option<&Raw>) -> Result<Source, Failure> {
    if name == "-" {
        return standard_input(raw);
    }
    let (path, member) = split(name);
    let of = |why: InputError| why.of(&shown(path));
    let file = File::open(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            let is_archive = name.as_encoded_bytes().ends_with(b".npz");
            of(InputError::NotFound(is_archive.then(|| "give FILE.npz or FILE.npz:MEMBER".to_string())))
        }
        _ => of(InputError::Open(e.to_string())),
    })?;
    let metadata = file.metadata().map_err(|e| of(InputError::Open(e.to_string())))?;
    if metadata.is_dir() {
        return Err(of(InputError::Directory));
    }
    if metadata.is_file() {
        let mapping = Mapping::new(&file, 0).map_err(|why| Failure::Read { name: shown(path), why })?;
        return in_file(mapping, &metadata, &shown(path), member, raw);
    }
    streamed(file, &shown(path), member, raw)
}

/// Splits off a member's name, which follows `.npz:`, unless a file of the whole name exists.
fn split(name: &OsStr) -> (&OsStr, Option<&OsStr>) {
    let bytes = name.as_encoded_bytes();
    match bytes.windows(5).position(|window| window == b".npz:") {
        Some(at) if !Path::new(name).exists() => {
            // SAFETY: the name is cut beside an ASCII character, as `from_encoded_bytes_unchecked` demands.
            let part = |part| unsafe { OsStr::from_encoded_bytes_unchecked(part) };
            (part(&bytes[..at + 4]), Some(part(&bytes[at + 5..])))
        }
        _ => (name, None),
    }
}

/// A file redirected to standard input is mapped like any other.
#[cfg(unix)]
fn standard_input(raw: Option<&Raw>) -> Result<Source, Failure> {
    use std::os::fd::AsFd;
    let read = |why| Failure::Read { name: "standard input".into(), why };
    let mut file = File::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(read)?);
    let metadata = file.metadata().map_err(read)?;
    if metadata.is_dir() {
        return Err(InputError::Directory.of("-"));
    }
    if metadata.is_file() {
        let position = file.stream_position().map_err(read)?;
        return in_file(Mapping::new(&file, position).map_err(read)?, &metadata, "-", None, raw);
    }
    streamed(file, "-", None, raw)
}

#[cfg(not(unix))]
fn standard_input(raw: Option<&Raw>) -> Result<Source, Failure> {
    streamed(std::io::stdin(), "-", None, raw)
}

/// The array of a regular file.
fn in_file(
    mapping: Mapping,
    metadata: &Metadata,
    name: &str,
    member: Option<&OsStr>,
    raw: Option<&Raw>,
) -> Result<Source, Failure> {
    let source = in_mapping(mapping, name, member, raw, false)?;
    Ok(Source { file: FileId::of(metadata), ..source })
}

/// The array of an input that can be read only once, from front to back. `name` is for messages.
fn streamed(mut from: impl Read, name: &str, member: Option<&OsStr>, raw: Option<&Raw>) -> Result<Source, Failure> {
    let spooled = match raw {
        Some(raw) => spool(&[], &mut from, raw_len(raw)? as u64 + 1).map_err(|e| copy_failure(e, name))?,
        None => spool_npy(&mut from, name, true)?,
    };
    in_mapping(spooled, name, member, raw, true)
}

fn in_mapping(
    mapping: Mapping,
    name: &str,
    member: Option<&OsStr>,
    raw: Option<&Raw>,
    stopped: bool,
) -> Result<Source, Failure> {
    let bytes = mapping.bytes();
    if let Some(raw) = raw {
        let (expected, found) = (raw_len(raw)?, bytes.len());
        if expected != found {
            let stopped = stopped && found > expected;
            let found = if stopped { Extra::AtLeast(found as u64) } else { Extra::Exactly(found as u64) };
            let Raw { dtype, shape, .. } = raw.clone();
            return Err(InputError::RawLength { shape, dtype, expected: expected as u64, found }.of(name));
        }
        let Raw { dtype, swapped, shape } = raw.clone();
        let header = Header { dtype, swapped, shape, order: Order::C, offset: 0 };
        return Ok(Source { mapping, header, file: None });
    }
    if is_zip(bytes) {
        return npz::member(mapping, name, member);
    }
    if let (true, Some(member)) = (bytes.starts_with(npy::MAGIC), member) {
        return Err(InputError::NotNpz(shown(member)).of(name));
    }
    in_npy(mapping, name, stopped)
}

fn raw_len(raw: &Raw) -> Result<usize, Failure> {
    npy::byte_len(&raw.shape, raw.dtype)
        .ok_or_else(|| warpfold::Error::ShapeOverflow { shape: raw.shape.clone() }.into())
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
