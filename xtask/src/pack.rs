//! The committed form of the kernels: `kernels.bin`, the deflated modules end to end, and `kernels.idx`, a line of
//! `name offset length` for each.

use crate::Error;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec;
use std::path::Path;
use warpfold_ptx::Entry;

/// Writes both files; returns the compressed size.
pub fn write(folder: &Path, entries: &[Entry]) -> Result<usize, Error> {
    let (mut index, mut modules) = (String::new(), Vec::new());
    for entry in entries {
        let packed = compress_to_vec(entry.module.as_bytes(), 10);
        index += &format!("{} {} {}\n", entry.name, modules.len(), packed.len());
        modules.extend(packed);
    }
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("kernels.idx"), index)?;
    std::fs::write(folder.join("kernels.bin"), &modules)?;
    Ok(modules.len())
}

/// Reads them.
pub fn read(folder: &Path) -> Result<Vec<Entry>, Error> {
    let missing = |e| format!("{}: {e}; run `cargo xtask ptx`", folder.display());
    let index = std::fs::read_to_string(folder.join("kernels.idx")).map_err(missing)?;
    let modules = std::fs::read(folder.join("kernels.bin")).map_err(missing)?;
    let entry = |line: &str| -> Result<Entry, Error> {
        let [name, offset, length] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("strange index line `{line}`").into());
        };
        let (offset, length): (usize, usize) = (offset.parse()?, length.parse()?);
        let packed = modules.get(offset..offset + length).ok_or("the index points past the end")?;
        let module = String::from_utf8(decompress_to_vec(packed).map_err(|e| e.to_string())?)?;
        Ok(Entry { name: name.to_owned(), module })
    };
    index.lines().map(entry).collect()
}
