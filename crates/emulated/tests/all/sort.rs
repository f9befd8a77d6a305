//! Distinct values and runs: what sorting on the host finds.

use std::cmp::Ordering;

use warpfold::cuda::{Array, ArrayView, Finder, Groups, Options, Runs, Wanted, reduce};
use warpfold::{ArrayRef, DType, Element, Op, Value, bf16, f16};

use crate::Emulated;

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ x >> 29
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// An element type of the tests.
pub trait Bits: Element + Value + PartialEq {
    fn raw(self) -> u64;
    fn from_raw(bits: u64) -> Self;
}

macro_rules! bits {
    ($($t:ty, $raw:ty, $to:expr, $of:expr;)*) => {$(
        impl Bits for $t {
            fn raw(self) -> u64 {
                $to(self) as u64
            }
            fn from_raw(bits: u64) -> Self {
                $of(bits as $raw)
            }
        }
    )*};
}
bits! {
    i8, u8, i8::cast_unsigned, u8::cast_signed;
    u8, u8, u8::from, u8::from;
    i16, u16, i16::cast_unsigned, u16::cast_signed;
    i32, u32, i32::cast_unsigned, u32::cast_signed;
    u32, u32, u32::from, u32::from;
    i64, u64, i64::cast_unsigned, u64::cast_signed;
    u64, u64, u64::from, u64::from;
    f32, u32, f32::to_bits, f32::from_bits;
    f64, u64, f64::to_bits, f64::from_bits;
    f16, u16, f16::to_bits, f16::from_bits;
    bf16, u16, bf16::to_bits, bf16::from_bits;
}

/// The bits of numbers, which NaN does not equal otherwise.
fn raw<T: Bits>(x: &[T]) -> Vec<u64> {
    x.iter().map(|&x| x.raw()).collect()
}

/// The order of the contract: zeros are equal, NaNs are equal and the last.
fn order<T: Bits>(a: T, b: T) -> Ordering {
    let key = |x: T| (x.is_nan(), if x.is_nan() { T::from_raw(0).key_eq() } else { x.key_eq() });
    key(a).partial_cmp(&key(b)).expect("keys have an order")
}

/// What a distinct value is given as: of NaNs, the canonical one.
fn value<T: Bits>(x: T) -> u64 {
    match T::DTYPE {
        _ if !x.is_nan() => x.raw(),
        DType::F16 => f16::NAN.to_bits() as u64,
        DType::BF16 => bf16::NAN.to_bits() as u64,
        DType::F32 => f32::NAN.to_bits() as u64,
        _ => f64::NAN.to_bits(),
    }
}

/// Elements of a kind: random bits, few values, all equal, sorted, reversed, zeros and NaNs, nearly all equal.
fn elements<T: Bits>(kind: usize, n: usize, r: &mut Random) -> Vec<T> {
    let one = r.next();
    let zeros = [0, 1u64 << (8 * size_of::<T>() - 1), u64::MAX, u64::MAX >> 1, 1, 0];
    let mut x: Vec<T> = (0..n)
        .map(|i| match kind {
            1 => T::from_raw(r.below(5)),
            2 => T::from_raw(one),
            5 => T::from_raw(zeros[r.below(6) as usize]),
            6 if i == n / 3 => T::from_raw(!one),
            6 => T::from_raw(one),
            _ => T::from_raw(r.next()),
        })
        .collect();
    match kind {
        3 => x.sort_by(|&a, &b| order(a, b)),
        4 => x.sort_by(|&a, &b| order(b, a)),
        _ => {}
    }
    x
}

impl Emulated {
    pub fn list<T: Value>(&self, x: &[T]) -> Array {
        Array::upload(&self.stream, ArrayRef::from_slice(x, &[x.len()]).expect("a list")).expect("room")
    }

    /// The numbers of an array.
    pub fn numbers<T: Value>(&self, array: &Array) -> Vec<T> {
        array.download(&self.stream).expect("a result").into_vec().expect("numbers of that type")
    }

    /// The numbers of a view: reduced along no axis.
    pub fn seen<T: Value>(&self, view: ArrayView<'_>) -> Vec<T> {
        let options = Options { axes: Some(vec![]), ..Options::default() };
        self.numbers(&reduce(Op::Max, view, &options, &self.stream).expect("a copy"))
    }
}

/// Finds the distinct values of `x` by a sort: their counts, and perhaps positions and the inverse.
fn distinct<T: Bits>(on: &Emulated, x: &[T], all: bool) {
    let n = x.len();
    let there = on.list(x);
    let wanted = Wanted { counts: true, first: all, inverse: all };
    let mut finder = Finder::new(&on.device, &there.view(), wanted).expect("a plan");
    let mut out = finder.output().expect("room");
    finder.run(&on.stream, there.view(), &mut out).expect("a run");
    let out = out.trim(&on.stream).expect("a result");

    let mut sorted: Vec<usize> = (0..n).collect();
    sorted.sort_by(|&a, &b| order(x[a], x[b]));
    let runs: Vec<&[usize]> = sorted.chunk_by(|&a, &b| order(x[a], x[b]).is_eq()).collect();
    let want: Vec<u64> = runs.iter().map(|run| value(x[run[0]])).collect();
    assert_eq!(raw::<T>(&on.numbers(&out.values)), want, "{} of {n}", T::DTYPE);
    let want: Vec<i64> = runs.iter().map(|run| run.len() as i64).collect();
    assert_eq!(on.numbers::<i64>(&out.counts.expect("counts")), want, "{} of {n}", T::DTYPE);
    assert_eq!((out.first.is_some(), out.inverse.is_some()), (all, all));
    if let (Some(first), Some(inverse)) = (out.first, out.inverse) {
        let want: Vec<i64> = runs.iter().map(|run| run[0] as i64).collect();
        assert_eq!(on.numbers::<i64>(&first), want, "{} of {n}", T::DTYPE);
        let mut want = vec![0; n];
        runs.iter().enumerate().for_each(|(i, run)| run.iter().for_each(|&at| want[at] = i as i64));
        assert_eq!(on.numbers::<i64>(&inverse), want, "{} of {n}", T::DTYPE);
    }
}

/// Finds the distinct values of `x` by bits.
fn distinct_by_bits<T: Bits>(on: &Emulated, x: &[T]) {
    let n = x.len();
    let there = on.list(x);
    let mut finder = Finder::by_bits(&on.device, &there.view()).expect("a plan");
    let mut out = finder.output().expect("room");
    finder.run(&on.stream, there.view(), &mut out).expect("a run");
    let out = out.trim(&on.stream).expect("a result");

    let mut sorted: Vec<T> = x.to_vec();
    sorted.sort_by(|&a, &b| order(a, b));
    let want: Vec<u64> = sorted.chunk_by(|&a, &b| order(a, b).is_eq()).map(|run| value(run[0])).collect();
    let found = raw::<T>(&on.numbers(&out.values));
    assert_eq!(found.len(), want.len(), "{} of {n}", T::DTYPE);
    assert!(found == want, "{} of {n}", T::DTYPE);
}

fn distinct_of_all_kinds<T: Bits>(on: &Emulated, seed: u64) {
    let r = &mut Random(seed);
    for kind in 0..7 {
        let n = [1, 2, 31, 3072, 4096, 4097, 9000][(kind + seed as usize) % 7];
        distinct(on, &elements::<T>(kind, n, r), (kind + seed as usize).is_multiple_of(2));
    }
    distinct(on, &elements::<T>(5, 8200, r), true);
}

/// Distinct values of three dtypes of one size, by `kernel`. Of the third, random bits, and in order.
fn distinct_of_one_size<A: Bits, B: Bits, C: Bits>(seed: u64, kernel: &str) {
    let on = &Emulated::new();
    distinct_of_all_kinds::<A>(on, seed);
    distinct_of_all_kinds::<B>(on, seed + 1);
    let r = &mut Random(seed + 2);
    for (kind, n) in [(0, 4097), (3, 3072)] {
        distinct(on, &elements::<C>(kind, n, r), true);
    }
    assert!(on.entries().contains(kernel));
}

#[test]
fn distinct_values_of_4_bytes_are_those_of_the_host() {
    distinct_of_one_size::<i32, f32, u32>(1, "sort_heads_4");
}

#[test]
fn distinct_values_of_8_bytes_are_those_of_the_host() {
    distinct_of_one_size::<i64, f64, u64>(4, "sort_heads_8");
}

#[test]
fn distinct_values_of_1_and_2_bytes_are_those_of_the_host() {
    let on = &Emulated::new();
    distinct_of_all_kinds::<i8>(on, 7);
    distinct_of_all_kinds::<u8>(on, 8);
    distinct_of_all_kinds::<i16>(on, 9);
    distinct_of_all_kinds::<f16>(on, 10);
    distinct_of_all_kinds::<bf16>(on, 11);
}

#[test]
fn distinct_values_by_bits_are_those_of_the_host() {
    let (on, r) = (&Emulated::new(), &mut Random(31));
    // There are 16384 buckets of 4 bytes, which take seconds: one run has zeros and NaNs, and random bits.
    distinct_by_bits(on, &[elements::<f32>(5, 3000, r), elements(0, 3000, r)].concat());
    for kind in 0..7 {
        let n = [1, 2, 31, 3072, 4096, 4097, 6200][kind];
        distinct_by_bits(on, &elements::<f16>(kind, n, r));
        distinct_by_bits(on, &elements::<i8>(kind, n, r));
        distinct_by_bits(on, &elements::<bf16>(kind, n, r));
    }
    assert!(on.entries().contains("distinct_values"));
}

#[test]
fn buckets_of_many_keys_are_set_by_many_blocks() {
    let (on, r) = (&Emulated::new(), &mut Random(32));
    distinct_by_bits(on, &elements::<i16>(0, 90_000, r));
    // One bucket, then two, of which the second has no end in the first block.
    distinct_by_bits(on, &elements::<i32>(1, 90_000, r));
    let two: Vec<u32> = (0..190_000).map(|i| (i as u32 & 1) << 30 | r.below(70_000) as u32).collect();
    distinct_by_bits(on, &two);
    // Crowds, and single values far from each other.
    let crowds: Vec<i16> =
        (0..9000).map(|_| if r.below(2) == 0 { r.below(900) as i16 } else { r.next() as i16 }).collect();
    distinct_by_bits(on, &crowds);
    let floods = on.emulator.take_launches().into_iter().filter(|(entry, _)| entry == "distinct_flood");
    assert!(floods.into_iter().any(|(_, report)| report.blocks > 1));
}

/// Runs are those of the elements as they are.
#[test]
fn runs_keep_their_first_key_as_it_is() {
    let (on, r) = (Emulated::new(), &mut Random(5));
    for (kind, n) in [(1, 9000), (5, 5000), (2, 4097), (0, 100), (3, 1)] {
        let x = elements::<f32>(kind, n, r);
        let there = on.list(&x);
        let runs = Runs::new(there.view(), &on.stream).expect("runs");
        let heads: Vec<usize> = (0..n).filter(|&i| i == 0 || order(x[i], x[i - 1]).is_ne()).collect();
        assert_eq!(runs.len(), heads.len());
        let want: Vec<u64> = heads.iter().map(|&i| x[i].raw()).collect();
        assert_eq!(raw::<f32>(&on.numbers(&runs.keys)), want);
        let want: Vec<u32> = heads.iter().chain([&n]).map(|&i| i as u32).collect();
        assert_eq!(on.seen::<u32>(runs.offsets()), want);
    }
}

#[test]
fn nothing_is_sorted_in_no_launch() {
    let on = Emulated::new();
    let nothing = on.list::<f32>(&[]);
    let wanted = Wanted { counts: true, first: true, inverse: true };
    for wanted in [wanted, Wanted::default()] {
        let mut finder = Finder::new(&on.device, &nothing.view(), wanted).expect("a plan");
        let mut out = finder.output().expect("room");
        finder.run(&on.stream, nothing.view(), &mut out).expect("a run");
        assert_eq!(out.len(&on.stream).expect("a number"), 0);
    }
    assert!(Runs::new(nothing.view(), &on.stream).expect("runs").is_empty());
    assert_eq!(on.entries(), "");
    // Of no labels, all groups are empty.
    let found = Groups::new(on.list::<i32>(&[]).view(), Some(3), &on.stream).expect("groups");
    assert_eq!(on.seen::<u32>(found.offsets()), [0; 4]);
    assert!(!on.entries().contains("sort_"));
}
