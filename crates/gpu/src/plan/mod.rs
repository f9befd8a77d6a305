//! What a GPU is to launch: plain values, made without a GPU.
//!
//! `choose` finds the fold of a reduction, `planner` its shape, `panels` that of columns, `staged` that of outputs of
//! few elements, `single` of one; `share` says how the work is shared out, and the numbers that tune it are in
//! `policy`. `subtrees`, `abreast`, `tiled`, `parts` and `twice` reduce in two launches, and `transpose` copies what no
//! shape reads well; `chunk` cuts a row into launches. `segments`, [`sort`], [`split`], [`rows`], [`rowwise`] (of rows
//! that lie as [`row_layout`] says), `together`, [`channels`], [`pool`], [`zip`] and [`kmeans`] plan other families.

mod abreast;
pub mod channels;
mod choose;
mod chunk;
mod copy;
mod crossed;
mod custom;
mod described;
pub mod kmeans;
mod launch;
mod limits;
mod near;
mod nodes;
mod panels;
mod parts;
mod patches;
mod planner;
mod policy;
pub mod pool;
mod reduce;
mod reordered;
mod rounds;
pub mod row_layout;
pub mod rows;
pub mod rowsums;
pub mod rowwise;
mod segments;
pub mod select;
mod share;
mod single;
pub mod sort;
pub mod split;
mod staged;
mod subtrees;
mod tiled;
mod together;
mod transpose;
mod truths;
mod turns;
mod twice;
mod units;
#[cfg(test)]
mod ways;
pub mod zip;

pub use chunk::Chunk;
pub use described::{DESCRIBED, described_bytes};
pub use launch::Launch;
pub use limits::Limits;
pub use reduce::GpuPlan;
pub use segments::{Cut, reads_offsets};
