//! The records of rows and channels: of a row its mean, one over its deviation, and the means of its gradients; of a
//! channel its weight, and what follows that: its bias, or the last factor of its gradients.
//!
//! Idea: a thread has a row, and a channel. Bottleneck: none.

use super::{NORM, OF_CHANNEL, OF_GIVEN, OF_GROUP};
use crate::block::each_of_grid;
use crate::node::Node;
use crate::params::params;
use crate::reduce::recipe::log_size;
use crate::rowwise::number::{number, write_one};
use crate::source::Source;
use warpfold_core::rows::{Norm, NormGradient};
use warpfold_core::{Element, Float, Real};
use warpfold_simt::Simt;

/// Numbers of the record of a row.
pub const OF_ROW: usize = 4;
/// Numbers of the record of a channel.
pub const OF_ONE: usize = 2;

params! {
    #[derive(Default)]
    /// Where the arrays are. What there is not is zero.
    pub struct RecordsAt {
        /// The weights of channels.
        pub weight: u64,
        /// Their biases.
        pub bias: u64,
        /// The means of rows.
        pub mean: u64,
        /// Their variances.
        pub variance: u64,
        /// The sums of the products of gradients and normalised elements, of rows.
        pub dots: u64,
        /// The sums of their gradients.
        pub totals: u64,
        /// The first record of rows.
        pub rows: u64,
        /// The first record of channels.
        pub channels: u64,
    }

    /// Records for what is done with elements.
    pub struct Records at RecordsAt {
        /// Rows.
        pub rows: u64,
        /// Channels.
        pub channels: u64,
        /// Elements of a row.
        pub count: u64,
        /// Added to variances.
        pub epsilon: f64,
        /// Added to weights.
        pub offset: f64,
        /// What is done, as [`Channels::kind`](super::Channels::kind).
        pub kind: u32,
        /// The dtype of weights, as its place in `DType::ALL`.
        pub of_weight: u32,
        /// That of biases.
        pub of_bias: u32,
        /// That of means.
        pub of_mean: u32,
        /// That of variances.
        pub of_variance: u32,
        /// That of sums.
        pub of_sums: u32,
    }
}

impl Records {
    /// What row number `i` is normalised by. Without statistics elements are what they are.
    #[inline(always)]
    fn norm<S: Simt, F: Float>(&self, s: &S, i: u64) -> Norm<F> {
        if !s.branch(self.at.mean != 0) {
            return Norm { mean: F::ZERO, inverse: F::ONE };
        }
        let (mean, variance) = (read(s, self.at.mean, self.of_mean, i), read(s, self.at.variance, self.of_variance, i));
        Norm::given(mean, variance, F::from_f64(self.epsilon))
    }

    /// The weight of channel number `i`.
    #[inline(always)]
    fn weight<S: Simt, F: Float>(&self, s: &S, i: u64) -> F {
        if !s.branch(self.at.weight != 0) {
            return F::ONE;
        }
        let weight: F = read(s, self.at.weight, self.of_weight, i);
        if s.branch(self.offset != 0.0) { weight.add(F::from_f64(self.offset)) } else { weight }
    }

    #[inline(always)]
    fn row<S: Simt, F: Float>(&self, s: &S, i: u64) -> [F; OF_ROW] {
        let Norm { mean, inverse } = self.norm(s, i);
        let mut sums = NormGradient { mean: F::ZERO, slope: F::ZERO };
        if s.branch(self.kind == OF_GROUP || self.kind == OF_CHANNEL) {
            let sum = |first: u64| read(s, first, self.of_sums, i);
            sums = NormGradient::of(sum(self.at.totals), sum(self.at.dots), self.count);
        }
        [mean, inverse, sums.mean, sums.slope]
    }

    #[inline(always)]
    fn channel<S: Simt, F: Float>(&self, s: &S, i: u64) -> [F; OF_ONE] {
        let weight = self.weight(s, i);
        if s.branch(self.kind == OF_CHANNEL || self.kind == OF_GIVEN) {
            return [F::ONE, self.norm::<S, F>(s, i).inverse.mul(weight)];
        }
        let has_bias = s.branch(self.kind == NORM && self.at.bias != 0);
        // The identity of addition.
        [weight, if has_bias { read(s, self.at.bias, self.of_bias, i) } else { F::NOTHING }]
    }
}

/// Number `i` of an array.
#[inline(always)]
fn read<S: Simt, F: Real>(s: &S, first: u64, dtype: u32, i: u64) -> F {
    number(s, dtype, first + (i << log_size(dtype)))
}

/// See [the module](self).
#[inline(always)]
pub fn kernel<S, X>(s: &S, call: &Records)
where
    S: Simt,
    X: Source<Value: Element + Float + Node>,
{
    let put = |to: u64, i: u64, record: &[X::Value]| {
        let (mut k, n) = (0, record.len());
        while k < n {
            write_one::<S, X>(s, to, i * n as u64 + k as u64, true, record[k]);
            k += 1;
        }
    };
    let most = if call.rows > call.channels { call.rows } else { call.channels };
    each_of_grid(
        s,
        most,
        #[inline(always)]
        |i| {
            if s.branch(i < call.rows) {
                put(call.at.rows, i, &call.row::<S, X::Value>(s, i));
            }
            if s.branch(i < call.channels) {
                put(call.at.channels, i, &call.channel::<S, X::Value>(s, i));
            }
        },
    );
}
