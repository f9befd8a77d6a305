//! Computation on a GPU: plans, which are plain values, and sequences of allocations, copies and launches.
//!
//! Sequences are written once, over the trait [`Runtime`], which a GPU's driver implements, and an emulator. A
//! [`Device`] is a runtime; [`Stream`]s are its queues. There are three levels:
//!
//! - Arrays in the host's memory, whole or in pieces: [`reduce_host`], [`stream_host`], [`describe_host`],
//!   [`segmented_host`], [`group_by_host`], [`unique_host`].
//! - [`Array`] and [`ArrayView`] on the device. In one call: [`reduce()`], [`describe`], [`segmented`], [`group_by`],
//!   [`unique`], [`reduce_by_key`], [`bincount`], [`histogram`]. Prepared once and run many times, also in a
//!   [`Graph`]: [`Reduction`], [`Survey`], [`Segmented`], [`Grouped`], [`Finder`]. [`Groups`] and [`Runs`] keep an
//!   order for several reductions. [`rows`] has softmax and norms, [`pool`] windows, [`select`] the first k
//!   of an order, [`kmeans`] centroid updates, iterations and fits. [`Custom`] reduces [`Elements`] of a user's type.
//! - [`Buffer`], [`Kernel`] and [`Launch`]: any kernel.
//!
//! Calls that could harm memory are `unsafe` and few: [`Launch::queue`], [`ArrayView::from_raw`],
//! [`ElementsView::from_raw`], [`Stream::capture`], [`Custom::new`].

pub mod plan;
pub mod runtime;

mod array;
mod buffer;
mod device;
mod elements;
mod event;
mod graph;
mod host;
mod keys;
pub mod kmeans;
mod launch;
mod options;
mod origin;
pub mod pool;
pub mod ptx;
mod queue;
mod reduce;
pub mod rows;
mod scratch;
mod segments;
pub mod select;
mod stream;
mod view;

pub use array::Array;
pub use buffer::{Buffer, Pinned};
pub use device::Device;
pub use elements::{Elements, ElementsView};
pub use event::Event;
pub use graph::Graph;
pub use host::pieces::{PIECE, describe_host, reduce_host, stream_host};
pub use keys::{
    End, Finder, GroupReduction, Grouped, Groups, Histogram, Runs, Unique, Wanted, bincount, bincount_host,
    describe_groups_host, describe_segments_host, ends_host, group_by, group_by_host, histogram, histogram_host,
    reduce_by_key, reduce_by_key_host, unique, unique_host,
};
pub use launch::{Arg, Kernel, Launch};
pub use options::Options;
pub use queue::Queue;
pub use reduce::custom::{Custom, CustomReduction};
pub use reduce::describe::{Section, Statistics, Survey, describe};
pub use reduce::explain::{Explanation, Launched, explain, explain_view};
pub use reduce::once::{reduce, reduce_into};
pub use reduce::reduction::Reduction;
pub use runtime::{Handle, Properties, Runtime};
pub use segments::segmented::{Segmented, segmented, segmented_host};
pub use stream::Stream;
pub use view::ArrayView;
pub use warpfold_array::CudaError as Error;
