//! Random problems: op, dtype, shape, axes, skipped NaNs and layout, from a seed. No side is tuned for them.

use crate::case::Case;
use crate::layout::{Layout, Order};
use crate::suite::Suite;
use crate::work::Work;
use std::collections::HashSet;
use warpfold::{DType, Op};

/// The number of consecutive cases that are sorted by their data, so that data are generated once for many cases. This
/// number is a fair sample by itself if a run is cut short.
const SORTED: usize = 100;

/// The dtypes, with their frequencies in 23 cases.
const DTYPES: [(DType, u32); 8] = [
    (DType::F32, 8),
    (DType::BF16, 5),
    (DType::F16, 2),
    (DType::F64, 3),
    (DType::I32, 2),
    (DType::I8, 1),
    (DType::U8, 1),
    (DType::I64, 1),
];

/// The ops for all dtypes.
const OPS: [Op; 6] = [Op::Sum, Op::Mean, Op::Max, Op::ArgMax, Op::Var, Op::Min];
const OF_FLOATS: [Work; 4] = [Work::Op(Op::Norm), Work::Op(Op::LogSumExp), Work::Describe, Work::Op(Op::Std)];
const OF_INTEGERS: [Work; 1] = [Work::Op(Op::Any)];

/// A suite of `cases` random cases of about `bytes` bytes each.
pub fn suite(seed: u64, cases: usize, bytes: usize) -> Suite {
    let mut random = Random(seed);
    let (mut found, mut names) = (Vec::new(), HashSet::new());
    // Few distinct problems have few bytes: the search ends after this number of attempts.
    for _ in 0..1000 * cases {
        if found.len() == cases {
            break;
        }
        let case = random.case(bytes);
        if case.check().is_ok() && names.insert(case.to_string()) {
            found.push(case);
        }
    }
    found.chunks_mut(SORTED).for_each(|part| part.sort_by_key(data));
    let name = format!("random-{seed}-{}", shown(bytes));
    Suite { name, title: format!("Random problems of seed {seed}, {} each", shown(bytes)), cases: found }
}

/// The sort key of cases by their data.
fn data(case: &Case) -> impl Ord + use<> {
    let apart = matches!(case.layout, Layout::Pitch(_) | Layout::Step(_));
    (case.dtype.name(), format!("{:?}", case.generator().kind), apart, case.offset())
}

/// `256MiB`, `1GiB`, `2^28`, or a number of bytes.
///
/// # Errors
/// A message that says why.
pub fn bytes(text: &str) -> Result<usize, String> {
    let (number, shift) = match text.trim_end_matches('B').strip_suffix("i") {
        None => (text, 0),
        Some(rest) => match rest.split_at(rest.len().saturating_sub(1)) {
            (number, "K") => (number, 10),
            (number, "M") => (number, 20),
            (number, "G") => (number, 30),
            _ => ("", 0),
        },
    };
    let value = match number.split_once('^') {
        Some(("2", power)) => power.parse().ok().and_then(|power: u32| 1usize.checked_shl(power)),
        _ => number.parse().ok(),
    };
    let value = value.and_then(|n| n.checked_mul(1 << shift)).filter(|n| (1024..=1 << 40).contains(n));
    value.ok_or_else(|| format!("`{text}` is not a size: give e.g. 256MiB, 1GiB or 2^28, of 1 KiB to 2^40 bytes"))
}

/// A number of bytes as [`bytes`] reads it.
pub fn shown(bytes: usize) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 30) => format!("{}GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}KiB", bytes >> 10),
        _ => format!("{bytes}B"),
    }
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A uniform number from 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// An entry of the list, drawn by weight.
    fn weighed<T: Copy>(&mut self, list: &[(T, u32)]) -> T {
        let all: u32 = list.iter().map(|(_, weight)| weight).sum();
        let mut at = self.below(all as usize) as u32;
        for &(value, weight) in list {
            if at < weight {
                return value;
            }
            at -= weight;
        }
        list[0].0
    }

    /// `many` of the numbers below `n`, in random order.
    fn some(&mut self, n: usize, many: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        (0..many).for_each(|i| {
            let j = i + self.below(n - i);
            all.swap(i, j);
        });
        all.truncate(many);
        all
    }

    fn case(&mut self, bytes: usize) -> Case {
        let dtype = self.weighed(&DTYPES);
        let rank = self.weighed(&[(1, 1), (2, 5), (3, 4), (4, 2)]);
        let others: &[Work] = if dtype.is_float() { &OF_FLOATS } else { &OF_INTEGERS };
        let works: Vec<Work> = OPS.into_iter().map(Work::Op).chain(others.iter().copied()).collect();
        let work = self.of(&works);
        let step = if self.unit() < 0.05 { 2 + self.below(2) } else { 1 };
        let total = bytes / dtype.size() / step;
        let mut shape = self.shape(rank, total);
        let many = 1 + self.below(rank);
        let mut axes = self.some(rank, many);
        axes.sort_unstable();
        if matches!(work, Work::Op(Op::ArgMax) | Work::Describe) && many != rank {
            axes.truncate(1);
        }
        let layout = match step {
            1 => self.layout(&mut shape, dtype),
            _ => Layout::Step(step),
        };
        let takes_nan = matches!(work, Work::Op(Op::Sum | Op::Mean | Op::Max | Op::Var)) && dtype.is_float();
        let least_room = if matches!(layout, Layout::Pitch(_) | Layout::Step(_)) { 0 } else { bytes / dtype.size() };
        let skip_nan = takes_nan && self.unit() < 0.15;
        Case { shape, axes, layout, skip_nan, least_room, ..Case::new(work, dtype) }
    }

    /// A shape of about `total` elements. The logarithm of the number of elements is split among the axes at random. A
    /// third of the shapes has lengths that are powers of two.
    fn shape(&mut self, rank: usize, total: usize) -> Vec<usize> {
        let mut cuts: Vec<f64> = (1..rank).map(|_| self.unit()).collect();
        cuts.sort_by(f64::total_cmp);
        let ends = cuts.iter().copied().chain([1.0]);
        let starts = [0.0].into_iter().chain(cuts.iter().copied());
        let length = |(start, end): (f64, f64)| ((total as f64).powf(end - start).round() as usize).max(1);
        let mut shape: Vec<usize> = starts.zip(ends).map(length).collect();
        if self.unit() < 0.3 {
            shape.iter_mut().for_each(|length| *length = 1 << length.ilog2());
        }
        // The longest takes what is left.
        let longest = (0..rank).max_by_key(|&axis| (shape[axis], rank - axis)).unwrap_or(0);
        let rest: usize = (0..rank).filter(|&axis| axis != longest).map(|axis| shape[axis]).product();
        shape[longest] = (total / rest).max(1);
        shape
    }

    /// The layout: in a quarter of the cases not C order. Padding shortens the first axis.
    fn layout(&mut self, shape: &mut [usize], dtype: DType) -> Layout {
        let rank = shape.len();
        let row = shape[rank - 1];
        match self.unit() {
            x if x < 0.10 && rank > 1 => {
                let order = self.some(rank, rank);
                Order::new(&order).filter(|_| !order.is_sorted()).map_or(Layout::F, Layout::Order)
            }
            x if (0.10..0.18).contains(&x) => Layout::Offset(1),
            x if (0.18..0.25).contains(&x) && rank > 1 && row * dtype.size() >= 256 && shape[0] > 1 => {
                let pitch = row + 1 + self.below(row / 8 + 1);
                shape[0] = (shape[0] * row / pitch).max(1);
                Layout::Pitch(pitch)
            }
            _ => Layout::C,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_cases_anywhere_and_another_seed_others() {
        let names = |seed| suite(seed, 50, 1 << 20).cases.iter().map(Case::to_string).collect::<Vec<_>>();
        assert_eq!(names(1), names(1));
        assert_ne!(names(1), names(2));
        let first = suite(1, 1, 1 << 28).cases.remove(0).to_string();
        assert_eq!(first, suite(1, 1, 1 << 28).cases[0].to_string());
    }

    #[test]
    fn cases_are_of_all_kinds_and_about_as_large_as_asked_for() {
        let cases = suite(7, 300, 256 << 20).cases;
        assert_eq!(cases.len(), 300);
        let count = |of: &dyn Fn(&Case) -> bool| cases.iter().filter(|case| of(case)).count();
        for dtype in DTYPES.map(|(dtype, _)| dtype) {
            assert!(count(&|case| case.dtype == dtype) > 2, "{dtype}");
        }
        assert!(count(&|case| case.skip_nan) > 5);
        for plain in ["order", "offset", "pitch", "step"] {
            assert!(count(&|case| case.layout.to_string().starts_with(plain)) > 2, "{plain}");
        }
        assert!((180..270).contains(&count(&|case| case.layout == Layout::C)));
        for case in &cases {
            let bytes = case.room() * case.dtype.size();
            assert!((128 << 20..=(256 << 20) + 8).contains(&bytes), "{case}: {bytes}");
            assert_eq!(case.check(), Ok(()), "{case}");
        }
    }

    #[test]
    fn data_are_made_for_many_cases_at_once() {
        let cases = suite(7, 300, 256 << 20).cases;
        let plain: Vec<_> = cases.iter().filter(|case| case.least_room > 0).map(Case::memory).collect();
        let made = 1 + plain.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(made < plain.len() / 2, "{made} of {}", plain.len());
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(bytes("256MiB"), Ok(256 << 20));
        assert_eq!([bytes("1GiB"), bytes("2^28"), bytes("65536")], [Ok(1 << 30), Ok(1 << 28), Ok(65536)]);
        for wrong in ["", "MiB", "256MB", "2^99", "-1", "1.5GiB", "12", "9999GiB"] {
            assert!(bytes(wrong).unwrap_err().contains("256MiB"), "{wrong}");
        }
        for text in ["256MiB", "3GiB", "4KiB"] {
            assert_eq!(bytes(text).map(shown), Ok(text.into()));
        }
    }
}
