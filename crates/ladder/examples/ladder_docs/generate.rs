//! Gathers the sources of `docs/ladder.md`.

#[path = "../emulate/record.rs"]
pub mod emulated;
#[path = "../lecture/main.rs"]
mod lecture;

use std::path::{Path, PathBuf};
use warpfold_ladder::docs::{Sources, ladder};
use warpfold_ladder::record::Record;

type Error = Box<dyn std::error::Error>;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The page as it should be.
pub fn page() -> Result<String, Error> {
    let mut sources = Sources {
        // Enough elements that a6, whose number of blocks is limited, differs from a5.
        emulated: emulated::emulated(1 << 20),
        committed: Vec::new(),
        profiles: Vec::new(),
        lecture: lecture::SECTIONS.iter().map(|(name, print)| (*name, print())).collect(),
    };
    for folder in newest(&root().join("bench/record"))? {
        for path in entries(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let shown = path.strip_prefix(root())?.to_string_lossy().into_owned();
            if name.starts_with("ladder-") && name.ends_with(".json") {
                let record: Record = serde_json::from_str(&std::fs::read_to_string(&path)?)
                    .map_err(|e| format!("{shown} is no record of the ladder: {e}"))?;
                if record.device.kind != "emulator" {
                    sources.committed.push((shown, record));
                }
            } else if name.starts_with("ncu-") && name.ends_with(".csv") {
                sources.profiles.push((shown, std::fs::read_to_string(&path)?));
            }
        }
    }
    Ok(ladder(&sources)?)
}

/// The last folder by date of each device that has a record of the ladder.
fn newest(records: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_ladder = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("ladder-") && name.ends_with(".json")
    };
    let mut folders = Vec::new();
    for device in entries(records)? {
        let dates = entries(&device)?;
        let has_ladder = |date: &&PathBuf| entries(date).is_ok_and(|files| files.iter().any(is_ladder));
        folders.extend(dates.iter().rev().find(has_ladder).cloned());
    }
    Ok(folders)
}

/// The entries of a folder, sorted; none if there is no such folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<Result<Vec<_>, Error>>()?;
    paths.sort();
    Ok(paths)
}
