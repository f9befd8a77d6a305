//! What to launch to sort elements, and to make something of them: plain values, made without a GPU.

use warpfold_core::{DType, bf16, f16};

use warpfold_kernels::block::THREADS;
use warpfold_kernels::group::offsets::{Offsets, OffsetsAt, Places, PlacesAt};
use warpfold_kernels::params::Params;
use warpfold_kernels::sort::distinct::{self, Distinct, DistinctAt};
use warpfold_kernels::sort::heads::{self, Counts, CountsAt, Heads, HeadsAt};
use warpfold_kernels::sort::key::{Elements, kind};
use warpfold_kernels::sort::state::{self, BLOCKS};
use warpfold_kernels::sort::{Sort, SortAt, count};

use super::Launch;

/// Keys of a thread in a pass, of keys of 4 bytes that carry nothing, and 4 bytes, and of all others.
pub const OWN: [u32; 3] = [24, 16, 12];

/// Blocks of counting for each multiprocessor.
const SPREAD: u64 = 6;
/// Blocks of what takes a number for each thread, for each multiprocessor.
const NUMBERS: u64 = 16;

/// What is sorted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// Values, by their order.
    Values,
    /// Values of up to 4 bytes, by all but their lowest bits: for [`Problem::distinct`].
    Buckets,
    /// Labels, ascending; labels of no group come last.
    Labels {
        /// The number of groups.
        groups: usize,
    },
}

impl What {
    /// What elements of a dtype are.
    pub(super) fn elements(self, dtype: DType) -> Elements {
        let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
        let (kind, bound) = match self {
            What::Labels { groups } => (if signed { kind::SIGNED_LABEL } else { kind::LABEL }, groups as u64),
            _ if signed => (kind::SIGNED, 0),
            _ => match dtype {
                DType::F16 => (kind::FLOAT, f16::INFINITY.to_bits() as u64),
                DType::BF16 => (kind::FLOAT, bf16::INFINITY.to_bits() as u64),
                DType::F32 => (kind::FLOAT, f32::INFINITY.to_bits() as u64),
                DType::F64 => (kind::FLOAT, f64::INFINITY.to_bits()),
                DType::Bool => (kind::TRUTH, 0),
                _ => (kind::UNSIGNED, 0),
            },
        };
        Elements { bound, kind, size: dtype.size() as u32 }
    }
}

/// What a sort moves along with the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carried {
    /// Nothing.
    Nothing,
    /// The positions of the elements, as `u32`.
    Positions,
    /// Values of 1, 2, 4 or 8 bytes.
    Values {
        /// Bytes.
        size: usize,
    },
}

/// A sort: up to [`warpfold_kernels::sort::MOST`] elements that lie side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// The dtype of the elements.
    pub dtype: DType,
    /// The number of elements.
    pub n: usize,
    /// What the elements are.
    pub what: What,
    /// What they carry.
    pub carried: Carried,
    /// Of the GPU.
    pub multiprocessors: u32,
}

impl Problem {
    /// Bytes of a key.
    #[must_use]
    pub fn key(&self) -> usize {
        if self.what == What::Values && self.dtype.size() == 8 { 8 } else { 4 }
    }

    /// Bytes of what is carried between passes.
    #[must_use]
    pub fn load(&self) -> usize {
        match self.carried {
            Carried::Nothing => 0,
            Carried::Values { size: 8 } => 8,
            _ => 4,
        }
    }

    /// Bytes of the two buffers for keys: none if no launch writes it.
    #[must_use]
    pub fn keys_bytes(&self) -> [usize; 2] {
        let (bytes, (places, _)) = (self.n * self.key(), self.digits());
        [if places > 0 { bytes } else { 0 }, if places > 1 || self.converted() != 0 { bytes } else { 0 }]
    }

    /// Bytes of the two buffers for what is carried, likewise.
    #[must_use]
    pub fn carried_bytes(&self) -> [usize; 2] {
        let bytes = self.n * self.load();
        [bytes, if self.digits().0 > 1 { bytes } else { 0 }]
    }

    /// Words of the state, all of which are zero at the start. There is room for heads, or buckets.
    #[must_use]
    pub fn state_words(&self) -> usize {
        let after = if self.what == What::Buckets { self.buckets() } else { self.heads_tiles() as usize };
        state::words(self.tiles() as usize, self.digits().0 as usize, after)
    }

    /// Which of the two buffers of keys, and of what is carried, has the result, of labels. Of values, it depends on
    /// them.
    #[must_use]
    pub fn last(&self) -> usize {
        (self.digits().0 as usize - 1) & 1
    }

    /// Bits below the first digit.
    fn low(&self) -> u32 {
        if self.what == What::Buckets { distinct::LOW } else { 0 }
    }

    /// The number of digits, and the bits of a digit.
    fn digits(&self) -> (u32, u32) {
        let bits = match self.what {
            What::Values if self.dtype == DType::Bool => 1,
            What::Values | What::Buckets => (8 * self.dtype.size() as u32).saturating_sub(self.low()),
            // One more than the greatest is what belongs to no group.
            What::Labels { groups } => (usize::BITS - groups.leading_zeros()).max(1),
        };
        let places = bits.div_ceil(8);
        (places, bits.div_ceil(places.max(1)))
    }

    fn own(&self) -> u32 {
        let own = match (self.key(), self.load()) {
            (4, 0) => 0,
            (4, 4) => 1,
            _ => 2,
        };
        OWN[own]
    }

    fn tiles(&self) -> u64 {
        (self.n as u64).div_ceil(self.own() as u64 * THREADS as u64)
    }

    fn heads_tiles(&self) -> u64 {
        (self.n as u64).div_ceil(heads::OWN[self.key() / 8] as u64 * THREADS as u64)
    }

    fn call(&self) -> Sort {
        let (places, bits) = self.digits();
        let to = match self.carried {
            Carried::Nothing => 0,
            Carried::Positions => 4,
            Carried::Values { size } => size as u32,
        };
        Sort {
            at: SortAt::default(),
            n: self.n as u64,
            elements: self.what.elements(self.dtype),
            places,
            bits,
            low: self.low(),
            place: 0,
            tiles: self.tiles() as u32,
            converted: self.converted(),
            from: if self.carried == Carried::Positions { 0 } else { to },
            to,
            every: matches!(self.what, What::Labels { .. }) as u32,
            unused: 0,
        }
    }

    fn converted(&self) -> u32 {
        (self.key() != self.dtype.size()) as u32
    }

    /// The sort. All launches take the same addresses. None of no elements.
    #[must_use]
    pub fn sort(&self) -> Vec<Launch<SortAt>> {
        if self.n == 0 {
            return Vec::new();
        }
        let call = self.call();
        let counting = (self.n as u64).div_ceil(count::TILE).min(self.multiprocessors as u64 * SPREAD);
        let counting = counting.min(BLOCKS as u64) as u32;
        let pass = format!("sort_pass_{}_{}", self.key(), self.load());
        let passes = (0..call.places).map(|place| launch(&pass, call.tiles, &Sort { place, ..call }));
        let first = [launch(&format!("sort_count_{}", self.key()), counting, &call), launch("sort_starts", 1, &call)];
        first.into_iter().chain(passes).collect()
    }

    /// Finds the first of equal keys among the sorted ones. Addresses of results that are not asked for are 0.
    #[must_use]
    pub fn heads(&self) -> Option<Launch<HeadsAt>> {
        let (places, _) = self.digits();
        self.heads_of(Heads { tiles: self.tiles() as u32, places, converted: self.converted(), ..self.no_heads() })
    }

    /// The number of buckets of [`What::Buckets`].
    #[must_use]
    pub fn buckets(&self) -> usize {
        1 << (8 * self.dtype.size() as u32).saturating_sub(distinct::LOW)
    }

    /// Words for bits of large buckets, all of which are zero at the start.
    #[must_use]
    pub fn bits_words(&self) -> usize {
        self.n.div_ceil(distinct::MANY as usize) * distinct::WORDS
    }

    /// The distinct values of elements in [`What::Buckets`], of which there is one at least. All launches take the same
    /// addresses.
    #[must_use]
    pub fn distinct(&self) -> [Launch<DistinctAt>; 3] {
        let call = Distinct {
            at: DistinctAt::default(),
            n: self.n as u64,
            elements: self.what.elements(self.dtype),
            buckets: self.buckets() as u32,
            tiles: self.tiles() as u32,
            places: self.digits().0,
            converted: self.converted(),
        };
        [
            numbers("distinct_starts", self.buckets() + 1, self.multiprocessors, &call),
            launch("distinct_flood", self.n.div_ceil(distinct::MANY as usize) as u32, &call),
            launch("distinct_values", call.buckets, &call),
        ]
    }

    /// Finds the first of each run among the elements as they are, without a sort before. The state is zero.
    #[must_use]
    pub fn runs(&self) -> Option<Launch<HeadsAt>> {
        self.heads_of(Heads { as_is: 1, ..self.no_heads() })
    }

    /// Words of the state of [`Self::runs`].
    #[must_use]
    pub fn runs_words(&self) -> usize {
        state::words(0, 0, self.heads_tiles() as usize)
    }

    fn no_heads(&self) -> Heads {
        Heads {
            at: HeadsAt::default(),
            n: self.n as u64,
            elements: self.what.elements(self.dtype),
            tiles: 0,
            places: 0,
            converted: 0,
            as_is: 0,
        }
    }

    fn heads_of(&self, call: Heads) -> Option<Launch<HeadsAt>> {
        let tiles = self.heads_tiles() as u32;
        (tiles > 0).then(|| launch(&format!("sort_heads_{}", self.key()), tiles, &call))
    }

    /// How often each distinct key occurs.
    #[must_use]
    pub fn counts(&self) -> Launch<CountsAt> {
        counts(self.n, self.multiprocessors)
    }

    /// Offsets of the groups of sorted labels.
    #[must_use]
    pub fn offsets(&self, groups: usize) -> Launch<OffsetsAt> {
        let call = Offsets { at: OffsetsAt::default(), n: self.n as u64, groups: groups as u64 };
        numbers("group_offsets", groups + 1, self.multiprocessors, &call)
    }

    /// From places in groups, `columns` of each, to positions.
    #[must_use]
    pub fn places(&self, groups: usize, columns: usize) -> Launch<PlacesAt> {
        let call = Places { at: PlacesAt::default(), groups: groups as u64, columns: columns as u64 };
        numbers("group_places", groups * columns, self.multiprocessors, &call)
    }
}

/// Differences of neighbours: of as many starts as the state says, or of `most` where the address of the state is 0.
#[must_use]
pub fn counts(most: usize, multiprocessors: u32) -> Launch<CountsAt> {
    numbers("sort_counts", most, multiprocessors, &Counts { at: CountsAt::default(), most: most as u64 })
}

pub(super) fn launch<P: Params>(entry: &str, grid: u32, params: &P) -> Launch<P::At> {
    Launch::new(entry, grid, THREADS, params)
}

/// A thread for each number, or for several.
pub(super) fn numbers<P: Params>(entry: &str, n: usize, multiprocessors: u32, params: &P) -> Launch<P::At> {
    let grid = (n as u64).div_ceil(THREADS as u64).clamp(1, multiprocessors as u64 * NUMBERS);
    launch(entry, grid as u32, params)
}
