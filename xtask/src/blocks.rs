//! How many blocks a multiprocessor is to hold at once of each kernel. More of them keep the memory busy while some meet and
//! finish, but leave a thread fewer registers: the most that a kernel does not need the stack for are written down in
//! `crates/device/ptx/blocks.txt` by `cargo xtask ptx --tune`, and told to the driver in its PTX.

use crate::Error;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use warpfold_ptx::{Entry, ptxas};

/// Tried in this order. Blocks have 256 threads, so that five would leave 48 registers, too few for eight reads in flight.
const TRIED: [u32; 3] = [4, 3, 2];

/// Blocks by kernel.
pub type Blocks = BTreeMap<String, u32>;

/// What is written down.
pub fn read(folder: &Path) -> Result<Blocks, Error> {
    let text = std::fs::read_to_string(folder.join("blocks.txt"))?;
    let line = |line: &str| {
        let (name, blocks) = line.split_once(' ')?;
        Some((name.to_owned(), blocks.parse().ok()?))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Finds out, and writes it down.
pub fn tune(folder: &Path, entries: &[Entry]) -> Result<Blocks, Error> {
    let mut found = Blocks::new();
    for blocks in TRIED {
        let left: Vec<Entry> =
            entries.iter().filter(|e| is_production(&e.name) && !found.contains_key(&e.name)).cloned().collect();
        let bounded: Vec<Entry> = left.iter().map(|e| with(e, blocks)).collect();
        let memory = ptxas::memory(&bounded)?;
        found.extend(left.into_iter().filter(|e| memory.get(&e.name) == Some(&0)).map(|e| (e.name, blocks)));
    }
    let mut text = String::new();
    found.iter().for_each(|(name, blocks)| _ = writeln!(text, "{name} {blocks}"));
    std::fs::write(folder.join("blocks.txt"), text)?;
    Ok(found)
}

/// Tells the driver.
pub fn apply(entries: &mut [Entry], blocks: &Blocks) {
    for entry in entries.iter_mut().filter(|e| is_production(&e.name)) {
        *entry = with(entry, blocks.get(&entry.name).copied().unwrap_or(1));
    }
}

fn with(entry: &Entry, blocks: u32) -> Entry {
    let bounds = format!(".maxntid 256, 1, 1\n.minnctapersm {blocks}\n{{\n");
    Entry { name: entry.name.clone(), module: entry.module.replacen("{\n", &bounds, 1) }
}

/// Whether a kernel is the library's own, and not a rung of the ladder.
fn is_production(name: &str) -> bool {
    let class = name.split_once('_').map_or("", |(class, _)| class);
    ["rows", "short", "columns", "narrow", "shallow", "parts", "any"].contains(&class)
}
