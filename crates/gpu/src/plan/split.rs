//! What to launch to part values by their labels: plain values, made without a GPU.

use warpfold_array::request::Spec;
use warpfold_array::{Op, Values};
use warpfold_core::DType;
use warpfold_kernels::split::{
    DIGITS, EIGHT, NODE, ROOM, SUM_THREADS, SUM_TILE, Split, SplitAt, SumsAt, SumsCall, THREADS, TILE, WIDE, Within,
};

use super::Launch;
use super::choose::{fast, recipe};
use super::sort::What;

/// Blocks of a scan for each multiprocessor.
const SCANS: u32 = 4;
/// The least number of elements.
const LEAST: usize = 4096;
/// The most of one part. On an H200, sums of f32 in 1024 groups take so, and by a sort: of 2^20 elements 48 and 71 µs,
/// of 2^22 96 and 127, of 2^24 299 and 331, of 2^26 1130 and 1110. In 10^6 groups, 2^20 take 67 and 105, but with a
/// second part, 2^22 take 286 and 192.
const MOST: usize = 1 << 24;
/// The least number of elements for each multiprocessor of which nodes are made. On an H200, sums of 2^26 f32 in 1024
/// groups took 768 µs so, and by a sort 1110; but in 16 groups 800 and 649, and in 10^6, after a part by ten bits,
/// 1900 and 1790. Fewer elements were not measured, nor were the kernels since parts were left out of them.
const NODES: usize = 1 << 17;
/// Chunks of counts for each chunk of nodes. Counting took 128 µs of those 768, with one block to a multiprocessor;
/// with many it takes 83.
const EACH: usize = 4;

/// Values of 4 bytes by labels: fewer than 2^30.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// The dtype of the labels.
    pub dtype: DType,
    /// The number of elements.
    pub n: usize,
    /// The number of groups.
    pub groups: usize,
    /// Of the GPU.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block can have there.
    pub shared_bytes: u32,
}

impl Problem {
    /// Whether that is faster than a sort: one part where a sort needs two passes, or sums in buckets where it needs
    /// three.
    #[must_use]
    pub fn is_good(&self, spec: &Spec, empty: Option<&Values>) -> bool {
        let one = (9..=10).contains(&self.bits()) && self.n <= MOST;
        self.n >= LEAST && (one || self.sums(spec, empty).is_some() || self.has_nodes(spec))
    }

    /// Whether nodes are made, in place of a part.
    #[must_use]
    pub fn has_nodes(&self, spec: &Spec) -> bool {
        (9..=10).contains(&self.bits())
            && self.n >= NODES * self.multiprocessors as usize
            && self.shared_bytes >= ROOM
            && spec.op == Op::Sum
            && fast(spec).is_some_and(|fold| fold.name == "sum_f32")
    }

    /// Nodes of groups, and eights.
    #[must_use]
    pub fn nodes(&self) -> [usize; 2] {
        [NODE, EIGHT].map(|each| self.n / each as usize + self.groups)
    }

    /// The launches that make nodes.
    #[must_use]
    pub fn make_nodes(&self, spec: &Spec) -> Vec<Launch<SplitAt>> {
        let chunk = self.n.div_ceil(EACH * self.multiprocessors as usize);
        let flags = recipe(spec, 0, true).flags;
        let call = Split { chunk: chunk as u32, chunks: self.n.div_ceil(chunk) as u32, flags, ..self.call() };
        let [count, starts, _] = self.part(&call);
        let call = Split { chunk: (EACH * chunk) as u32, chunks: call.chunks.div_ceil(EACH as u32), ..call };
        let wide = |entry, size| Launch::new(entry, call.chunks, WIDE, &Split { size, ..call });
        let joints = [EIGHT, NODE].map(|each| wide("split_joints_f32", each.ilog2()));
        [count, starts, wide("split_nodes_f32", 0)].into_iter().chain(joints).collect()
    }

    /// Bits of a label.
    fn bits(&self) -> u32 {
        usize::BITS - self.groups.saturating_sub(1).leading_zeros()
    }

    /// Bits of the second digit; none if one part is enough.
    fn low(&self) -> u32 {
        if self.bits() <= DIGITS.ilog2() { 0 } else { self.bits() / 2 }
    }

    /// Whether there are two parts.
    #[must_use]
    pub fn is_twice(&self) -> bool {
        self.low() > 0
    }

    /// The values of the first digit.
    #[must_use]
    pub fn buckets(&self) -> usize {
        ((self.groups - 1) >> self.low()) + 1
    }

    /// Chunks: of a tile each.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.n.div_ceil(TILE as usize)
    }

    /// Words of the rows of counts, and of the totals.
    #[must_use]
    pub fn count_words(&self) -> [usize; 2] {
        let buckets = if self.is_twice() { self.buckets() } else { 1 };
        [buckets + self.chunks(), buckets].map(|rows| rows * DIGITS as usize)
    }

    /// The two launches before a part, and the part.
    fn part(&self, call: &Split) -> [Launch<SplitAt>; 3] {
        let scans = (call.buckets << call.slices).min(SCANS * self.multiprocessors);
        let launch = |entry, grid| Launch::new(entry, grid, THREADS, call);
        [launch("split_count", call.chunks), launch("split_starts", scans), launch("split_pass", call.chunks)]
    }

    fn call(&self) -> Split {
        Split {
            at: SplitAt::default(),
            n: self.n as u64,
            elements: What::Labels { groups: self.groups }.elements(self.dtype),
            low: self.low(),
            digits: self.buckets() as u32,
            buckets: 1,
            chunks: self.chunks() as u32,
            chunk: TILE,
            parts: self.buckets() as u32,
            slices: 7,
            most: SUM_TILE,
            asked: 0,
            first: 1,
            bits: self.bits() - self.low(),
            flags: 0,
            size: 0,
            each: EACH as u32,
        }
    }

    /// The first part.
    #[must_use]
    pub fn first(&self) -> [Launch<SplitAt>; 3] {
        self.part(&self.call())
    }

    /// The second one: of what the first has left of the labels, if sums say that it has to be.
    #[must_use]
    pub fn second(&self) -> [Launch<SplitAt>; 3] {
        let elements = What::Labels { groups: 1 << 16 }.elements(DType::U16);
        let (buckets, digits) = (self.buckets() as u32, 1 << self.low());
        let parts = self.groups as u32;
        let call = Split { elements, low: 0, digits, buckets, parts, slices: 4, asked: 1, first: 0, ..self.call() };
        self.part(&call)
    }

    /// Whether a block can have a bucket to itself: of random labels, few exceed the mean by half.
    fn is_short(&self) -> bool {
        let is_short = || {
            let each = self.n / self.buckets();
            each + each / 2 < SUM_TILE as usize
        };
        (17..=20).contains(&self.bits()) && is_short()
    }

    /// The sums of groups without a second part; none if these values are reduced otherwise.
    #[must_use]
    pub fn sums(&self, spec: &Spec, empty: Option<&Values>) -> Option<Launch<SumsAt>> {
        if !self.is_short() || fast(spec)?.name != "sum_f32" {
            return None;
        }
        let mut word = [0; 8];
        let bytes = empty?.as_bytes();
        word[..bytes.len()].copy_from_slice(bytes);
        let shape =
            Within { groups: self.groups as u64, digits: 1 << self.low(), unused: 0, empty: u64::from_le_bytes(word) };
        let call = SumsCall { at: SumsAt::default(), recipe: recipe(spec, 0, true), shape };
        Some(Launch::new("split_sums_f32", self.buckets() as u32, SUM_THREADS, &call))
    }
}
