//! An array in a file: the bytes of its elements, and what its header says of them.

use std::io::Read;

use warpfold::ArrayRef;

use crate::error::{Extra, Failure, InputError};
use crate::mapping::{CopyError, Mapping, read_up_to, spool};
use crate::npy::{self, Header};
use crate::output::FileId;

/// An array in a file.
pub struct Source {
    /// The bytes of the elements.
    pub mapping: Mapping,
    /// Their dtype, shape and order.
    pub header: Header,
    /// The identity of the file, if an output might replace it.
    pub file: Option<FileId>,
}

impl Source {
    /// The array.
    pub fn array(&self) -> Result<ArrayRef<'_>, warpfold::Error> {
        let Header { dtype, ref shape, order, swapped, .. } = self.header;
        ArrayRef::from_bytes(self.mapping.bytes(), dtype, shape, order, swapped)
    }
}

/// Whether a file starts as a .zip file does (an empty one, too).
pub fn is_zip(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06")
}

/// Spools a .npy stream up to the length that its header states, and one byte more, which detects excess data. With
/// `archives`, also spools a .npz stream, all of it.
pub fn spool_npy(from: &mut dyn Read, name: &str, archives: bool) -> Result<Mapping, Failure> {
    let read = |e| copy_failure(CopyError::Read(e), name);
    let mut start = vec![0; npy::PREFIX];
    let n = read_up_to(from, &mut start).map_err(read)?;
    start.truncate(n);
    let limit = if start.starts_with(npy::MAGIC) {
        let offset = npy::offset(&start).map_err(|e| e.of(name))?;
        let n = start.len();
        start.resize(offset.max(n), 0);
        let more = read_up_to(from, &mut start[n..]).map_err(read)?;
        start.truncate(n + more);
        let header = npy::parse(&start).map_err(|e| e.of(name))?;
        let whole = offset as u64 + npy_len(&header)? as u64;
        (whole + 1).saturating_sub(start.len() as u64)
    } else if archives && is_zip(&start) {
        u64::MAX
    } else {
        return Err(not_npy(&start).of(name));
    };
    spool(&start, from, limit).map_err(|e| copy_failure(e, name))
}

/// The failure of a copy from the input `name`.
pub fn copy_failure(e: CopyError, name: &str) -> Failure {
    let name = if name == "-" { "standard input".to_string() } else { name.to_string() };
    match e {
        CopyError::Read(why) => Failure::Read { name, why },
        CopyError::Write(why) => Failure::Spool { name, why },
    }
}

/// The array of a .npy file. `stopped` says whether at most one byte after the array was read.
pub fn in_npy(mapping: Mapping, name: &str, stopped: bool) -> Result<Source, Failure> {
    let bytes = mapping.bytes();
    if !bytes.starts_with(npy::MAGIC) {
        return Err(not_npy(bytes).of(name));
    }
    let header = npy::parse(bytes).map_err(|e| e.of(name))?;
    let (expected, found) = (npy_len(&header)?, bytes.len() - header.offset);
    if found < expected {
        return Err(InputError::Truncated { expected: expected as u64, found: found as u64 }.of(name));
    }
    if found > expected {
        let extra = (found - expected) as u64;
        let extra = if stopped { Extra::AtLeast(extra) } else { Extra::Exactly(extra) };
        return Err(InputError::Trailing { expected: expected as u64, extra }.of(name));
    }
    let mapping = mapping.part(header.offset..header.offset + expected);
    Ok(Source { mapping, header, file: None })
}

fn npy_len(header: &Header) -> Result<usize, Failure> {
    header.bytes().ok_or_else(|| warpfold::Error::ShapeOverflow { shape: header.shape.clone() }.into())
}

fn not_npy(start: &[u8]) -> InputError {
    match start {
        [] => InputError::Empty,
        start if npy::MAGIC.starts_with(start) => {
            InputError::Truncated { expected: npy::PREFIX as u64, found: start.len() as u64 }
        }
        start => InputError::NotNpy { start: format!("\"{}\"", start[..start.len().min(8)].escape_ascii()) },
    }
}
