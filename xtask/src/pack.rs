//! The committed form of the kernels: `kernels.bin`, frames of zstd end to end, each of a few modules that are alike,
//! encoded; and `kernels.idx`, a line of `name frame packed offset length` for each: where its frame is, and where in
//! the frame it is.

use crate::error::Error;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use warpfold_ptx::Entry;

/// The decoder that the library has.
#[path = "../../crates/kernels/src/text.rs"]
mod text;

use text::Recent;

/// Modules of a frame. What neighbours have in common is stored once: the kernels take 2.8 MiB with 8, 2.2 MiB with
/// 32. But a first use unpacks a whole frame, and decodes one module of it: 2.8 ms of CPU with 32, where frames of 8
/// modules as text took 1.8 ms, and 4.5 MiB.
const TOGETHER: usize = 32;

/// Writes both files; returns the compressed size.
pub fn write(folder: &Path, entries: &[Entry]) -> Result<usize, Error> {
    let (mut index, mut frames) = (String::new(), Vec::new());
    for entries in together(entries) {
        let (frame, modules) = encode(entries)?;
        let packed = zstd::bulk::compress(&frame, *zstd::compression_level_range().end())?;
        for (Entry { name, module }, place) in entries.iter().zip(modules) {
            if text::decode(&frame, &frame[place.clone()]).as_ref() != Some(module) {
                return Err(format!("{name}: what is decoded is not its text").into());
            }
            index += &format!("{name} {} {} {} {}\n", frames.len(), packed.len(), place.start, place.len());
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
    let mut last = (usize::MAX, Vec::new());
    let mut entry = |line: &str| -> Result<Entry, Error> {
        let [name, numbers @ ..] = &line.split(' ').collect::<Vec<_>>()[..] else { unreachable!("a split has a part") };
        let numbers = numbers.iter().map(|n| n.parse()).collect::<Result<Vec<usize>, _>>()?;
        let [frame, packed, offset, length] = numbers[..] else {
            return Err(format!("strange index line `{line}`; run `cargo xtask ptx`").into());
        };
        if last.0 != frame {
            let bytes =
                frames.get(frame..).and_then(|rest| rest.get(..packed)).ok_or("the index points past the end")?;
            last = (frame, zstd::stream::decode_all(bytes)?);
        }
        let module = last.1.get(offset..).and_then(|rest| rest.get(..length)).ok_or("the index points past a frame")?;
        let module = text::decode(&last.1, module).ok_or_else(|| format!("{name} is damaged"))?;
        Ok(Entry { name: (*name).to_owned(), module })
    };
    index.lines().map(&mut entry).collect()
}

/// A frame that the library decodes, and where in it each module is.
fn encode(entries: &[Entry]) -> Result<(Vec<u8>, Vec<Range<usize>>), Error> {
    let (mut numbers, mut patterns) = (HashMap::new(), String::new());
    let mut modules = Vec::new();
    for Entry { module, .. } in entries {
        let (mut lines, mut ranks, mut recent) = (Vec::new(), Vec::new(), Recent::default());
        for line in module.lines() {
            let next = numbers.len();
            let number = *numbers.entry(pattern(line, &mut recent, &mut ranks)?).or_insert_with_key(|pattern| {
                patterns += pattern;
                patterns.push('\n');
                next
            });
            push(&mut lines, number)?;
        }
        modules.push([counted(&lines)?, ranks].concat());
    }
    let mut frame = counted(patterns.as_bytes())?;
    let places = modules.into_iter().map(|module| {
        let start = frame.len();
        frame.extend(module);
        start..frame.len()
    });
    let places = places.collect();
    Ok((frame, places))
}

/// A line with zero bytes in place of the numbers of registers, whose ranks are added.
fn pattern(line: &str, recent: &mut Recent, ranks: &mut Vec<u8>) -> Result<String, Error> {
    let (mut pattern, mut rest) = (String::new(), line);
    while let Some(start) = rest.find('%') {
        let class = start + 1 + leading(&rest[start + 1..], |c| c.is_ascii_lowercase());
        let end = class + leading(&rest[class..], |c| c.is_ascii_digit());
        pattern += &rest[..class];
        if end > class {
            pattern.push('\0');
            push(ranks, rank(recent, &rest[start + 1..class], rest[class..end].parse()?))?;
        }
        rest = &rest[end..];
    }
    Ok(pattern + rest)
}

/// Bytes after their number.
fn counted(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    Ok([&u32::try_from(bytes.len())?.to_le_bytes(), bytes].concat())
}

/// How many such characters a text begins with.
fn leading(text: &str, is_one: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_one(c)).unwrap_or(text.len())
}

/// The rank of a register, which is the last used from now on.
fn rank(recent: &mut Recent, class: &str, register: u16) -> usize {
    let registers = recent.more_than(class, usize::from(register));
    let rank = registers.iter().position(|&r| r == register).expect("all numbers up to its own are there");
    registers[..=rank].rotate_right(1);
    rank
}

/// Adds a number of up to 14 bits.
fn push(bytes: &mut Vec<u8>, number: usize) -> Result<(), Error> {
    match number {
        0..0x80 => bytes.push(number as u8),
        0x80..0x4000 => bytes.extend([number as u8 | 0x80, (number >> 7) as u8]),
        _ => return Err(format!("{number} is more than 14 bits: put fewer modules into a frame").into()),
    }
    Ok(())
}
