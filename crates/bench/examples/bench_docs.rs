//! Writes the tables of `docs/benchmarking.md` from the committed records, the newest of each device; with `--check`, fails if they
//! are not what would be written. `cargo xtask docs` runs this.

use std::path::{Path, PathBuf};

use warpfold_bench::record::Record;
use warpfold_bench::render;

const BEGIN: &str = "<!-- tables: begin (`cargo xtask docs` writes this) -->\n";
const END: &str = "<!-- tables: end -->\n";

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/benchmarking.md");
    let committed = std::fs::read_to_string(&path)?;
    let marked = committed.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = marked.ok_or("docs/benchmarking.md has lost its marks for tables")?;
    let page = format!("{before}{BEGIN}\n{}{END}{after}", tables(&root)?);
    if !std::env::args().any(|word| word == "--check") {
        return Ok(std::fs::write(path, page)?);
    }
    match committed == page {
        true => Ok(()),
        false => Err("docs/benchmarking.md is not what the records say: run `cargo xtask docs`".into()),
    }
}

fn tables(root: &Path) -> Result<String, Error> {
    let mut text = String::new();
    for device in entries(&root.join("bench/record"))? {
        for path in newest(&device)? {
            let shown = path.strip_prefix(root)?.to_string_lossy().into_owned();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let device = device.file_name().unwrap_or_default().to_string_lossy();
            let title = format!("### {device}: {}\n\n", name.trim_start_matches("bench-").trim_end_matches(".json"));
            text += &format!("{title}{}\nFrom [{name}](../{shown}).\n\n", render::markdown(&Record::read(&path)?));
        }
    }
    Ok(if text.is_empty() { "No record is committed yet.\n\n".into() } else { text })
}

/// The records of the last date that has any.
fn newest(device: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_record = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("bench-") && name.ends_with(".json")
    };
    for date in entries(device)?.iter().rev() {
        let records: Vec<PathBuf> = entries(date)?.into_iter().filter(is_record).collect();
        if !records.is_empty() {
            return Ok(records);
        }
    }
    Ok(Vec::new())
}

/// What is in a folder, sorted; nothing if it is none.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<Result<Vec<_>, Error>>()?;
    paths.sort();
    Ok(paths)
}
