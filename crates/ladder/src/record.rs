//! The record of a run of the ladder, which every output (table, JSON, CSV, Markdown, SVG, HTML, docs) is made of.

use serde::{Deserialize, Serialize};

/// One run of the ladder on one device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format: 1.
    pub version: u32,
    /// The date, such as `2026-11-20`.
    pub date: String,
    /// The command that made the record.
    pub command: String,
    /// The revision in git, if known.
    pub revision: Option<String>,
    /// The device of the run.
    pub device: Device,
    /// The runs, in the order of the ladder. A rung may appear with several sizes or dtypes.
    pub rungs: Vec<Run>,
}

/// A GPU, or the emulator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Device {
    /// The kind of device: `cuda` or `emulator`.
    pub kind: String,
    /// The name, as the driver reports it.
    pub name: String,
    /// The CUDA version that the driver supports, if the device is a GPU.
    pub driver: Option<String>,
    /// The compute capability, such as 9.0.
    pub capability: Option<String>,
    /// The number of multiprocessors.
    pub multiprocessors: Option<u32>,
    /// The bytes of second-level cache.
    pub l2_bytes: Option<u64>,
    /// The peak bandwidth, from bus width and memory clock, in GB/s.
    pub peak_gbs: Option<f64>,
    /// The bandwidth of a plain read of the same bytes, in GB/s.
    pub read_gbs: Option<f64>,
}

impl Device {
    /// The emulator.
    pub fn emulator() -> Device {
        Device {
            kind: "emulator".to_owned(),
            name: "Warpfold's emulator".to_owned(),
            driver: None,
            capability: None,
            multiprocessors: None,
            l2_bytes: None,
            peak_gbs: None,
            read_gbs: None,
        }
    }
}

/// One rung, on one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The name of the rung, such as `a0`, or `read` (a plain read).
    pub rung: String,
    /// The title.
    pub title: String,
    /// The family: `a`, `b`, `c`, or empty.
    pub family: String,
    /// The dtype: `f32` or `i32`.
    pub dtype: String,
    /// The number of elements, or of points.
    pub n: u64,
    /// Threads per block.
    pub block: u32,
    /// The number of clusters, for family c.
    pub clusters: Option<u32>,
    /// The number of coordinates, for family c.
    pub coords: Option<u32>,
    /// The bytes read and written, each counted once.
    pub bytes: u64,
    /// Kernel launches per result.
    pub launches: u32,
    /// Whether the whole result was right, and within which tolerance.
    pub verdict: Verdict,
    /// Device time per result, in nanoseconds; empty in the emulator.
    pub samples_ns: Vec<u64>,
    /// Whether inputs came from memory: "cold: 6 inputs in turn, 768 MiB > 50 MiB L2".
    pub cache: Option<String>,
    /// Published microseconds, if any.
    pub published_us: Option<f64>,
    /// From the emulator (at `counted_n` elements, which may be smaller than n).
    pub counters: Option<Counts>,
}

/// The outcome of checking the whole result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it passed.
    pub passed: bool,
    /// The error and the derivation of the tolerance, or what failed.
    pub detail: String,
    /// The faults that the emulator reported, as text (published forms).
    pub faults: Vec<String>,
}

/// The counters of the emulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// The number of elements that were counted.
    pub counted_n: u64,
    /// Barriers per block, averaged over blocks.
    pub barriers_per_block: f64,
    /// Warp barriers per warp.
    pub warp_barriers: f64,
    /// The branch efficiency in per cent.
    pub branch_efficiency: f64,
    /// The active lanes of 32, averaged over issued steps.
    pub active_lanes: f64,
    /// `(degree, requests)`: the number of shared requests that took `degree` wavefronts.
    pub bank_conflicts: Vec<(u32, u64)>,
    /// Shared wavefronts per request.
    pub shared_wavefronts_per_request: f64,
    /// Global 32-byte sectors per request.
    pub sectors_per_request: f64,
    /// Shuffles per element.
    pub shuffles_per_element: f64,
    /// Atomics per element.
    pub atomics_per_element: f64,
    /// Global requests per element.
    pub global_requests_per_element: f64,
    /// Shared requests per element.
    pub shared_requests_per_element: f64,
}
