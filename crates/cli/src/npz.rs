//! Members of .npz archives: mapped in place if they are stored, spooled if they are compressed.

use std::io::Cursor;

use zip::CompressionMethod;
use zip::ZipArchive;

use crate::error::{Failure, InputError};
use crate::input::{Source, in_npy, spool_npy};
use crate::mapping::Mapping;

/// Whether a file starts as a .zip file does (an empty one, too).
pub fn is_zip(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06")
}

/// The array `wanted` of an archive, or the only one.
pub fn member(mapping: Mapping, name: &str, wanted: Option<&str>) -> Result<Source, Failure> {
    let damaged = |e: zip::result::ZipError| InputError::Zip(e.to_string()).of(name);
    let mut archive = ZipArchive::new(Cursor::new(mapping.bytes())).map_err(damaged)?;
    let (index, found) = choose(&archive, wanted).map_err(|e| e.of(name))?;
    let full_name = format!("{name}:{}", found.trim_end_matches(".npy"));
    let mut file = archive.by_index(index).map_err(damaged)?;
    if file.compression() != CompressionMethod::Stored {
        let spooled = spool_npy(&mut file, &full_name, false).map_err(|failure| match failure {
            // What cannot be unpacked is the archive's fault, not the system's.
            Failure::Read { why, .. } => InputError::Zip(why.to_string()).of(&full_name),
            other => other,
        })?;
        return in_npy(spooled, &full_name, true);
    }
    let start = file.data_start().and_then(|at| usize::try_from(at).ok());
    let part = start.and_then(|start| {
        let end = start.checked_add(usize::try_from(file.compressed_size()).ok()?)?;
        (end <= mapping.bytes().len()).then_some(start..end)
    });
    drop(file);
    drop(archive);
    let part = part.ok_or_else(|| InputError::Zip("a member lies outside of the file".into()).of(&full_name))?;
    in_npy(mapping.part(part), &full_name, false)
}

/// The member's place and full name.
fn choose(archive: &ZipArchive<Cursor<&[u8]>>, wanted: Option<&str>) -> Result<(usize, String), InputError> {
    let mut members: Vec<String> =
        archive.file_names_raw().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let at = match wanted {
        Some(wanted) => {
            let find = |name: &str| members.iter().position(|member| member == name);
            let found = find(wanted).or_else(|| find(&format!("{wanted}.npy")));
            found.ok_or_else(|| InputError::NoMember { name: wanted.into(), members: members.clone() })?
        }
        None if members.is_empty() => return Err(InputError::NoMembers),
        None if members.len() > 1 => return Err(InputError::WhichMember { members }),
        None => 0,
    };
    Ok((at, members.swap_remove(at)))
}
