//! How a fold walks memory: one file per class of shapes.
//!
//! - [`rows`]: each output's elements lie side by side; lanes of one or more warps, or blocks, share them.
//! - [`short`]: the same with so few elements that a warp takes many rows at once.
//! - [`tiny`]: the same with so few that a lane has all of a row.
//! - [`columns`]: outputs lie side by side; a lane walks down some of them.
//! - [`shallow`]: the same with so few rows that a lane takes all of its columns at once.
//! - [`describe`]: what the others do where every element goes up a tree and is looked at for extremes too.
//! - [`map`]: where the elements of a reduced sequence lie.
//! - [`parts`]: partial results of the above, from the workspace.

pub mod columns;
pub mod describe;
pub mod map;
pub mod panel;
pub mod parts;
pub mod piece;
pub mod rows;
pub mod shallow;
pub mod short;
pub mod split;
pub mod stack;
pub mod tiny;
pub mod warp;
