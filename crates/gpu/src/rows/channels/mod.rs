//! Norms whose rows are channels, or groups of channels of a sample: [`group_norm`], [`batch_norm`], their gradients.
//!
//! Statistics and sums are reductions like any other; what becomes of elements is a kernel of its own. [`map`]: planned
//! once, run many times. [`steps`]: the launches. [`plan`]: which there are.

mod map;
mod once;
mod plan;
mod steps;

pub use map::{ChannelAddresses, ChannelArrays, ChannelMap};
pub use once::{
    batch_norm, batch_norm_backward, batch_norm_host, group_norm, group_norm_backward, group_norm_host,
    group_norm_noted,
};
