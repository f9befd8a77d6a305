//! NVIDIA GPUs. The driver is looked for when a device is asked for; nothing here needs it to be there before, and
//! without it everything is an [`Error`] that says so.
//!
//! [`open`] or [`shared`] a [`Device`]; from there on it is `warpfold_gpu`, which says what there is:
//!
//! - [`reduce_host`], [`stream_host`], [`describe_host`], [`segmented_host`], [`group_by_host`], [`unique_host`]:
//!   arrays in the host's memory, whole or in pieces.
//! - [`Array`] and [`ArrayView`] on the device: [`reduce()`], [`reduce_into`], [`describe`], and [`Reduction`] and
//!   [`Survey`], which are prepared once and run many times, also in a [`Graph`]; [`segmented`], [`group_by`],
//!   [`unique`], [`reduce_by_key`], [`bincount`], [`histogram`], and what each is prepared by. [`rows`] has softmax and
//!   norms, [`pool`] windows, [`select`] the first k of an order, [`kmeans`] centroid updates, iterations and fits.
//! - [`Elements`] of a type of one's own, by a reducer of one's own: [`Custom`].
//! - [`Buffer`], [`Kernel`] and [`Launch`]: any kernel. [`view`] takes what cudarc has allocated.

pub use warpfold_cuda::{Cudarc, Driver, devices, open, shared, view};
pub use warpfold_gpu::{
    Arg, Array, ArrayView, Buffer, Custom, CustomReduction, Device, Elements, ElementsView, End, Error, Event,
    Explanation, Finder, Graph, GroupReduction, Grouped, Groups, Handle, Histogram, Kernel, Launch, Launched, Options,
    PIECE, Pinned, Properties, Queue, Reduction, Runs, Runtime, Section, Segmented, Statistics, Stream, Survey, Unique,
    Wanted, bincount, bincount_host, describe, describe_groups_host, describe_host, describe_segments_host, ends_host,
    explain, explain_view, group_by, group_by_host, histogram, histogram_host, kmeans, pool, reduce, reduce_by_key,
    reduce_by_key_host, reduce_host, reduce_into, rows, segmented, segmented_host, select, stream_host, unique,
    unique_host,
};
