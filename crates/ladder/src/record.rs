//! What a run of the ladder found: the one form that every output (table, JSON, CSV, Markdown, SVG, HTML, docs) is made
//! of.

use serde::{Deserialize, Serialize};

/// One run of the ladder on one device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Of this format: 1.
    pub version: u32,
    /// `2026-11-20`.
    pub date: String,
    /// The command that made it.
    pub command: String,
    /// Of git, if known.
    pub revision: Option<String>,
    /// Where it ran.
    pub device: Device,
    /// What ran, in the order of the ladder. The same rung may appear with several sizes or dtypes.
    pub rungs: Vec<Run>,
}

/// A GPU, or the emulator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Device {
    /// `cuda` or `emulator`.
    pub kind: String,
    /// As the driver names it.
    pub name: String,
    /// Of the driver (CUDA version it supports), if a GPU.
    pub driver: Option<String>,
    /// Compute capability, as 9.0.
    pub capability: Option<String>,
    /// Multiprocessors.
    pub multiprocessors: Option<u32>,
    /// Bytes.
    pub l2_bytes: Option<u64>,
    /// From bus width and memory clock, in GB/s.
    pub peak_gbs: Option<f64>,
    /// What a plain read of the same bytes reaches, in GB/s.
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
    /// `a0`; also `read` (a plain read) and `production` rows.
    pub rung: String,
    /// Its title in words.
    pub title: String,
    /// `a`, `b`, `c`, or empty.
    pub family: String,
    /// `f32` or `i32`.
    pub dtype: String,
    /// Elements, or points.
    pub n: u64,
    /// Threads per block.
    pub block: u32,
    /// For family c.
    pub clusters: Option<u32>,
    /// For family c.
    pub coords: Option<u32>,
    /// Bytes read and written, each once.
    pub bytes: u64,
    /// Kernel launches per result.
    pub launches: u32,
    /// Whether the whole result was right, and within what.
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

/// What the check of the whole result said.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it passed.
    pub passed: bool,
    /// In words: the error, the tolerance and where it comes from, or what failed.
    pub detail: String,
    /// The faults that the emulator reported, as text (published forms).
    pub faults: Vec<String>,
}

/// What the emulator counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// At this many elements.
    pub counted_n: u64,
    /// Barriers per block, averaged over blocks.
    pub barriers_per_block: f64,
    /// Warp barriers per warp.
    pub warp_barriers: f64,
    /// In per cent.
    pub branch_efficiency: f64,
    /// Of 32, on average over issued steps.
    pub active_lanes: f64,
    /// `(degree, requests)`: shared requests that took that many wavefronts.
    pub bank_conflicts: Vec<(u32, u64)>,
    /// Shared wavefronts per request.
    pub shared_wavefronts_per_request: f64,
    /// Global 32-byte sectors per request.
    pub sectors_per_request: f64,
    /// Per element.
    pub shuffles_per_element: f64,
    /// Per element.
    pub atomics_per_element: f64,
    /// Global requests per element.
    pub global_requests_per_element: f64,
    /// Shared requests per element.
    pub shared_requests_per_element: f64,
}
