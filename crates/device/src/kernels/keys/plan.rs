//! What to launch for points of a shape: plain values, made without a GPU.

use warpfold_core::DType;

use super::{Totals, Update, assign, column, distance, finish, nearest, sort, tile};
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
    /// `f16`, `bf16`, `f32` or `f64`.
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
/// The same where each block has much to do in the end.
const SPREAD_NARROW: u64 = 2;
/// Slices at most: each sorts all labels again.
const SLICES: usize = 2;
/// Points that a group of lanes adds up of a sorted list: more of them leave too few groups, fewer add too often to global memory.
const STRETCH: u32 = 64;

impl Problem {
    /// Elements that a lane reads at once.
    fn wide(&self) -> usize {
        let size = self.dtype.size();
        let aligned = self.address.is_multiple_of(16) && self.along % 16 == 0 && self.across == size as isize;
        if aligned && (self.dimensions * size).is_multiple_of(16) { 16 / size } else { 1 }
    }

    /// Words of a sum.
    fn words(&self) -> usize {
        if self.is_double() { 2 } else { 1 }
    }

    fn is_double(&self) -> bool {
        self.dtype == DType::F64
    }

    /// A kernel that knows only in what points are computed.
    fn computed(&self, kind: &str) -> String {
        format!("kmeans_{kind}{}", if self.is_double() { "_f64" } else { "" })
    }

    /// Words of the totals.
    #[must_use]
    pub fn totals(&self) -> usize {
        Totals::len(self.clusters, self.dimensions * self.words())
    }

    fn entry(&self, kind: &str) -> String {
        let any = if self.wide() == 1 { "any_" } else { "" };
        format!("kmeans_{kind}_{any}{}", self.dtype.name())
    }

    /// The update: sums and counts are added to totals that were zero. Each launch starts with the same [`ADDRESSES`](super::ADDRESSES) addresses.
    #[must_use]
    pub fn update(&self, multiprocessors: u32) -> Vec<Launch> {
        let Some((reads, slices)) = self.in_tiles() else { return self.sorted(multiprocessors) };
        let narrow = self.dimensions == 1 && self.clusters <= column::CLUSTERS && !self.is_double();
        let tiles = (self.n as u64).div_ceil(tile::TILE as u64);
        let spread = multiprocessors as u64 * if narrow { SPREAD_NARROW } else { SPREAD };
        let blocks = spread.div_ceil(slices).min(tiles).max(1);
        let each = tiles.div_ceil(blocks).min(tile::MOST as u64).max(1);
        let finishes = self.finishes() as u32;
        let call = Update { slices: slices as u32, each: each as u32, finishes, ..self.call(reads) };
        // One block at least, which finishes.
        let grid = (tiles.div_ceil(each).max(1) * slices) as u32;
        let entry = if narrow { format!("kmeans_column_{}", self.dtype.name()) } else { self.entry("tile") };
        vec![Launch { entry, grid, block: tile::THREADS, params: words(&call) }]
    }

    /// How many reads of a point a block adds up in shared memory, and in how many slices that is all; none, if they have no room there.
    fn in_tiles(&self) -> Option<(usize, u64)> {
        let whole = self.dimensions / self.wide();
        // Reads whose sums have room.
        let most = tile::ROOM / (self.clusters * self.wide() * self.words());
        if self.clusters > tile::CLUSTERS || most == 0 || whole.div_ceil(most) > SLICES {
            return None;
        }
        let reads = whole.div_ceil(whole.div_ceil(most));
        Some((reads, whole.div_ceil(reads) as u64))
    }

    /// A whole iteration in one launch, for few coordinates and clusters, but not f64: labels by the centroids, and their update.
    #[must_use]
    pub fn iterate(&self, multiprocessors: u32) -> Option<Launch> {
        if self.is_double() {
            return None;
        }
        let room = if self.wide() == 1 { &[4, 16][..] } else { &[16, 32] };
        let padded = *room.iter().find(|&&d| d >= self.dimensions)?;
        let compared = self.clusters.next_multiple_of(nearest::TOGETHER);
        if compared > tile::CLUSTERS || compared * padded > nearest::ROOM {
            return None;
        }
        let reads = self.dimensions / self.wide();
        let tiles = (self.n as u64).div_ceil(tile::TILE as u64).max(1);
        let each = tiles.div_ceil(multiprocessors as u64 * SPREAD).min(tile::MOST as u64);
        let call = Update { each: each as u32, finishes: self.finishes() as u32, ..self.call(reads) };
        let any = if self.wide() == 1 { "any_" } else { "" };
        let entry = format!("kmeans_iterate_{any}{padded}_{}", self.dtype.name());
        Some(Launch { entry, grid: tiles.div_ceil(each) as u32, block: tile::THREADS, params: words(&call) })
    }

    /// The labels by the centroids.
    #[must_use]
    pub fn assign(&self) -> [Launch; 2] {
        let params = words(&self.call(1));
        let launch = |entry: String, grid: u64| Launch {
            entry,
            grid: grid as u32,
            block: assign::THREADS,
            params: params.clone(),
        };
        [
            launch(self.computed("halves"), (self.clusters as u64).div_ceil(assign::THREADS as u64)),
            launch(
                format!("kmeans_assign_{}", self.dtype.name()),
                (self.n as u64).div_ceil(assign::POINTS as u64).max(1),
            ),
        ]
    }

    /// The squares of the distances to the centroids of the labels; up to [`distance::MOST`] coordinates.
    #[must_use]
    pub fn distances(&self) -> Launch {
        let grid = (self.n as u64).div_ceil(distance::THREADS as u64).max(1) as u32;
        let entry = format!("kmeans_distance_{}", self.dtype.name());
        Launch { entry, grid, block: distance::THREADS, params: words(&self.call(1)) }
    }

    /// Whether the update needs room for an order of the points: a `u64` of each, and a `u32` of each cluster and one more.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.update(1).len() > 1
    }

    fn sorted(&self, multiprocessors: u32) -> Vec<Launch> {
        let call = self.call(self.dimensions / self.wide());
        let tiles = (self.n as u64).div_ceil(sort::TILE as u64).max(1);
        let each = tiles.div_ceil(multiprocessors as u64 * SPREAD);
        let by_tiles = Update { each: each as u32, dimensions: (self.dimensions * self.words()) as u32, ..call };
        let by_points = Update { each: STRETCH, ..call };
        let launch = |entry: String, grid: u64, block: u32, call: &Update| Launch {
            entry,
            grid: grid.max(1) as u32,
            block,
            params: words(call),
        };
        let groups = (self.n as u64).div_ceil(STRETCH as u64);
        vec![
            launch("kmeans_count".into(), tiles.div_ceil(each), sort::THREADS, &by_tiles),
            launch("kmeans_offsets".into(), 1, sort::THREADS, &by_tiles),
            launch("kmeans_scatter".into(), tiles.div_ceil(each), sort::THREADS, &by_tiles),
            launch(
                self.entry("gather"),
                (groups << call.abreast).div_ceil(sort::THREADS as u64),
                sort::THREADS,
                &by_points,
            ),
        ]
    }

    fn call(&self, reads: usize) -> Update {
        Update {
            points: 0,
            labels: 0,
            scales: 0,
            totals: 0,
            order: 0,
            cursors: 0,
            centroids: 0,
            centre: 0,
            report: 0,
            means: 0,
            counts: 0,
            units: 0,
            before: 0,
            moves: 0,
            n: self.n as u64,
            along: self.along as u64,
            across: self.across as u64,
            dimensions: self.dimensions as u32,
            clusters: self.clusters as u32,
            reads: reads as u32,
            slices: 1,
            abreast: (reads as u32).next_power_of_two().ilog2().min(5),
            each: 1,
            finishes: 0,
            unused: 0,
        }
    }

    /// From totals to means, unless the update's last block does that ([`Problem::finishes`]).
    #[must_use]
    pub fn finish(&self) -> Launch {
        let grid = (self.clusters as u32).div_ceil(tile::THREADS / 32);
        Launch { entry: self.computed("finish"), grid, block: tile::THREADS, params: words(&self.call(1)) }
    }

    /// Whether the last block of [`Problem::update`], and of [`Problem::iterate`], makes the means.
    #[must_use]
    pub fn finishes(&self) -> bool {
        self.clusters * self.dimensions <= finish::FEW && self.in_tiles().is_some()
    }
}
