//! What to launch for points of a shape: plain values, made without a GPU.

use warpfold_core::DType;

use warpfold_kernels::block::THREADS;
use warpfold_kernels::kmeans::{
    Assign, AssignAt, Distance, DistanceAt, Totals, Unsure, Update, UpdateAt, assign, column, direct, finish, hopper,
    image, nearest, score, sort, tile, twice,
};
use warpfold_kernels::params::Params;

use super::Launch;

/// The layout of points in memory, and the number of clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// `f16`, `bf16`, `f32` or `f64`.
    pub dtype: DType,
    /// The number of points.
    pub n: usize,
    /// Coordinates of a point.
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
/// The same where labels are found: a multiple of those that run at once, two or three.
const SPREAD_LABELS: u32 = 6;
/// Slices at most: each sorts all labels again.
const SLICES: usize = 2;
/// Points of a stretch of a sorted list, at least and at most: more of them leave too few groups of lanes, fewer add
/// too often to global memory.
const STRETCH: (u64, u64) = (64, 192);
/// Lanes of a multiprocessor that add up such a list at once.
const LANES: u64 = 512;

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

    /// Bytes of a number that is computed with.
    fn computed_bytes(&self) -> usize {
        4 * self.words()
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

    /// The update: sums and counts are added to totals that were zero. All launches take the same addresses.
    #[must_use]
    pub fn update(&self, multiprocessors: u32) -> Vec<Launch<UpdateAt>> {
        let Some((reads, slices)) = self.in_tiles() else { return self.sorted(multiprocessors) };
        let narrow = self.dimensions == 1 && self.clusters <= column::CLUSTERS && !self.is_double();
        let tiles = (self.n as u64).div_ceil(tile::TILE as u64);
        let spread = multiprocessors as u64 * if narrow { SPREAD_NARROW } else { SPREAD };
        let blocks = spread.div_ceil(slices).min(tiles).max(1);
        let each = tiles.div_ceil(blocks).min(tile::MOST as u64).max(1);
        let finishes = self.finishes() as u32;
        let call = Update { slices: slices as u32, tiles: each as u32, finishes, ..self.call(reads) };
        // One block at least, which finishes.
        let grid = (tiles.div_ceil(each).max(1) * slices) as u32;
        let entry = if narrow { format!("kmeans_column_{}", self.dtype.name()) } else { self.entry("tile") };
        vec![launch(entry, grid, &call)]
    }

    /// The number of reads of a point that a block adds up in shared memory, and the number of slices that the point
    /// is cut into; none, if the sums do not fit shared memory.
    fn in_tiles(&self) -> Option<(usize, u64)> {
        let whole = self.dimensions / self.wide();
        // Reads whose sums have room.
        let most = tile::ROOM / (self.clusters * self.wide() * self.words());
        if self.clusters > finish::CLUSTERS || most == 0 || whole.div_ceil(most) > SLICES {
            return None;
        }
        let reads = whole.div_ceil(whole.div_ceil(most));
        Some((reads, whole.div_ceil(reads) as u64))
    }

    /// Coordinates, with padding, of a kernel that finds labels by tensor cores; none for f64, for more coordinates,
    /// and for more points or clusters than it can number.
    fn padded(&self) -> Option<usize> {
        let is_small = self.n <= nearest::MOST && self.clusters <= twice::MOST;
        let padded = score::PADDED.into_iter().find(|&padded| padded >= self.dimensions)?;
        (is_small && !self.is_double() && !self.is_direct()).then_some(padded)
    }

    /// Whether scores are computed as they are defined: of few coordinates and clusters.
    fn is_direct(&self) -> bool {
        !self.is_double() && self.dimensions <= direct::PADDED && self.clusters <= direct::CLUSTERS
    }

    /// Coordinates, with padding, of a kernel that settles all labels by itself, if there is one.
    fn alone(&self) -> Option<usize> {
        self.padded().filter(|&padded| score::is_twice(padded, false) && self.clusters * padded <= nearest::FEW)
    }

    /// Coordinates, with padding, of a kernel that lists the points whose labels it does not settle, if there is one.
    fn listed(&self) -> Option<usize> {
        self.padded().filter(|_| self.alone().is_none())
    }

    /// Whether a Hopper GPU has a kernel of its own for so many coordinates, with padding.
    fn is_hopper(&self, padded: usize) -> bool {
        padded >= 64 && self.clusters >= hopper::CLUSTERS
    }

    /// Bytes of what labels are found by: [`AssignAt::halves`].
    #[must_use]
    pub fn centroids(&self) -> usize {
        let Some(padded) = self.listed() else { return self.clusters * self.computed_bytes() };
        let image = if self.is_hopper(padded) { image::bytes(self.clusters, padded) } else { 0 };
        score::bytes(self.clusters, padded) + image
    }

    /// Words of the points whose labels are not sure at first: [`AssignAt::unsure`].
    #[must_use]
    pub fn unsure(&self) -> usize {
        self.listed().map_or(0, |_| Unsure::len(self.n))
    }

    /// The labels by the centroids, on a GPU of that compute capability.
    #[must_use]
    pub fn assign(&self, multiprocessors: u32, capability: (u32, u32)) -> Vec<Launch<AssignAt>> {
        let blocks = (self.n as u64).div_ceil(assign::POINTS as u64).max(1) as u32;
        let call = Assign {
            at: AssignAt::default(),
            n: self.n as u64,
            along: self.along as u64,
            across: self.across as u64,
            dimensions: self.dimensions as u32,
            clusters: self.clusters as u32,
            padded: 0,
            wide: (self.wide() > 1) as u32,
            image: 0,
            room: hopper::ROOM,
        };
        if self.is_direct() {
            let grid = (self.n as u64).div_ceil(direct::POINTS as u64).max(1) as u32;
            return vec![launch(format!("kmeans_direct_{}", self.dtype.name()), grid, &call)];
        }
        let Some(padded) = self.padded() else {
            let halves = (self.clusters as u32).div_ceil(THREADS);
            return vec![
                launch(self.computed("halves"), halves, &call),
                launch(format!("kmeans_assign_{}", self.dtype.name()), blocks, &call),
            ];
        };
        // The instructions of 9.0 are no other GPU's.
        let is_hopper = capability == (9, 0) && self.is_hopper(padded);
        let image = if is_hopper { (self.clusters as u32).next_multiple_of(image::TOGETHER) } else { 0 };
        let call = Assign { padded: padded as u32, image, ..call };
        let spread = multiprocessors * SPREAD_LABELS;
        let round = |name: &str, is_fine: bool| {
            let grid = (self.n as u64).div_ceil(nearest::points(is_fine) as u64).max(1) as u32;
            launch(format!("kmeans_{name}_{padded}_{}", self.dtype.name()), grid.min(spread), &call)
        };
        if self.alone().is_some() {
            return vec![round("near", false)];
        }
        let first = if is_hopper {
            let grid = (self.n as u64).div_ceil(image::POINTS as u64).max(1) as u32;
            let entry = format!("kmeans_hopper_{padded}_{}", self.dtype.name());
            Launch::new(entry, grid.min(multiprocessors * hopper::BLOCKS), image::THREADS, &call)
        } else {
            round("rough", false)
        };
        let centroids = image.max(self.clusters as u32).div_ceil(score::TOGETHER);
        vec![
            launch("kmeans_centroids".into(), centroids, &call),
            first,
            round("fine", true),
            launch(format!("kmeans_settle_{}", self.dtype.name()), blocks.min(spread), &call),
        ]
    }

    /// The squares of the distances to the centroids of the labels; up to [`warpfold_kernels::kmeans::distance::MOST`]
    /// coordinates.
    #[must_use]
    pub fn distances(&self) -> Launch<DistanceAt> {
        let grid = (self.n as u64).div_ceil(THREADS as u64).max(1) as u32;
        let call = Distance {
            at: DistanceAt::default(),
            n: self.n as u64,
            along: self.along as u64,
            across: self.across as u64,
            dimensions: self.dimensions as u32,
            clusters: self.clusters as u32,
        };
        launch(format!("kmeans_distance_{}", self.dtype.name()), grid, &call)
    }

    /// Whether the update needs room for an order of the points: a `u64` of each, and [`sort::cursors`].
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.update(1).len() > 1
    }

    fn sorted(&self, multiprocessors: u32) -> Vec<Launch<UpdateAt>> {
        let call = self.call(self.dimensions / self.wide());
        let (n, multiprocessors) = (self.n as u64, multiprocessors as u64);
        // So many groups of lanes have room at once.
        let room = (multiprocessors * LANES) >> call.abreast;
        let stretch = (n / room).clamp(STRETCH.0, STRETCH.1);
        let call = Update { stretch: stretch as u32, ..call };
        let launch = |entry: String, grid: u64, call: &Update| launch(entry, grid.max(1) as u32, call);
        let own = |each: usize| (THREADS as usize * each) as u64;
        let groups = self.clusters as u64 + n.div_ceil(stretch);
        vec![
            launch("kmeans_count".into(), n.div_ceil(sort::TILE as u64).min(multiprocessors * SPREAD), &call),
            launch("kmeans_offsets".into(), (self.clusters as u64).div_ceil(own(sort::EACH)), &call),
            launch("kmeans_scatter".into(), n.div_ceil(own(sort::EACH)), &call),
            launch(self.entry("gather"), (groups << call.abreast).div_ceil(THREADS as u64), &call),
        ]
    }

    fn call(&self, reads: usize) -> Update {
        Update {
            at: UpdateAt::default(),
            n: self.n as u64,
            along: self.along as u64,
            across: self.across as u64,
            dimensions: self.dimensions as u32,
            clusters: self.clusters as u32,
            sums: (self.dimensions * self.words()) as u32,
            reads: reads as u32,
            slices: 1,
            abreast: (reads as u32).next_power_of_two().ilog2().min(5),
            tiles: 1,
            stretch: 1,
            finishes: 0,
            unused: 0,
        }
    }

    /// From totals to means, unless the update does that ([`Problem::finishes`]).
    #[must_use]
    pub fn finish(&self) -> Launch<UpdateAt> {
        let grid = (self.clusters as u32).div_ceil(THREADS / 32);
        launch(self.computed("finish"), grid, &self.call(1))
    }

    /// Whether [`Problem::update`] makes the means.
    #[must_use]
    pub fn finishes(&self) -> bool {
        self.clusters * self.dimensions <= finish::FEW || self.in_tiles().is_none()
    }
}

fn launch<P: Params>(entry: String, grid: u32, params: &P) -> Launch<P::At> {
    Launch::new(entry, grid, THREADS, params)
}
