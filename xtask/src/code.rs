//! `cargo xtask code`: machine code of the kernels that most first uses need, so that the driver need not compile them.
//! `code.txt` says which, and for which GPUs: `rows_sum_f32 80 90`, by compute capability without the dot; code for 8.0
//! runs on all 8.x. `code.bin` has frames of zstd end to end, and `code.idx` a line of `kernel.gpu frame packed
//! offset length of` for each: where its frame is, where in the frame it is, and a checksum of the PTX that it is of.
//! Another GPU, or an older driver, compiles the PTX.

use crate::error::Error;
use std::path::Path;
use warpfold_ptx::{Entry, ptxas};

#[path = "../../crates/kernels/src/upgrade.rs"]
mod upgrade;

use upgrade::upgraded;

/// Images of a frame. A first use unpacks a whole one.
const TOGETHER: usize = 4;

/// A kernel for a GPU.
struct Wanted<'a> {
    entry: &'a Entry,
    gpu: String,
}

/// What `code.txt` asks for, neighbours being for the same GPU.
fn wanted<'a>(folder: &Path, entries: &'a [Entry]) -> Result<Vec<Wanted<'a>>, Error> {
    let list = std::fs::read_to_string(folder.join("code.txt"))?;
    let mut all = Vec::new();
    for line in list.lines() {
        let (name, gpus) = line.split_once(' ').ok_or_else(|| format!("code.txt: `{line}` names no GPU"))?;
        let entry = entries.iter().find(|e| e.name == name);
        let entry = entry.ok_or_else(|| format!("code.txt: there is no kernel {name}"))?;
        all.extend(gpus.split(' ').map(|gpu| Wanted { entry, gpu: gpu.to_owned() }));
    }
    all.sort_by(|a, b| (&a.gpu, &a.entry.name).cmp(&(&b.gpu, &b.entry.name)));
    Ok(all)
}

/// An entry as GPUs from this compute capability on have it.
pub fn newer(entry: &Entry, capability: (u32, u32)) -> Entry {
    Entry { module: upgraded(entry.module.clone(), capability), ..entry.clone() }
}

/// Its machine code.
fn image(wanted: &Wanted<'_>) -> Result<Vec<u8>, Error> {
    let number: u32 = wanted.gpu.parse().map_err(|_| format!("code.txt: `{}` is no GPU", wanted.gpu))?;
    Ok(ptxas::image(&newer(wanted.entry, (number / 10, number % 10)), &wanted.gpu)?)
}

/// Assembles, and writes both files; returns how many images there are, and their compressed size.
pub fn write(folder: &Path, entries: &[Entry]) -> Result<(usize, usize), Error> {
    let (mut index, mut frames) = (String::new(), Vec::new());
    let all = wanted(folder, entries)?;
    for own in all.chunk_by(|a, b| a.gpu == b.gpu).flat_map(|own| own.chunks(TOGETHER)) {
        let images = own.iter().map(image).collect::<Result<Vec<_>, _>>()?;
        let packed = zstd::bulk::compress(&images.concat(), *zstd::compression_level_range().end())?;
        let mut offset = 0;
        for (Wanted { entry, gpu }, image) in own.iter().zip(images) {
            let (name, of) = (&entry.name, crc32fast::hash(entry.module.as_bytes()));
            index += &format!("{name}.{gpu} {} {} {offset} {} {of}\n", frames.len(), packed.len(), image.len());
            offset += image.len();
        }
        frames.extend(packed);
    }
    std::fs::write(folder.join("code.idx"), index)?;
    std::fs::write(folder.join("code.bin"), &frames)?;
    Ok((all.len(), frames.len()))
}

/// What is not machine code of these kernels, or is missing.
pub fn differences(folder: &Path, entries: &[Entry], again: &str) -> Result<Vec<String>, Error> {
    let index = std::fs::read_to_string(folder.join("code.idx"))?;
    let there = |w: &Wanted<'_>| {
        let (head, of) = (format!("{}.{} ", w.entry.name, w.gpu), crc32fast::hash(w.entry.module.as_bytes()));
        index.lines().any(|line| line.starts_with(&head) && line.ends_with(&format!(" {of}")))
    };
    let all = wanted(folder, entries)?;
    let mut wrong: Vec<String> = all
        .iter()
        .filter(|w| !there(w))
        .map(|w| format!("{}: its machine code for {} is of other PTX; run `{again}`", w.entry.name, w.gpu))
        .collect();
    if index.lines().count() != all.len() {
        wrong.push(format!("code.idx has other kernels than code.txt; run `{again}`"));
    }
    Ok(wrong)
}
