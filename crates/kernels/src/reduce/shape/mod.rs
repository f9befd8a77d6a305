//! How a fold walks memory: one file per class of shapes.
//!
//! - [`rows`]: each output's elements lie side by side; lanes of one or more warps, or blocks, share them.
//! - [`beside`]: the same of few outputs that lie side by side, if their rows follow one another without gaps.
//! - [`columns`]: outputs lie side by side; a lane walks down some of them.
//! - [`shallow`]: the same with so few rows that a lane takes all of its columns at once.
//! - [`staged`]: outputs of so few bytes that a warp takes many, by way of shared memory ([`stage`]).
//! - `lines`: the same where a line of memory has whole outputs.
//! - `turns`: the same where an output's elements are in several runs.
//! - `twins`: the same where a lane takes two outputs of 2 bytes at once.
//! - [`abreast`]: columns that follow one another, whose neighbours lie side by side; leaves parts for `rows`.
//! - [`tiled`]: outputs whose elements lie in another order than that of the tree; leaves parts for `rows`.
//! - [`describe`]: what the others do where every element goes up a tree and is looked at for extremes too.
//! - `hands`: packs that change hands, so that a lane has a stretch of its tile to itself.
//! - [`map`]: where the elements of a reduced sequence lie.
//! - [`slots`]: where parts of columns meet in a block.
//! - `narrow`: results of 1 and 2 bytes, written by lines.
//! - [`parts`]: partial results of the above, from the workspace.

pub mod abreast;
pub mod beside;
pub mod columns;
pub mod describe;
mod hands;
mod lines;
pub mod map;
mod narrow;
pub mod panel;
pub mod parts;
pub mod piece;
pub mod rows;
pub mod shallow;
pub mod slots;
pub mod split;
pub mod stack;
pub mod stage;
pub mod staged;
pub mod tiled;
mod turns;
mod twins;
pub mod warp;
