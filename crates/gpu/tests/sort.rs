//! Sorting, distinct values and groups in the emulator: no fault, and what the host finds.

use warpfold_core::{DType, Element, bf16, f16};
use warpfold_emulator::Memory;
use warpfold_kernels::Production;
use warpfold_gpu::plan::kmeans::Launch;
use warpfold_kernels::sort::emulate;
use warpfold_gpu::plan::sort::{Carried, Problem, What, counts};
use warpfold_kernels::sort::state::{FIRST, FOUND, of_special};
use warpfold_simt::{Global, Pod};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ x >> 29
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

fn at<T>(array: Global<T>) -> u64 {
    array.as_ptr().addr() as u64
}

fn run(memory: &Memory, launch: &Launch, addresses: &[u64]) {
    let mut params = launch.params.clone();
    params[..addresses.len()].copy_from_slice(addresses);
    let production = Production { entry: &launch.entry, grid: launch.grid, block: launch.block, params: &params };
    let said = emulate(memory, production).expect(&launch.entry);
    said.unwrap_or_else(|faults| panic!("{}: {faults}", launch.entry));
}

/// An element type of the tests.
trait Bits: Element + PartialEq {
    type Raw: Pod + Default + PartialEq + std::fmt::Debug;
    fn raw(self) -> Self::Raw;
    fn of(bits: u64) -> Self;
}

macro_rules! bits {
    ($($t:ty, $raw:ty, $to:expr, $of:expr;)*) => {$(
        impl Bits for $t {
            type Raw = $raw;
            fn raw(self) -> $raw {
                $to(self)
            }
            fn of(bits: u64) -> Self {
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

/// The order of the contract: zeros are equal, NaNs are equal and the last.
fn order<T: Bits>(a: T, b: T) -> std::cmp::Ordering {
    let key = |x: T| (x.is_nan(), if x.is_nan() { T::of(0).key_eq() } else { x.key_eq() });
    key(a).partial_cmp(&key(b)).expect("keys have an order")
}

/// Elements of a kind: random bits, few values, all equal, sorted, reversed, zeros and NaNs, nearly all equal.
fn elements<T: Bits>(kind: usize, n: usize, r: &mut Random) -> Vec<T> {
    let one = r.next();
    let zeros = [0, 1u64 << (8 * size_of::<T>() - 1), u64::MAX, u64::MAX >> 1, 1, 0];
    let mut x: Vec<T> = (0..n)
        .map(|i| match kind {
            1 => T::of(r.below(5)),
            2 => T::of(one),
            5 => T::of(zeros[r.below(6) as usize]),
            6 if i == n / 3 => T::of(!one),
            6 => T::of(one),
            _ => T::of(r.next()),
        })
        .collect();
    match kind {
        3 => x.sort_by(|&a, &b| order(a, b)),
        4 => x.sort_by(|&a, &b| order(b, a)),
        _ => {}
    }
    x
}

fn problem<T: Bits>(n: usize, what: What, carried: Carried) -> Problem {
    Problem { dtype: T::DTYPE, n, what, carried, multiprocessors: 1 }
}

/// The addresses of a sort, all of whose buffers are there.
fn buffers(memory: &mut Memory, p: &Problem, input: u64, values: u64) -> [u64; 7] {
    // The emulator looks for races by elements, so these are as small as anything that is written.
    let mut room = |name: &str, bytes: usize, element: usize| match element {
        8 => at(memory.alloc::<u64>(name, bytes / 8)),
        4 => at(memory.alloc::<u32>(name, bytes / 4)),
        _ => at(memory.alloc::<u8>(name, bytes)),
    };
    let ([keys, more_keys], [load, more]) = (p.keys_bytes(), p.carried_bytes());
    let [a, b] = [("keys 0", keys), ("keys 1", more_keys)].map(|(name, bytes)| room(name, bytes, p.key()));
    let least = if let Carried::Values { size } = p.carried { size } else { 4 };
    let [c, d] = [("carried 0", load), ("carried 1", more)].map(|(name, bytes)| room(name, bytes, least));
    let state = at(memory.upload("state", &vec![0u32; p.state_words()]));
    [input, values, a, b, c, d, state]
}

fn read<T: Pod>(memory: &Memory, address: u64, n: usize) -> Vec<T> {
    // SAFETY: the emulator looks addresses up.
    memory.read(unsafe { Global::from_raw(std::ptr::without_provenance_mut(address as usize)) }, n)
}

/// Finds the distinct values of `x` both ways.
fn distinct<T: Bits>(x: &[T], all: bool) {
    let n = x.len();
    let carried = if all { Carried::Positions } else { Carried::Nothing };
    let p = problem::<T>(n, What::Values, carried);
    let mut memory = Memory::new();
    let raw: Vec<T::Raw> = x.iter().map(|&x| x.raw()).collect();
    let input = at(memory.upload("input", &raw));
    let sort = buffers(&mut memory, &p, input, 0);
    p.sort().iter().for_each(|launch| run(&memory, launch, &sort));
    let values = at(memory.alloc::<T::Raw>("values", n));
    let starts = at(memory.alloc::<u32>("starts", n + 1));
    let many = at(memory.alloc::<u64>("counts", n));
    let [first, inverse] = ["first", "inverse"].map(|name| if all { at(memory.alloc::<u64>(name, n)) } else { 0 });
    let [_, _, a, b, c, d, state] = sort;
    let heads = p.heads().expect("heads of elements");
    run(&memory, &heads, &[input, a, b, c, d, state, values, starts, first, inverse]);
    run(&memory, &p.counts(), &[starts, many, state]);

    let mut sorted: Vec<usize> = (0..n).collect();
    sorted.sort_by(|&a, &b| order(x[a], x[b]));
    let runs: Vec<&[usize]> = sorted.chunk_by(|&a, &b| order(x[a], x[b]).is_eq()).collect();
    let found = read::<u32>(&memory, state, FOUND + 1)[FOUND] as usize;
    assert_eq!(found, runs.len(), "{} of {n}", T::DTYPE);
    let value = |x: T| if x.is_nan() { T::of(nan::<T>()).raw() } else { x.raw() };
    let want: Vec<T::Raw> = runs.iter().map(|run| value(x[run[0]])).collect();
    assert_eq!(read::<T::Raw>(&memory, values, found), want, "{} of {n}", T::DTYPE);
    let want: Vec<u64> = runs.iter().map(|run| run.len() as u64).collect();
    assert_eq!(read::<u64>(&memory, many, found), want);
    if all {
        let want: Vec<u64> = runs.iter().map(|run| run[0] as u64).collect();
        assert_eq!(read::<u64>(&memory, first, found), want);
        let mut want = vec![0; n];
        runs.iter().enumerate().for_each(|(i, run)| run.iter().for_each(|&at| want[at] = i as u64));
        assert_eq!(read::<u64>(&memory, inverse, n), want);
    }
}

/// Finds the distinct values of `x` by bits.
fn distinct_by_bits<T: Bits>(x: &[T]) {
    let n = x.len();
    let p = problem::<T>(n, What::Buckets, Carried::Nothing);
    let mut memory = Memory::new();
    let raw: Vec<T::Raw> = x.iter().map(|&x| x.raw()).collect();
    let input = at(memory.upload("input", &raw));
    let sort = buffers(&mut memory, &p, input, 0);
    p.sort().iter().for_each(|launch| run(&memory, launch, &sort));
    let values = at(memory.alloc::<T::Raw>("values", n));
    let starts = at(memory.alloc::<u32>("starts", p.buckets() + 1));
    let bits = at(memory.upload("bits", &vec![0u32; p.bits_words()]));
    let [_, _, a, b, _, _, state] = sort;
    p.distinct().iter().for_each(|launch| run(&memory, launch, &[input, a, b, state, starts, bits, values]));

    let mut sorted: Vec<T> = x.to_vec();
    sorted.sort_by(|&a, &b| order(a, b));
    let value = |x: T| if x.is_nan() { T::of(nan::<T>()).raw() } else { x.raw() };
    let want: Vec<T::Raw> = sorted.chunk_by(|&a, &b| order(a, b).is_eq()).map(|run| value(run[0])).collect();
    let found = read::<u32>(&memory, state, FOUND + 1)[FOUND] as usize;
    assert_eq!(found, want.len(), "{} of {n}", T::DTYPE);
    assert!(read::<T::Raw>(&memory, values, found) == want, "{} of {n}", T::DTYPE);
}

/// The bits of the canonical NaN.
fn nan<T: Bits>() -> u64 {
    match T::DTYPE {
        DType::F16 => f16::NAN.to_bits() as u64,
        DType::BF16 => bf16::NAN.to_bits() as u64,
        DType::F32 => f32::NAN.to_bits() as u64,
        _ => f64::NAN.to_bits(),
    }
}

fn distinct_of_all_kinds<T: Bits>(seed: u64) {
    let r = &mut Random(seed);
    for kind in 0..7 {
        let n = [1, 2, 31, 3072, 4096, 4097, 9000][(kind + seed as usize) % 7];
        distinct(&elements::<T>(kind, n, r), (kind + seed as usize).is_multiple_of(2));
    }
    distinct(&elements::<T>(5, 8200, r), true);
}

#[test]
fn distinct_values_are_those_of_the_host() {
    distinct_of_all_kinds::<i32>(1);
    distinct_of_all_kinds::<f32>(2);
    distinct_of_all_kinds::<u32>(3);
}

#[test]
fn distinct_values_of_8_bytes_are_those_of_the_host() {
    distinct_of_all_kinds::<i64>(4);
    distinct_of_all_kinds::<f64>(5);
    distinct_of_all_kinds::<u64>(6);
}

#[test]
fn distinct_values_of_1_and_2_bytes_are_those_of_the_host() {
    distinct_of_all_kinds::<i8>(7);
    distinct_of_all_kinds::<u8>(8);
    distinct_of_all_kinds::<i16>(9);
    distinct_of_all_kinds::<f16>(10);
    distinct_of_all_kinds::<bf16>(11);
}

#[test]
fn distinct_values_by_bits_are_those_of_the_host() {
    let r = &mut Random(31);
    // There are 16384 buckets, so these take long.
    distinct_by_bits(&elements::<i32>(0, 3000, r));
    distinct_by_bits(&elements::<f32>(5, 3000, r));
    for kind in 0..7 {
        let n = [1, 2, 31, 3072, 4096, 4097, 9000][kind];
        distinct_by_bits(&elements::<f16>(kind, n, r));
        distinct_by_bits(&elements::<i8>(kind, n, r));
        distinct_by_bits(&elements::<bf16>(kind, n, r));
    }
}

#[test]
fn buckets_of_many_keys_are_set_by_many_blocks() {
    let r = &mut Random(32);
    distinct_by_bits(&elements::<i16>(0, 140_000, r));
    // One bucket, then two, of which the second has no end in the first block.
    distinct_by_bits(&elements::<u32>(1, 140_000, r));
    let two: Vec<u32> = (0..290_000).map(|i| (i as u32 & 1) << 30 | r.below(70_000) as u32).collect();
    distinct_by_bits(&two);
    // Crowds, and single values far from each other.
    let crowds: Vec<i16> =
        (0..9000).map(|_| if r.below(2) == 0 { r.below(900) as i16 } else { r.next() as i16 }).collect();
    distinct_by_bits(&crowds);
}

/// Runs are those of the elements as they are.
#[test]
fn runs_keep_their_first_key_as_it_is() {
    let r = &mut Random(5);
    for (kind, n) in [(1, 9000), (5, 5000), (2, 4097), (0, 100), (3, 1)] {
        let x = elements::<f32>(kind, n, r);
        let p = problem::<f32>(n, What::Values, Carried::Nothing);
        let mut memory = Memory::new();
        let raw: Vec<u32> = x.iter().map(|x| x.to_bits()).collect();
        let input = at(memory.upload("input", &raw));
        let state = at(memory.upload("state", &vec![0u32; p.runs_words()]));
        let values = at(memory.alloc::<u32>("values", n));
        let starts = at(memory.alloc::<u32>("starts", n + 1));
        run(&memory, &p.runs().expect("runs"), &[input, 0, 0, 0, 0, state, values, starts, 0, 0]);
        let found = read::<u32>(&memory, state, FOUND + 1)[FOUND] as usize;
        let heads: Vec<usize> = (0..n).filter(|&i| i == 0 || order(x[i], x[i - 1]).is_ne()).collect();
        assert_eq!(found, heads.len());
        let want: Vec<u32> = heads.iter().map(|&i| raw[i]).collect();
        assert_eq!(read::<u32>(&memory, values, found), want);
        let want: Vec<u32> = heads.iter().chain([&n]).map(|&i| i as u32).collect();
        assert_eq!(read::<u32>(&memory, starts, found + 1), want);
    }
}

/// Sorts labels, with values of type `V` or their positions, and looks at offsets, counts and order.
fn groups<T: Bits, V: Pod + PartialEq + std::fmt::Debug>(labels: &[i128], groups: usize, values: Option<&[V]>) {
    let n = labels.len();
    let carried = values.map_or(Carried::Positions, |_| Carried::Values { size: size_of::<V>() });
    let p = problem::<T>(n, What::Labels { groups }, carried);
    let mut memory = Memory::new();
    let raw: Vec<T::Raw> = labels.iter().map(|&label| T::of(label as u64).raw()).collect();
    let input = at(memory.upload("labels", &raw));
    let given = values.map_or(0, |values| at(memory.upload("values", values)));
    let sort = buffers(&mut memory, &p, input, given);
    p.sort().iter().for_each(|launch| run(&memory, launch, &sort));
    let [_, _, a, b, c, d, state] = sort;
    let offsets = at(memory.alloc::<u32>("offsets", groups + 1));
    run(&memory, &p.offsets(groups), &[[a, b][p.last()], 0, offsets, 0]);
    let many = at(memory.alloc::<u64>("counts", groups));
    run(&memory, &counts(groups, 1), &[offsets, many, 0]);

    let is_in = |at: usize| (0..groups as i128).contains(&labels[at]);
    let group = |at: usize| if is_in(at) { labels[at] as usize } else { groups };
    let mut sorted: Vec<usize> = (0..n).collect();
    sorted.sort_by_key(|&at| group(at));
    let want: Vec<u32> = (0..=groups).map(|k| sorted.partition_point(|&at| group(at) < k) as u32).collect();
    assert_eq!(read::<u32>(&memory, offsets, groups + 1), want, "{} labels of {groups}", T::DTYPE);
    let lengths: Vec<u64> = want.windows(2).map(|pair| (pair[1] - pair[0]) as u64).collect();
    assert_eq!(read::<u64>(&memory, many, groups), lengths);
    let moved = [c, d][p.last()];
    match values {
        Some(values) => {
            let want: Vec<V> = sorted.iter().map(|&at| values[at]).collect();
            assert_eq!(read::<V>(&memory, moved, n), want, "{} labels of {groups}", T::DTYPE);
        }
        None => {
            let want: Vec<u32> = sorted.iter().map(|&at| at as u32).collect();
            assert_eq!(read::<u32>(&memory, moved, n), want, "{} labels of {groups}", T::DTYPE);
        }
    }
    let bad = (0..n).find(|&at| !is_in(at) && labels[at] != -1);
    let said = read::<u32>(&memory, state, FIRST + 3);
    assert_eq!(of_special(said[FIRST]).map(|(at, _)| at as usize), bad);
    if let Some(at) = bad {
        let label = said[FIRST + 1] as u64 | (said[FIRST + 2] as u64) << 32;
        assert_eq!(T::of(label).raw(), T::of(labels[at] as u64).raw());
    }
}

/// Labels below `groups`, some of them -1 and some of no group.
fn labels(n: usize, groups: usize, none: bool, bad: bool, r: &mut Random) -> Vec<i128> {
    let mut all: Vec<i128> =
        (0..n).map(|_| if none && r.below(5) == 0 { -1 } else { r.below(groups.max(1) as u64) as i128 }).collect();
    if bad {
        (0..3).for_each(|_| all[r.below(n as u64) as usize] = groups as i128);
    }
    all
}

#[test]
fn groups_keep_the_order_of_their_elements() {
    let r = &mut Random(77);
    for (n, k) in [(1, 1), (5121, 1), (6000, 16), (11_000, 255), (10_300, 256), (9000, 1000), (5000, 100_000)] {
        let all = labels(n, k, k != 16, false, r);
        groups::<i32, u32>(&all, k, None);
        let values: Vec<u32> = (0..n).map(|_| r.next() as u32).collect();
        groups::<i32, u32>(&all, k, Some(&values));
        groups::<i64, u64>(&all, k, Some(&values.iter().map(|&x| (x as u64) << 7).collect::<Vec<_>>()));
    }
}

#[test]
fn values_of_1_and_2_bytes_stay_as_they_are() {
    let r = &mut Random(78);
    for (n, k) in [(6000, 16), (9000, 1000), (3, 70_000)] {
        let all = labels(n, k, true, false, r);
        groups::<i32, u8>(&all, k, Some(&(0..n).map(|_| r.next() as u8).collect::<Vec<_>>()));
        groups::<i64, u16>(&all, k, Some(&(0..n).map(|_| r.next() as u16).collect::<Vec<_>>()));
    }
}

#[test]
fn the_first_label_of_no_group_is_found() {
    let r = &mut Random(79);
    for (n, k) in [(1, 3), (9000, 100), (5200, 120)] {
        let all = labels(n, k, true, true, r);
        groups::<i32, u32>(&all, k, None);
        groups::<i64, u32>(&all, k, None);
        groups::<i8, u32>(&all, k, None);
        let unsigned: Vec<i128> = all.iter().map(|&label| label.max(0)).collect();
        groups::<u8, u32>(&unsigned, k, None);
        groups::<u64, u32>(&unsigned, k, None);
    }
    // All bits set is -1 only of signed integers.
    groups::<u64, u32>(&[3, u64::MAX as i128, 1], 4, None);
    groups::<u32, u32>(&[u32::MAX as i128, 0], 4, None);
    groups::<i64, u32>(&[1 << 40, -5, 2], 4, None);
    groups::<i32, u32>(&[-1, -1], 0, None);
}

#[test]
fn places_become_positions() {
    let n = 3000;
    let mut memory = Memory::new();
    let p = problem::<i32>(n, What::Labels { groups: 4 }, Carried::Positions);
    let order: Vec<u32> = (0..n as u32).map(|i| (i * 7) % n as u32).collect();
    let positions = at(memory.upload("positions", &order));
    // The second group is empty, and the last has no result.
    let offsets = at(memory.upload("offsets", &[0u32, 10, 10, 2000, 3000]));
    let places = at(memory.upload("places", &[3u64, 99, 1989, u64::MAX]));
    run(&memory, &p.places(4, 1), &[0, positions, offsets, places]);
    assert_eq!(read::<u64>(&memory, places, 4), [order[3] as u64, 99, order[1999] as u64, u64::MAX]);
    // Two of each.
    let places = at(memory.upload("places", &[3u64, 0, 99, 99, 1989, 0, u64::MAX, 999]));
    run(&memory, &p.places(4, 2), &[0, positions, offsets, places]);
    let [first, last] = [[order[3], order[0]], [order[1999], order[10]]].map(|pair| pair.map(u64::from));
    let want = [first, [99, 99], last, [u64::MAX, order[2999] as u64]].concat();
    assert_eq!(read::<u64>(&memory, places, 8), want);
}

#[test]
fn nothing_is_sorted_in_no_launch() {
    let p = problem::<f32>(0, What::Values, Carried::Positions);
    assert!(p.sort().is_empty() && p.heads().is_none() && p.runs().is_none());
}
