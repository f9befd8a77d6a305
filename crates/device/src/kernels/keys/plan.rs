//! What to launch for points of a shape: plain values, made without a GPU.

use warpfold_core::DType;

use super::finish::{self, Finish};
use super::{Update, tile};
use crate::kernels::recipe::words;

/// One launch of an update or an assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel.
    pub entry: String,
    /// Blocks.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// Its parameter, whose addresses are still to be filled in.
    pub params: Vec<u64>,
}

/// Points as they lie in memory, and into how many clusters they go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// `f16`, `bf16` or `f32`.
    pub dtype: DType,
    /// How many.
    pub n: usize,
    /// Coordinates of each.
    pub dimensions: usize,
    /// Bytes from one point to the next.
    pub along: isize,
    /// Bytes from one coordinate to the next.
    pub across: isize,
    /// Where the first is; only how it is aligned counts.
    pub address: u64,
    /// Clusters.
    pub clusters: usize,
}

/// Blocks for each multiprocessor.
const SPREAD: u64 = 4;

impl Problem {
    /// Elements that a lane reads at once.
    fn wide(&self) -> usize {
        let size = self.dtype.size();
        let aligned = self.address.is_multiple_of(16) && self.along % 16 == 0 && self.across == size as isize;
        if aligned && (self.dimensions * size).is_multiple_of(16) { 16 / size } else { 1 }
    }

    fn entry(&self, kind: &str) -> String {
        let any = if self.wide() == 1 { "any_" } else { "" };
        format!("kmeans_{kind}_{any}{}", self.dtype.name())
    }

    /// The update: sums and counts are added to totals that were zero.
    #[must_use]
    pub fn update(&self, multiprocessors: u32) -> Vec<Launch> {
        let wide = self.wide();
        // Coordinates of a slice whose sums have room: as many in each.
        let whole = self.dimensions / wide;
        let slices = whole.div_ceil(tile::ROOM / (self.clusters * wide));
        let reads = whole.div_ceil(slices);
        let slices = whole.div_ceil(reads) as u64;
        let tiles = (self.n as u64).div_ceil(tile::TILE as u64);
        let blocks = (multiprocessors as u64 * SPREAD).div_ceil(slices).min(tiles).max(1);
        let each = tiles.div_ceil(blocks).min(tile::MOST as u64).max(1);
        let call = Update {
            points: 0,
            labels: 0,
            scales: 0,
            totals: 0,
            n: self.n as u64,
            along: self.along as u64,
            across: self.across as u64,
            dimensions: self.dimensions as u32,
            clusters: self.clusters as u32,
            reads: reads as u32,
            slices: slices as u32,
            abreast: (reads as u32).next_power_of_two().min(32),
            each: each as u32,
        };
        let grid = (tiles.div_ceil(each) * slices) as u32;
        vec![Launch { entry: self.entry("tile"), grid, block: tile::THREADS, params: words(&call) }]
    }

    /// From totals to means.
    #[must_use]
    pub fn finish(&self) -> Launch {
        let call = Finish {
            means: 0,
            counts: 0,
            totals: 0,
            units: 0,
            before: 0,
            moves: 0,
            report: 0,
            dimensions: self.dimensions as u32,
            clusters: self.clusters as u32,
        };
        let grid = (self.clusters as u32).div_ceil(finish::THREADS / 32);
        Launch { entry: "kmeans_finish".into(), grid, block: finish::THREADS, params: words(&call) }
    }
}
