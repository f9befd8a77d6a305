//! Members of .npz archives: mapped in place if they are stored, spooled if they are compressed. Either way their
//! checksum is verified before anything is computed.

use std::ffi::OsStr;
use std::io::Cursor;

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::error::{Failure, InputError};
use crate::mapping::Mapping;
use crate::names::{escaped, shown};
use crate::source::{Source, in_npy, spool_npy};

/// The number of bytes whose checksum one thread computes.
const SHARE: usize = 8 << 20;

/// The array `wanted` of an archive, or the only one. `name` is for messages.
pub fn member(mapping: Mapping, name: &str, wanted: Option<&OsStr>) -> Result<Source, Failure> {
    let mut archive = ZipArchive::new(Cursor::new(mapping.bytes())).map_err(|e| because(e).of(name))?;
    let (index, found) = choose(&archive, wanted).map_err(|e| e.of(name))?;
    let full_name = format!("{name}:{}", escaped(found.trim_end_matches(".npy")));
    let of = |why: InputError| why.of(&full_name);
    let entry = archive.by_index_raw(index).map_err(|e| of(because(e)))?;
    if entry.encrypted() {
        return Err(of(InputError::Encrypted));
    }
    match entry.compression() {
        CompressionMethod::Stored => {}
        CompressionMethod::Deflated => {
            drop(entry);
            let mut file = archive.by_index(index).map_err(|e| of(because(e)))?;
            let spooled = spool_npy(&mut file, &full_name, false).map_err(|failure| match failure {
                // A member that cannot be unpacked is an error of the archive, not of the system.
                Failure::Read { why, .. } => of(InputError::Zip(why.to_string())),
                other => other,
            })?;
            return in_npy(spooled, &full_name, true);
        }
        other => return Err(of(InputError::Method(method(other)))),
    }
    let checksum = entry.crc32();
    let start = entry.data_start().and_then(|at| usize::try_from(at).ok());
    let part = start.and_then(|start| {
        let end = start.checked_add(usize::try_from(entry.compressed_size()).ok()?)?;
        (end <= mapping.bytes().len()).then_some(start..end)
    });
    drop(entry);
    drop(archive);
    let part = part.ok_or_else(|| of(InputError::Zip("a member lies outside of the file".into())))?;
    let stored = mapping.part(part);
    if crc32(stored.bytes()) != checksum {
        return Err(of(InputError::Zip("its checksum is another".into())));
    }
    in_npy(stored, &full_name, false)
}

/// The checksum of a stored member, by several threads if it is long.
fn crc32(bytes: &[u8]) -> u32 {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(bytes.len() / SHARE).max(1);
    let of = |part: &[u8]| {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(part);
        hasher
    };
    let mut parts = bytes.chunks(bytes.len().div_ceil(threads).max(1));
    let first = parts.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| scope.spawn(move || of(part))).collect();
        let mut whole = of(first);
        for other in others {
            whole.combine(&other.join().expect("a checksum is no more than arithmetic"));
        }
        whole.finalize()
    })
}

/// The input's error for an error of the archive's reader.
fn because(e: ZipError) -> InputError {
    match e {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => InputError::Encrypted,
        ZipError::UnsupportedArchive(why) => InputError::Archive(why.into()),
        other => InputError::Zip(escaped(&other.to_string())),
    }
}

/// The name of an unsupported compression method.
fn method(method: CompressionMethod) -> String {
    match method {
        CompressionMethod::DEFLATE64 => "deflate64".into(),
        CompressionMethod::BZIP2 => "bzip2".into(),
        CompressionMethod::LZMA => "lzma".into(),
        CompressionMethod::XZ => "xz".into(),
        CompressionMethod::ZSTD | CompressionMethod::ZSTD_DEPRECATED => "zstd".into(),
        CompressionMethod::PPMD => "ppmd".into(),
        other => format!("a method that is not known ({other:?})"),
    }
}

/// The member's place and full name.
fn choose(archive: &ZipArchive<Cursor<&[u8]>>, wanted: Option<&OsStr>) -> Result<(usize, String), InputError> {
    let mut members: Vec<String> =
        archive.file_names_raw().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let for_people = |members: Vec<String>| members.iter().map(|member| escaped(member)).collect();
    let at = match wanted {
        Some(wanted) => {
            let name = wanted.to_string_lossy();
            let find = |name: &str| members.iter().position(|member| member == name);
            match find(&name).or_else(|| find(&format!("{name}.npy"))) {
                Some(at) => at,
                None => return Err(InputError::NoMember { name: shown(wanted), members: for_people(members) }),
            }
        }
        None if members.is_empty() => return Err(InputError::NoMembers),
        None if members.len() > 1 => return Err(InputError::WhichMember { members: for_people(members) }),
        None => 0,
    };
    Ok((at, members.swap_remove(at)))
}
