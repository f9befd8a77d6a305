//! The committed form of the kernels: `kernels.bin`, frames of zstd end to end, each of a few modules that are alike,
//! and `kernels.idx`, a line of `name frame packed offset length` for each: where its frame is, and where in the frame
//! it is.

use crate::error::Error;
use std::path::Path;
use warpfold_ptx::Entry;

/// Modules of a frame. What neighbours have in common is stored once: 4 take 58 % of the bytes that each deflated by
/// itself takes, 8 55 %, all of a shape 50 %; but a first use unpacks a whole frame.
const TOGETHER: usize = 8;

/// Writes both files; returns the compressed size.
pub fn write(folder: &Path, entries: &[Entry]) -> Result<usize, Error> {
    let (mut index, mut frames) = (String::new(), Vec::new());
    for entries in together(entries) {
        let text: String = entries.iter().map(|entry| entry.module.as_str()).collect();
        let packed = zstd::bulk::compress(text.as_bytes(), *zstd::compression_level_range().end())?;
        let mut offset = 0;
        for Entry { name, module } in entries {
            index += &format!("{name} {} {} {offset} {}\n", frames.len(), packed.len(), module.len());
            offset += module.len();
        }
        frames.extend(packed);
    }
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("kernels.idx"), index)?;
    std::fs::write(folder.join("kernels.bin"), &frames)?;
    Ok(frames.len())
}

/// Neighbours of one shape, which is what a name begins with.
fn together(entries: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    fn shape(entry: &Entry) -> Option<&str> {
        entry.name.split('_').next()
    }
    entries.chunk_by(|a, b| shape(a) == shape(b)).flat_map(|alike| alike.chunks(TOGETHER))
}

/// Reads them.
pub fn read(folder: &Path) -> Result<Vec<Entry>, Error> {
    let missing = |e| format!("{}: {e}; run `cargo xtask ptx`", folder.display());
    let index = std::fs::read_to_string(folder.join("kernels.idx")).map_err(missing)?;
    let frames = std::fs::read(folder.join("kernels.bin")).map_err(missing)?;
    let mut last = (usize::MAX, String::new());
    let mut entry = |line: &str| -> Result<Entry, Error> {
        let [name, numbers @ ..] = &line.split(' ').collect::<Vec<_>>()[..] else { unreachable!("a split has a part") };
        let numbers = numbers.iter().map(|n| n.parse()).collect::<Result<Vec<usize>, _>>()?;
        let [frame, packed, offset, length] = numbers[..] else {
            return Err(format!("strange index line `{line}`; run `cargo xtask ptx`").into());
        };
        if last.0 != frame {
            let bytes =
                frames.get(frame..).and_then(|rest| rest.get(..packed)).ok_or("the index points past the end")?;
            last = (frame, String::from_utf8(zstd::stream::decode_all(bytes)?)?);
        }
        let module = last.1.get(offset..).and_then(|rest| rest.get(..length)).ok_or("the index points past a frame")?;
        Ok(Entry { name: (*name).to_owned(), module: module.to_owned() })
    };
    index.lines().map(&mut entry).collect()
}
