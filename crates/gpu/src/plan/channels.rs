//! What to launch for the elements of norms of channels.

use warpfold_core::DType;
use warpfold_kernels::block::THREADS;
use warpfold_kernels::channel::record::{OF_ONE, OF_ROW, Records, RecordsAt};
use warpfold_kernels::channel::{Channels, ChannelsAt, SUMS};
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
    #[must_use]
    pub fn lanes(&self, dtype: DType) -> Option<usize> {
        let per = 16 / dtype.size();
        (self.run > 0 && self.run.is_multiple_of(per)).then(|| LANES.min(1 << (self.run / per).trailing_zeros()))
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

    /// The launch for the elements of arrays that begin with lines of 16 bytes, or of others. There are elements.
    #[must_use]
    pub fn plan(&self, shape: &ChannelShape, lined: bool, limits: &Limits) -> Launch<ChannelsAt> {
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
            at: ChannelsAt::default(),
            elements: elements as u64,
            run: Divisor::new(shape.run as u64),
            channels: Divisor::new(shape.channels as u64),
            each: Divisor::new(each as u64),
            kind: self.kind,
            grouped: shape.groups.is_some() as u32,
            packs: packs as u32,
            small: (elements < 1 << 31) as u32,
            lanes: if self.kind == SUMS { shape.lanes(self.dtype).unwrap_or_default() as u32 } else { 0 },
            rest: 0,
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
}
