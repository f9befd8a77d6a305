//! How many blocks a multiprocessor is to hold at once of each kernel. More of them keep the memory busy while some
//! meet and finish, but leave a thread fewer registers. `crates/kernels/ptx/blocks.txt` has the numbers, which the
//! driver is told in the kernels' PTX: of most, the most for which `ptxas` needs no stack, as `cargo xtask ptx --tune`
//! finds; of those marked `measured`, what a GPU was fastest with, even if it then needs some (bench/tune). Of
//! these, `staged_sum_f32` was not timed: it keeps the three that it had before it came to need 8 bytes of stack; so do
//! `runs_describe_bf16`, `staged_` of `count_b1`, `max_b1`, `minmax_b2`, `minmax_b4`, `var_b1` and `var_b8`, and, with
//! up to 92 bytes where segments end, `stretches_` of `logsumexp_f64`, `sum2_f16`, `sum2_bf16`, `var_f32`, `var_f16`
//! and `var_bf16`; and
//! `rowlonger_cross_entropy_bf16`, with 24 bytes where rows end, was timed with its two blocks alone; and so, with up
//! to 32 bytes, were `rowwise_log_softmax_`, its gradients and `rowshort_softmax_` of 16 bits,
//! `rowwise_cross_entropy_f16`, and `rowlonger_` gradients of layer norm of 16 bits with what they had before;
//! `rowlonger_` norms of f32, `rowshort_layer_norm_` but of f64, its gradients and those of `rowshort_rms_norm_` of 16
//! bits, `rowshort_rms_norm_f16`, `rowshort_cross_entropy_bf16` and `rowshort_softmax_backward_f32`, with up to 168
//! bytes, were
//! timed with what they had before, too. Two were timed as they lost a block to 4 bytes of spills: on an H200, max f32
//! (1,33554432,2) along axis 0 (`staged_max_b4`) took 163 us with three and 204 with two, argmax f16 (6,11320,494,4)
//! along axis 2 (`staged_argmax_b2`) 159 and 183.
//! `shallow_` kernels of sums of f32, f16 and bf16, of `argmax_b1` and `argmax_b4` were timed with what they have now
//! alone, with up to 32 bytes; those whose code for few rows changed with them have what they had.
//! `select_` kernels have four, with up to 220 bytes where candidates are put down or leave: with none of these bytes
//! and two to three blocks they took a third longer (`bench/record/nvidia-h200/2026-11-30/select.txt`).
//! `abreast_` kernels have two, timed with three before rows were read ahead, and with two alone since.
//! `pool_few_` and `pool_patch_` kernels have four, with up to 40 bytes, where two without any were slower: means of
//! 3 by 3 of bf16 1263 us and 800 (`windows-few.json` and `windows.json` of the same day). Those of f64, which have
//! two, were not timed.
//! Sweeps (`rowswept_`) have one, of more threads: with two, those of bf16 spilled and took 255 us for 242 (rms norm
//! (32768,4096)), 390 for 285 (layer norm).

use crate::error::Error;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use warpfold_ptx::{Entry, ptxas};

/// Tried in this order. Blocks have 256 threads, so that five would leave 48 registers, too few for eight reads in
/// flight: no kernel was faster so on an H200, and rows and columns took a quarter longer.
const TRIED: [u32; 3] = [4, 3, 2];

/// The number of blocks of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    blocks: u32,
    /// Found on a GPU, and not by `ptxas`.
    pub measured: bool,
}

/// By kernel.
pub type Blocks = BTreeMap<String, Bound>;

/// Reads the committed numbers.
pub fn read(folder: &Path) -> Result<Blocks, Error> {
    std::fs::read_to_string(folder.join("blocks.txt"))?.lines().map(line).collect()
}

/// `rows_sum_f32 4`, or `rows_sum_f32 4 measured`.
fn line(text: &str) -> Result<(String, Bound), Error> {
    let words: Vec<&str> = text.split(' ').collect();
    let bound = match words[..] {
        [_, blocks] => blocks.parse().ok().map(|blocks| Bound { blocks, measured: false }),
        [_, blocks, "measured"] => blocks.parse().ok().map(|blocks| Bound { blocks, measured: true }),
        _ => None,
    };
    let bound =
        bound.ok_or_else(|| format!("blocks.txt: `{text}` is no kernel and a number, with or without `measured`"))?;
    Ok((words[0].to_owned(), bound))
}

/// Finds out what nobody has measured, and writes it down.
pub fn tune(folder: &Path, entries: &[Entry]) -> Result<Blocks, Error> {
    let is_there = |name: &String| entries.iter().any(|e| e.name == *name);
    let mut found: Blocks =
        read(folder)?.into_iter().filter(|(name, bound)| bound.measured && is_there(name)).collect();
    for blocks in TRIED {
        let left: Vec<Entry> =
            entries.iter().filter(|e| is_production(&e.name) && !found.contains_key(&e.name)).cloned().collect();
        let bounded: Vec<Entry> = left.iter().map(|e| with(e, blocks)).collect();
        let uses = ptxas::uses(&bounded)?;
        let fits = left.into_iter().filter(|e| uses.iter().any(|u| u.entry == e.name && u.memory == 0));
        found.extend(fits.map(|e| (e.name, Bound { blocks, measured: false })));
    }
    let mut text = String::new();
    for (name, Bound { blocks, measured }) in &found {
        let _ = writeln!(text, "{name} {blocks}{}", if *measured { " measured" } else { "" });
    }
    std::fs::write(folder.join("blocks.txt"), text)?;
    Ok(found)
}

/// Tells the driver.
pub fn apply(entries: &mut [Entry], blocks: &Blocks) {
    for entry in entries.iter_mut().filter(|e| is_production(&e.name)) {
        *entry = with(entry, blocks.get(&entry.name).map_or(1, |bound| bound.blocks));
    }
}

fn with(entry: &Entry, blocks: u32) -> Entry {
    let threads = threads(&entry.name);
    let bounds = format!(".maxntid {threads}, 1, 1\n.minnctapersm {blocks}\n{{\n");
    Entry { name: entry.name.clone(), module: entry.module.replacen("{\n", &bounds, 1) }
}

/// Threads of a block.
fn threads(name: &str) -> u32 {
    match name {
        "split_count" | "split_starts" | "split_pass" => 512,
        "split_nodes_f32" | "split_joints_f32" => 1024,
        name if name.starts_with("rowswept_") => 32 * if name.ends_with("_f32") { 32 } else { 16 },
        name if name.starts_with("tiled_") => 128,
        _ => 256,
    }
}

/// Whether a kernel is the library's own, and not a rung of the ladder.
fn is_production(name: &str) -> bool {
    let class = name.split_once('_').map_or("", |(class, _)| class);
    [
        "rows",
        "runs",
        "staged",
        "tiled",
        "abreast",
        "columns",
        "apart",
        "narrow",
        "shallow",
        "beside",
        "transpose",
        "single",
        "any",
        "segments",
        "stretches",
        "kmeans",
        "sort",
        "group",
        "split",
        "rowwise",
        "rowlonger",
        "rowfolded",
        "rowshort",
        "rowswept",
        "pool",
        "channel",
        "select",
        "zip",
    ]
    .contains(&class)
}
