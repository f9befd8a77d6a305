//! NVIDIA GPUs, by the driver's own interface. The driver is looked for when a device is asked for; nothing here needs it
//! to be there before, and without it everything is an [`Error`] that says so.
//!
//! [`Driver::load`] → [`Device::open`] → [`Stream`], and then on three levels:
//!
//! - [`reduce_host`], [`stream_host`], [`describe_host`], [`segmented_host`], [`group_by_host`], [`unique_host`]: arrays in the host's memory, whole or in pieces.
//! - [`Array`] and [`ArrayView`] on the device: [`reduce`], [`reduce_into`], [`describe`], and [`Reduction`] and [`Survey`], which are
//!   prepared once and run many times, also in a [`Graph`]. [`segmented`] and [`Segmented`] are the same of segments, [`group_by`],
//!   [`Groups`] and [`Grouped`] of groups, [`unique`] and [`Finder`] find distinct values; [`reduce_by_key`], [`bincount`].
//! - [`kmeans`]: centroid updates, iterations and fits of points on the device.
//! - [`Elements`] of a type of one's own, by a reducer of one's own: [`Custom`].
//! - [`Buffer`], [`Kernel`] → [`Launch`], which [`Program`] wraps for the ladder. Calls that could harm memory are `unsafe` and
//!   few: [`Launch::queue`], [`ArrayView::from_raw`], [`Stream::capture`], [`Custom::new`].

mod array;
mod buffer;
mod custom;
mod cut;
mod describe;
mod device;
mod driver;
mod elements;
mod explain;
mod gather;
mod graph;
mod host;
mod keys;
pub mod kmeans;
mod launch;
mod module;
mod options;
mod program;
mod reduce;
mod reduction;
mod rows;
mod said;
mod scratch;
mod segments;
mod stream;
mod transfer;

pub use array::{Array, ArrayView, Cudarc};
pub use buffer::{Buffer, Pinned};
pub use custom::{Custom, CustomReduction};
pub use describe::{Statistics, Survey, describe};
pub use device::{Device, Properties, devices};
pub use driver::Driver;
pub use elements::{Elements, ElementsView};
pub use explain::{Explanation, Launched, explain};
pub use graph::Graph;
pub use host::{PIECE, describe_host, reduce_host, stream_host};
pub use keys::{
    End, Finder, GroupReduction, Grouped, Groups, Histogram, Runs, Unique, Wanted, bincount, bincount_host,
    describe_groups_host, describe_segments_host, ends_host, group_by, group_by_host, histogram, histogram_host,
    reduce_by_key, reduce_by_key_host, unique, unique_host,
};
pub use launch::{Arg, Launch};
pub use module::Kernel;
pub use options::Options;
pub use program::{Inputs, Program, Work};
pub use reduce::{reduce, reduce_into};
pub use reduction::Reduction;
pub use segments::{Segmented, segmented, segmented_host};
pub use stream::{Event, Stream};
pub use warpfold_array::CudaError as Error;
