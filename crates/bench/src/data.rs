//! The data of every case: made from a seed and the element's index by a generator that all sides share to the bit.
//! `bench/peers/README.md` specifies the generator for the other sides.
//!
//! The index counts the array's elements in the order of their addresses, without padding. Every value is a small
//! integer times a power of two, so that the exact result of a reduction is known without any of the sides
//! ([`crate::exact`]).

use crate::hash::{STEP, hash, mix};
use crate::keys::label;
use half::{bf16, f16};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use warpfold::DType;

/// The distribution of an array's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Floats over a unit interval; integers over their whole range.
    Values,
    /// As [`Kind::Values`], but one float of 64 is a NaN.
    Nan,
    /// Zeros, with one element of 2^30 a one, so that `any` cannot end early.
    Rare,
    /// Ones, with one element of 2^30 a zero, so that `all` cannot end early.
    Common,
    /// The elements' labels.
    Labels,
    /// Points whose coordinates are about normally distributed: sums of eight uniform numbers.
    Normal,
    /// Points about the centre of their label's cluster, at a third of the distance that centres have from the origin.
    Clustered,
}

/// A generator of values of one dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator {
    /// The dtype of the values.
    pub dtype: DType,
    /// Their distribution.
    pub kind: Kind,
    /// The seed: any number.
    pub seed: u32,
    /// The number of labels or clusters, for kinds that have them.
    pub keys: usize,
    /// The number of coordinates of a point, for [`Kind::Clustered`].
    pub dimensions: usize,
}

/// A value before its conversion to the dtype: `k` times 2^-`shift`, or NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exact {
    /// This number of units.
    Units(i128),
    /// Not a number.
    Nan,
}

impl Generator {
    /// The binary scale of a unit: values are units times 2^-shift.
    pub fn shift(&self) -> i32 {
        match (self.kind, self.dtype) {
            (Kind::Rare | Kind::Common | Kind::Labels, _) => 0,
            (Kind::Normal | Kind::Clustered, DType::F16) => 10,
            (Kind::Normal | Kind::Clustered, DType::BF16) => 7,
            (Kind::Normal | Kind::Clustered, DType::F32) => 18,
            (Kind::Normal | Kind::Clustered, DType::F64) => 50,
            (_, DType::F16) => 11,
            (_, DType::BF16) => 8,
            (_, DType::F32) => 24,
            (_, DType::F64) => 52,
            _ => 0,
        }
    }

    /// The value of an element.
    #[inline(always)]
    pub fn exact(&self, index: u64) -> Exact {
        let h = mix((index as u32).wrapping_add(self.seed.wrapping_mul(STEP)));
        match self.kind {
            Kind::Rare => return Exact::Units((h < 4) as i128),
            Kind::Common => return Exact::Units((h >= 4) as i128),
            Kind::Nan if self.dtype.is_float() && h & 63 == 0 => return Exact::Nan,
            Kind::Labels => return Exact::Units(label(index, self.keys, self.seed) as i128),
            Kind::Normal => return Exact::Units(self.bell(h)),
            Kind::Clustered => {
                let (i, coordinate) = (index / self.dimensions as u64, (index % self.dimensions as u64) as usize);
                let centre = label(i, self.keys, self.seed) * self.dimensions + coordinate;
                return Exact::Units(self.about(self.bell(hash(centre as u32, self.seed + 2)), h));
            }
            _ => {}
        }
        Exact::Units(self.units_of(h))
    }

    /// A coordinate of a cluster's first centroid, in units: distributed as the points are, but drawn from another
    /// seed. For [`Kind::Clustered`] the centroid is near the cluster's own centre.
    pub fn start(&self, cluster: usize, coordinate: usize, dimensions: usize) -> i128 {
        let i = (cluster * dimensions + coordinate) as u32;
        let centre = self.bell(hash(i, self.seed + 2));
        match self.kind {
            Kind::Clustered => self.about(centre, hash(i, self.seed + 3)),
            _ => centre,
        }
    }

    /// Three quarters of a centre and a quarter of noise.
    #[inline(always)]
    fn about(&self, centre: i128, h: u32) -> i128 {
        ((3 * centre as i64 + self.bell(h) as i64) >> 2).into()
    }

    /// The sum of eight uniform numbers less its mean, in units.
    #[inline(always)]
    fn bell(&self, h: u32) -> i128 {
        let next = |h: u32| mix(h.wrapping_add(STEP));
        let (a, b) = (h, next(h));
        let bytes = |drop: u32| -> i64 {
            [a, b].iter().flat_map(|h| h.to_le_bytes()).map(|byte| i64::from(byte >> drop)).sum()
        };
        let (c, d) = (next(b), next(next(b)));
        let halves = || -> i64 { [a, b, c, d].iter().map(|&h| i64::from(h >> 16) + i64::from(h & 0xffff)).sum() };
        let units = match self.dtype {
            DType::F16 => bytes(0) - 1020,
            DType::BF16 => bytes(3) - 124,
            DType::F64 => ((halves() - 262_140) << 32) + i64::from(next(d)),
            _ => halves() - 262_140,
        };
        units.into()
    }

    /// Converts a hash to a value, in units.
    #[inline(always)]
    fn units_of(&self, h: u32) -> i128 {
        let h = i64::from(h);
        let second = || i64::from(mix((h as u32).wrapping_add(STEP)));
        match self.dtype {
            DType::F16 => (2 * (h >> 22) - 1023).into(),
            DType::BF16 => ((h >> 24) - 96).into(),
            DType::F32 => ((h >> 8) - (3 << 21)).into(),
            DType::F64 => (((h << 20) | (second() >> 12)) - (3 << 49)).into(),
            DType::Bool => (h >> 31).into(),
            DType::I8 => i128::from((h >> 24) as i8),
            DType::U8 => (h >> 24).into(),
            DType::I16 => i128::from((h >> 16) as i16),
            DType::U16 => (h >> 16).into(),
            DType::I32 => i128::from(h as i32),
            DType::U32 => h.into(),
            DType::I64 => i128::from((h << 32) | second()),
            DType::U64 => i128::from(((h << 32) | second()) as u64),
        }
    }

    /// Writes elements `start`, `start + 1`, … into bytes.
    pub fn fill(&self, bytes: &mut [u8], start: u64) {
        let scale = 0.5f64.powi(self.shift());
        let float = |x: Exact| match x {
            Exact::Units(k) => k as i64 as f64 * scale,
            Exact::Nan => f64::NAN,
        };
        macro_rules! put {
            ($t:ty, $f:expr) => {{
                let elements = bytes.chunks_exact_mut(size_of::<$t>());
                for (i, to) in elements.enumerate() {
                    let x: Exact = self.exact(start + i as u64);
                    let value: $t = $f(x);
                    to.copy_from_slice(&value.to_ne_bytes());
                }
            }};
        }
        let int = |x: Exact| if let Exact::Units(k) = x { k } else { 0 };
        match self.dtype {
            DType::F16 => put!(u16, |x| if x == Exact::Nan { 0x7e00 } else { f16::from_f64(float(x)).to_bits() }),
            DType::BF16 => put!(u16, |x| if x == Exact::Nan { 0x7fc0 } else { bf16::from_f64(float(x)).to_bits() }),
            DType::F32 => put!(f32, |x| float(x) as f32),
            DType::F64 => put!(f64, float),
            DType::Bool | DType::U8 => put!(u8, |x| int(x) as u8),
            DType::I8 => put!(i8, |x| int(x) as i8),
            DType::I16 => put!(i16, |x| int(x) as i16),
            DType::U16 => put!(u16, |x| int(x) as u16),
            DType::I32 => put!(i32, |x| int(x) as i32),
            DType::U32 => put!(u32, |x| int(x) as u32),
            DType::I64 => put!(i64, |x| int(x) as i64),
            DType::U64 => put!(u64, |x| int(x) as u64),
        }
    }

    /// Writes elements 0, 1, … into bytes, on all threads.
    pub fn fill_all(&self, bytes: &mut [u8]) {
        const PIECE: usize = 1 << 18;
        let size = self.dtype.size();
        let pieces = bytes.par_chunks_mut(PIECE * size).enumerate();
        pieces.for_each(|(i, piece)| self.fill(piece, (i * PIECE) as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same numbers stand in `bench/peers/README.md`.
    #[test]
    fn the_generator_is_the_one_that_is_written_down() {
        let hashes: Vec<u32> = (0..3).map(|i: u32| mix(i.wrapping_add(STEP))).collect();
        let generator = |dtype, kind| Generator { dtype, kind, seed: 1, keys: 0, dimensions: 0 };
        let f = generator(DType::F32, Kind::Values);
        let mut bytes = [0; 12];
        f.fill(&mut bytes, 0);
        for (i, four) in bytes.chunks(4).enumerate() {
            let value = f32::from_ne_bytes(four.try_into().unwrap());
            assert_eq!(value, ((hashes[i] >> 8) as i32 - 6_291_456) as f32 / 16_777_216.0);
        }
        assert_eq!(hashes, README);
    }

    /// Their mean is about 0, and four of a hundred are further than two standard deviations from it.
    #[test]
    fn normal_points_are_about_normal() {
        for dtype in DType::ALL.into_iter().filter(|d| d.is_float()) {
            let g = Generator { dtype, kind: Kind::Normal, seed: 1, keys: 0, dimensions: 0 };
            let unit = 0.5f64.powi(g.shift());
            let values: Vec<f64> = (0..100_000)
                .map(|i| if let Exact::Units(k) = g.exact(i) { k as f64 * unit } else { f64::NAN })
                .collect();
            let mean = values.iter().sum::<f64>() / 1e5;
            let deviation = (values.iter().map(|x| x * x).sum::<f64>() / 1e5).sqrt();
            let far = values.iter().filter(|x| x.abs() > 2.0 * deviation).count();
            assert!(mean.abs() < 0.01 && (0.19..0.22).contains(&deviation), "{dtype}: {mean} {deviation}");
            assert!((4000..5000).contains(&far) && values.iter().all(|x| x.abs() < 1.0), "{dtype}: {far}");
        }
    }

    const README: [u32; 3] = [2462723854, 2527132011, 3024231355];

    #[test]
    fn every_value_is_exact_in_its_dtype() {
        let floats = DType::ALL.into_iter().filter(|d| d.is_float());
        let kinds = [Kind::Values, Kind::Normal, Kind::Clustered, Kind::Labels];
        for (dtype, kind) in floats.flat_map(|dtype| kinds.map(|kind| (dtype, kind))) {
            let g = Generator { dtype, kind, seed: 7, keys: 100, dimensions: 3 };
            let mut bytes = vec![0; 4096 * dtype.size()];
            g.fill(&mut bytes, 0);
            for (i, b) in bytes.chunks(dtype.size()).enumerate() {
                let value = match dtype {
                    DType::F16 => f16::from_ne_bytes([b[0], b[1]]).to_f64(),
                    DType::BF16 => bf16::from_ne_bytes([b[0], b[1]]).to_f64(),
                    DType::F32 => f64::from(f32::from_ne_bytes(b.try_into().unwrap())),
                    _ => f64::from_ne_bytes(b.try_into().unwrap()),
                };
                let Exact::Units(k) = g.exact(i as u64) else { panic!("a NaN among values") };
                assert_eq!(value, k as f64 * 0.5f64.powi(g.shift()), "{dtype} {i}");
            }
        }
    }
}
