//! Keys that group elements: segments, groups, clusters. Offsets and labels are generated from the seed as the data
//! are; `bench/peers/README.md` specifies them for the other sides.

use crate::hash::{STEP, hash, mix};
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// What groups the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Consecutive segments.
    Segments(Lengths),
    /// Labels below this number. For `unique` the labels are the elements.
    Groups(usize),
    /// A number of clusters, and the distribution of the points.
    Clusters(usize, Cloud),
}

/// The distribution of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Normal about the origin: the points have no clusters of their own.
    Normal,
    /// Normal about the centre of each point's cluster.
    Clustered,
}

impl FromStr for Cloud {
    type Err = String;

    fn from_str(text: &str) -> Result<Cloud, String> {
        match text {
            "normal" => Ok(Cloud::Normal),
            "clustered" => Ok(Cloud::Clustered),
            _ => Err(format!("unknown points `{text}`: give normal or clustered")),
        }
    }
}

impl fmt::Display for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Cloud::Normal { "normal" } else { "clustered" })
    }
}

/// The lengths of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// All of one length, but for the last.
    Uniform(usize),
    /// Of 16 segments 15 have up to 8 elements; of the others 15 of 16 have up to 64, and so on, up to 2^24.
    PowerLaw,
    /// Nearly all elements in one segment, beside many of one element or none.
    OneAndMany,
}

impl Lengths {
    /// The length of segment `i`, which begins at element `at` of `n`. The last segment may reach beyond `n`.
    fn of(self, i: usize, at: usize, n: usize, seed: u32) -> usize {
        let h = hash(i as u32, seed + 1);
        match self {
            Lengths::Uniform(len) => len,
            Lengths::PowerLaw => {
                let nibbles = (h.trailing_zeros() / 4).min(7);
                1 + ((u64::from(mix(h.wrapping_add(STEP)) >> 16) << (3 * (nibbles + 1))) >> 16) as usize
            }
            Lengths::OneAndMany if i == n / 512 => (n - n / 1024).saturating_sub(at),
            Lengths::OneAndMany => (h >> 31) as usize,
        }
    }

    /// The offsets of the segments of `n` elements.
    pub fn offsets(self, n: usize, seed: u32) -> Vec<i64> {
        if let Lengths::Uniform(len) = self {
            let segments = n.div_ceil(len);
            return (0..=segments).into_par_iter().map(|i| (i * len).min(n) as i64).collect();
        }
        let (mut offsets, mut at) = (vec![0], 0);
        while at < n {
            at = (at + self.of(offsets.len() - 1, at, n, seed)).min(n);
            offsets.push(at as i64);
        }
        offsets
    }

    /// The number of segments of `n` elements.
    pub fn count(self, n: usize, seed: u32) -> usize {
        if let Lengths::Uniform(len) = self {
            return n.div_ceil(len);
        }
        let (mut segments, mut at) = (0, 0);
        while at < n {
            at += self.of(segments, at, n, seed);
            segments += 1;
        }
        segments
    }
}

/// The label of element or point `i`, below `labels`.
#[inline(always)]
pub fn label(i: u64, labels: usize, seed: u32) -> usize {
    ((u64::from(hash(i as u32, seed + 1)) * labels as u64) >> 32) as usize
}

/// The labels of elements 0 to `n`.
pub fn labels(n: usize, labels: usize, seed: u32) -> Vec<i32> {
    (0..n as u64).into_par_iter().map(|i| label(i, labels, seed) as i32).collect()
}

impl FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Lengths, String> {
        let uniform = |n: &str| n.parse().ok().filter(|&n: &usize| n > 0).map(Lengths::Uniform);
        let found = match text.split_once(':') {
            None if text == "power-law" => Some(Lengths::PowerLaw),
            None if text == "one-and-many" => Some(Lengths::OneAndMany),
            Some(("uniform", n)) => uniform(n),
            _ => None,
        };
        let known = "give uniform:N (of N elements, 1 or more), power-law or one-and-many";
        found.ok_or_else(|| format!("unknown segments `{text}`: {known}"))
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lengths::Uniform(n) => write!(f, "uniform:{n}"),
            Lengths::PowerLaw => f.write_str("power-law"),
            Lengths::OneAndMany => f.write_str("one-and-many"),
        }
    }
}

/// The text in names and tables.
impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Keys::Segments(lengths) => write!(f, "segments {lengths}"),
            Keys::Groups(n) => write!(f, "{n} groups"),
            Keys::Clusters(n, cloud) => write!(f, "{n} clusters {cloud}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_all_elements_in_order() {
        for lengths in [Lengths::Uniform(1), Lengths::Uniform(7), Lengths::PowerLaw, Lengths::OneAndMany] {
            for n in [1, 1000, 1 << 16] {
                let offsets = lengths.offsets(n, 1);
                assert_eq!((offsets[0], *offsets.last().unwrap()), (0, n as i64), "{lengths} {n}");
                assert!(offsets.is_sorted());
                assert_eq!(lengths.count(n, 1), offsets.len() - 1);
                assert_eq!(lengths.to_string().parse(), Ok(lengths));
            }
        }
    }

    #[test]
    fn lengths_are_as_they_are_described() {
        let longest = |lengths: Lengths| {
            let offsets = lengths.offsets(1 << 16, 1);
            (offsets.windows(2).map(|w| w[1] - w[0]).max().unwrap(), offsets.len() - 1)
        };
        let (one, many) = longest(Lengths::OneAndMany);
        assert!(one > 65_000 && (200..600).contains(&many), "{one} {many}");
        let (most, some) = longest(Lengths::PowerLaw);
        assert!(most > 200 && (2000..20_000).contains(&some), "{most} {some}");
        assert!(
            "uniform:0".parse::<Lengths>().is_err() && "long".parse::<Lengths>().unwrap_err().contains("power-law")
        );
    }

    #[test]
    fn labels_are_below_their_number_and_all_occur() {
        let mut counts = [0; 17];
        labels(10_000, 17, 1).iter().for_each(|&l| counts[l as usize] += 1);
        assert!(counts.iter().all(|&c| c > 400), "{counts:?}");
    }
}
