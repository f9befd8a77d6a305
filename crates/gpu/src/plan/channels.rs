//! What to launch for the elements of norms of channels.

use warpfold_core::DType;
use warpfold_kernels::block::THREADS;
use warpfold_kernels::channel::record::{OF_ONE, OF_ROW, Records, RecordsAt};
use warpfold_kernels::channel::torn::{STRIDE, STRIDES};
use warpfold_kernels::channel::{BESIDE, Channels, ChannelsAt, SUMS, TORN, beside};
use warpfold_kernels::reduce::recipe::code;
use warpfold_kernels::reduce::shape::map::Divisor;

use super::Launch;
use super::limits::Limits;
use super::zip::wide;

/// Blocks for each multiprocessor, at most; their threads take several packs then.
const BLOCKS: usize = 64;
/// The same of kernels whose threads keep records: as many as there is room for at once. With twice as many,
/// (1048576,64) bf16 took an H200 146 us for 108.
const KEEPING: usize = 3;
/// Lanes of a warp.
const LANES: usize = 32;
/// Elements of a channel side by side, from which on sums of what follows one another are left of these, and not all
/// products: where other samples' follow them, and where none do. Below, lanes would find little in each line, or most
/// of them nothing. Not measured against other values.
const TURNS: usize = 4;
/// See [`TURNS`].
const ALONE: usize = 16;

/// Elements of samples, channels, and the other axes, in C order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelShape {
    /// The samples.
    pub samples: usize,
    /// The channels of each.
    pub channels: usize,
    /// The elements of each channel of each sample.
    pub run: usize,
    /// The groups that the channels of a sample are in; `None`: a channel's samples are normalised together.
    pub groups: Option<usize>,
}

impl ChannelShape {
    /// Elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        // Of an empty array all other axes may be long.
        self.samples.saturating_mul(self.channels).saturating_mul(self.run)
    }

    /// Rows: channels, or the groups of each sample.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.groups.map_or(self.channels, |groups| self.samples.saturating_mul(groups))
    }

    /// Elements of a row.
    #[must_use]
    pub fn count(&self) -> usize {
        self.elements() / self.rows().max(1)
    }

    /// The most lanes whose packs are a subtree of the sums of a channel. None, if a pack is none.
    fn lanes(&self, dtype: DType) -> Option<usize> {
        let per = 16 / dtype.size();
        (self.run > 0 && self.run.is_multiple_of(per)).then(|| LANES.min(1 << (self.run / per).trailing_zeros()))
    }

    /// How the sums of gradients, and of their products with elements, are begun: of arrays that begin with lines of
    /// 16 bytes, or of others.
    #[must_use]
    pub fn sums(&self, dtype: DType, lined: bool, limits: &Limits) -> Sums {
        let torn = self.torn();
        let per = beside::channels(dtype.size());
        // Threads keep what is known of their channels.
        let across = (self.channels / per).div_ceil(THREADS as usize) <= KEEPING * limits.multiprocessors as usize;
        let is_last = self.run == 1 && self.groups.is_none() && self.channels.is_multiple_of(per);
        let least = if self.groups.is_some() { ALONE } else { TURNS };
        match self.lanes(dtype) {
            Some(lanes) if lined => Sums::Packs(lanes),
            _ if lined && is_last && across && self.samples >= beside::SAMPLES => Sums::Beside,
            _ if self.run >= least && torn.count >= STRIDE => Sums::Torn(torn),
            _ => Sums::Products,
        }
    }

    /// How sums are left of whatever follows one another.
    fn torn(&self) -> Torn {
        let (rows, count) = match self.groups {
            Some(_) => (self.samples.saturating_mul(self.channels), self.run),
            None => (self.channels, self.samples.saturating_mul(self.run)),
        };
        let strides = count.div_ceil(STRIDE).clamp(1, STRIDES).next_power_of_two();
        Torn { rows, count, strides, stretches: count.div_ceil(STRIDE * strides) }
    }
}

/// How the sums over a channel are begun: what is left to be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// Sums of the packs of so many lanes.
    Packs(usize),
    /// Sums of a few samples of channels that lie side by side.
    Beside,
    /// Sums of whatever follows one another.
    Torn(Torn),
    /// All products.
    Products,
}

/// Sums of what follows one another in the sequences of channels, whatever lies beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Sequences: channels, or those of each sample.
    pub rows: usize,
    /// Elements of each.
    pub count: usize,
    /// Strides of a warp that are of one sequence.
    pub strides: usize,
    /// Sums of each sequence.
    pub stretches: usize,
}

impl Torn {
    /// Sets of sequences, of which a warp has a stretch.
    fn sets(&self) -> usize {
        self.rows.div_ceil(STRIDES / self.strides)
    }
}

/// What becomes of elements.
#[derive(Clone, Copy, Debug)]
pub struct OfElements {
    /// One of the kinds of [`warpfold_kernels::channel`].
    pub kind: u32,
    /// Of elements and gradients.
    pub dtype: DType,
    /// Of weights, biases, means and variances; sums are what arithmetic is done in.
    pub others: [DType; 4],
    /// Added to weights.
    pub offset: f64,
    /// Added to variances.
    pub epsilon: f64,
}

impl OfElements {
    /// Numbers of the records of rows, and of those of channels.
    #[must_use]
    pub fn records(shape: &ChannelShape) -> [usize; 2] {
        [shape.rows() * OF_ROW, shape.channels * OF_ONE]
    }

    /// The launch for the records.
    #[must_use]
    pub fn prepare(&self, shape: &ChannelShape, limits: &Limits) -> Launch<RecordsAt> {
        let [of_weight, of_bias, of_mean, of_variance] = self.others.map(code);
        let (rows, channels, wide) = (shape.rows() as u64, shape.channels as u64, wide(self.dtype));
        let call = Records {
            at: RecordsAt::default(),
            rows,
            channels,
            count: shape.count() as u64,
            epsilon: self.epsilon,
            offset: self.offset,
            kind: self.kind,
            of_weight,
            of_bias,
            of_mean,
            of_variance,
            of_sums: code(wide),
        };
        Launch::new(format!("channel_records_{wide}"), grid(rows.max(channels), BLOCKS, limits), THREADS, &call)
    }

    /// What all launches for elements are told.
    fn call(&self, shape: &ChannelShape) -> Channels {
        Channels {
            at: ChannelsAt::default(),
            elements: shape.elements() as u64,
            run: Divisor::new(shape.run as u64),
            channels: Divisor::new(shape.channels as u64),
            each: Divisor::new((shape.channels / shape.groups.unwrap_or(1)) as u64),
            kind: self.kind,
            grouped: shape.groups.is_some() as u32,
            packs: 0,
            small: (shape.elements() < 1 << 31) as u32,
            lanes: 0,
            rest: 0,
            rows: 0,
            count: 0,
            stretches: 0,
            sets: Divisor::new(1),
        }
    }

    /// The launch that leaves sums of channels which are no sums of packs.
    fn sums(&self, shape: &ChannelShape, limits: &Limits) -> Launch<ChannelsAt> {
        let torn = shape.torn();
        let call = self.call(shape);
        let (call, threads, most) = if self.kind == TORN {
            let call = Channels {
                lanes: torn.strides as u32,
                rows: torn.rows as u64,
                count: torn.count as u64,
                stretches: torn.stretches as u64,
                sets: Divisor::new(torn.sets() as u64),
                ..call
            };
            (call, LANES * torn.sets() * torn.stretches, BLOCKS)
        } else {
            let (across, nodes) =
                (shape.channels / beside::channels(self.dtype.size()), torn.count.div_ceil(beside::SAMPLES));
            let call = Channels {
                each: Divisor::new(across as u64),
                count: torn.count as u64,
                stretches: nodes as u64,
                ..call
            };
            (call, across * nodes, KEEPING)
        };
        Launch::new(format!("channel_sums_{}", self.dtype), grid(threads as u64, most, limits), THREADS, &call)
    }

    /// The launch for the elements of arrays that begin with lines of 16 bytes, or of others. There are elements.
    #[must_use]
    pub fn plan(&self, shape: &ChannelShape, lined: bool, limits: &Limits) -> Launch<ChannelsAt> {
        if [TORN, BESIDE].contains(&self.kind) {
            return self.sums(shape, limits);
        }
        let (elements, per) = (shape.elements(), 16 / self.dtype.size());
        let keeping = grid(u64::MAX, KEEPING, limits);
        // Threads keep what is known of their channels, if there are threads for all channels.
        let across = shape.channels / per;
        let is_last = shape.run == 1 && shape.groups.is_none() && shape.channels.is_multiple_of(per);
        let is_kept = lined && is_last && across <= (keeping * THREADS) as usize;
        // Lanes whose packs are of many channels would look up one record after the other, far apart.
        let packs = lined && shape.run >= per;
        let each = if is_kept { across } else { shape.channels / shape.groups.unwrap_or(1) };
        let call = Channels {
            each: Divisor::new(each as u64),
            packs: packs as u32,
            lanes: if self.kind == SUMS { shape.lanes(self.dtype).unwrap_or_default() as u32 } else { 0 },
            ..self.call(shape)
        };
        let threads = if packs || is_kept { elements.div_ceil(per) } else { elements } as u64;
        let (name, most) = if is_kept { ("channel_last", KEEPING) } else { ("channel", BLOCKS) };
        Launch::new(format!("{name}_{}", self.dtype), grid(threads, most, limits), THREADS, &call)
    }
}

/// Blocks for so many threads, at most so many for each multiprocessor.
fn grid(threads: u64, most: usize, limits: &Limits) -> u32 {
    threads.div_ceil(THREADS as u64).min((most * limits.multiprocessors as usize) as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_kernels::channel::NORM;

    const LIMITS: Limits = Limits { multiprocessors: 132, bandwidth: 4e12, aligned: true, shared_bytes: 227 << 10 };

    fn plan([samples, channels, run]: [usize; 3], groups: Option<usize>, lined: bool) -> String {
        let (dtype, shape) = (DType::BF16, ChannelShape { samples, channels, run, groups });
        let of = OfElements { kind: NORM, dtype, others: [DType::F32; 4], offset: 0.0, epsilon: 1e-5 };
        let launch = of.plan(&shape, lined, &LIMITS);
        format!("{} {}", launch.entry, launch.grid)
    }

    #[test]
    fn threads_have_packs_where_channels_are_no_shorter() {
        assert_eq!(plan([4, 16, 64], Some(2), true), "channel_bf16 2");
        assert_eq!(plan([4, 16, 7], Some(2), true), "channel_bf16 2");
        assert_eq!(plan([4, 16, 64], Some(2), false), "channel_bf16 16");
        assert_eq!(plan([1 << 20, 64, 1], None, true), "channel_last_bf16 396");
        assert_eq!(plan([1 << 20, 64, 1], None, false), "channel_bf16 8448");
        assert_eq!(plan([100, 63, 1], None, true), "channel_bf16 25");
        assert_eq!(plan([2, 1 << 20, 1], None, true), "channel_bf16 8192");
    }

    #[test]
    fn subtrees_are_of_whole_packs() {
        let lanes = |run| ChannelShape { samples: 2, channels: 3, run, groups: None }.lanes(DType::BF16);
        assert_eq!([0, 7, 8, 24, 32, 4096].map(lanes), [None, None, Some(1), Some(1), Some(4), Some(32)]);
    }

    #[test]
    fn sums_are_begun_as_channels_lie() {
        let sums = |[samples, channels, run]: [usize; 3], groups, lined| {
            ChannelShape { samples, channels, run, groups }.sums(DType::BF16, lined, &LIMITS)
        };
        assert_eq!(sums([32, 64, 64], None, true), Sums::Packs(8));
        assert_eq!(
            sums([32, 64, 64], None, false),
            Sums::Torn(Torn { rows: 64, count: 2048, strides: 8, stretches: 8 })
        );
        assert_eq!(sums([3, 64, 49], None, true), Sums::Torn(Torn { rows: 64, count: 147, strides: 8, stretches: 1 }));
        let alone = Torn { rows: 192, count: 49, strides: 2, stretches: 1 };
        assert_eq!(sums([3, 64, 49], Some(4), true), Sums::Torn(alone));
        assert_eq!(alone.sets(), 48);
        assert_eq!(sums([1000, 64, 1], None, true), Sums::Beside);
        // Columns that no thread has, channels that fill no line, and short runs.
        assert_eq!(sums([1000, 63, 1], None, true), Sums::Products);
        assert_eq!(sums([1000, 64, 1], None, false), Sums::Products);
        assert_eq!(sums([1000, 64, 9], Some(4), true), Sums::Products);
        assert_eq!(sums([2, 64, 4], None, false), Sums::Products);
    }
}
