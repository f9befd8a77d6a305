//! What must never change a bit: threads, SIMD level, layout, axis position, cuts of a stream; and what errors say.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::reference::{Random, Strided, element};
use ndarray::{Array2, ArrayD, Axis, ShapeBuilder, s};
use proptest::prelude::*;
use warpfold::core::ops::{Arg, Deviation, LogSumExp, Search, Sum};
use warpfold::core::{Cast, Element};
use warpfold::cpu::simd::Simd;
use warpfold::{ArrayRef, DType, Error, Op, Options, Order, Reducer, Scalar, Stream, describe, over, reduce};

fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let r = &mut Random(seed | 1);
    (0..n).map(|_| element(r, DType::F32, 0).to_f64() as f32).collect()
}

#[test]
fn thread_count_and_simd_level_change_no_bit() {
    let x = numbers(1_500_001, 1);
    for op in [Op::Sum, Op::Var, Op::LogSumExp, Op::Norm, Op::ArgMin, Op::Prod] {
        let mut seen = Vec::new();
        for simd in [Simd::Baseline, Simd::Avx2, Simd::Avx512] {
            simd.limit();
            for threads in [1, 2, 3, 7] {
                let x = ArrayRef::from_slice(&x, &[x.len()]).unwrap();
                let o = Options { threads: Some(threads), ..Options::default() };
                seen.push(reduce(op, x, &o).unwrap().scalar().unwrap().bits());
            }
        }
        assert!(seen.iter().all(|bits| *bits == seen[0]), "{op}: {seen:x?}");
    }
}

#[test]
fn a_transposed_view_has_the_bits_of_its_copy() {
    for (rows, columns) in [(300, 500), (513, 1025), (7, 4099)] {
        let x = Array2::from_shape_vec((rows, columns), numbers(rows * columns, 5)).unwrap();
        let t = x.t();
        let copy = t.as_standard_layout().to_owned();
        assert_eq!(warpfold::sum(&t).unwrap().to_bits(), warpfold::sum(&copy).unwrap().to_bits());
        let back = x.slice(s![..;-1, ..;2]);
        let copy = back.as_standard_layout().to_owned();
        assert_eq!(over(&back).axis(0).var().unwrap(), over(&copy).axis(0).var().unwrap());
    }
}

/// Each output alone: its elements copied together, in order.
fn alone(x: &ArrayD<f32>, axes: &[usize], op: Op) -> Vec<u128> {
    let kept = (0..x.ndim()).filter(|axis| !axes.contains(axis));
    let turned = x.view().permuted_axes(kept.chain(axes.iter().copied()).collect::<Vec<_>>());
    let flat: Vec<f32> = turned.iter().copied().collect();
    let count: usize = axes.iter().map(|&axis| x.shape()[axis]).product();
    let one = |row: &[f32]| {
        let row = ArrayRef::from_slice(row, &[count]).unwrap();
        reduce(op, row, &Options { threads: Some(1), ..Options::default() }).unwrap().scalar().unwrap().bits().0
    };
    flat.chunks(count).map(|row| one(row) as u128).collect()
}

#[test]
fn the_way_through_memory_changes_no_bit() {
    let mut cases: Vec<(Vec<usize>, Vec<usize>, Order)> = vec![
        // Runs, in memory order.
        (vec![70, 9, 512], vec![0, 2], Order::C),
        (vec![129, 2, 256], vec![0, 2], Order::C),
        (vec![64, 3, 1024], vec![0, 2], Order::C),
        // Lanes of a transposed array as columns, and in rings.
        (vec![40, 192], vec![0, 1], Order::Fortran),
        (vec![300, 4096], vec![0, 1], Order::Fortran),
        (vec![100, 48], vec![0, 1], Order::Fortran),
        (vec![600, 999], vec![0, 1], Order::Fortran),
        (vec![9, 50, 77], vec![0, 1, 2], Order::Fortran),
        // The last columns.
        (vec![300, 17], vec![0], Order::C),
        (vec![300, 95], vec![0], Order::C),
    ];
    for len in [2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 255, 300] {
        cases.push((vec![200, len], vec![1], Order::C));
    }
    for (i, (shape, axes, order)) in cases.iter().enumerate() {
        let n = shape.iter().product();
        let r = &mut Random(2 * i as u64 + 1);
        let wild = [0, 0, 1][i % 3];
        let x: Vec<f32> = (0..n).map(|_| element(r, DType::F32, wild).to_f64() as f32).collect();
        let in_order = shape.clone().set_f(matches!(order, Order::Fortran));
        let array = ArrayD::from_shape_vec(in_order, x.clone()).unwrap();
        for op in [Op::Sum, Op::Var, Op::Max, Op::ArgMin, Op::LogSumExp] {
            for threads in [1, 2] {
                let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
                let view = ArrayRef::from_bytes(&bytes, DType::F32, shape, *order, false).unwrap();
                let axes_given = axes.iter().map(|&axis| axis as isize).collect();
                let o = Options { axes: Some(axes_given), threads: Some(threads), ..Options::default() };
                let got = reduce(op, view, &o).unwrap().values;
                let got: Vec<u128> = (0..got.len()).map(|i| got.get(i).bits().0 as u128).collect();
                assert_eq!(got, alone(&array, axes, op), "{op} {shape:?} {axes:?} {order:?}");
            }
        }
    }
}

#[test]
fn variances_of_small_integers_are_those_of_the_same_floats() {
    fn check<T: Element>(least: f64, greatest: f64) {
        for n in [1, 2, 3, 77, 2048, 4096, 4096 + 2048 + 77, 40_000] {
            for every in [1, 2, 3, 2047, 5000] {
                let x: Vec<f64> = (0..n).map(|i| if i / every % 2 == 0 { least } else { greatest }).collect();
                let small: Vec<T> = x.iter().map(|&x| T::from_cast(Cast::Float(x))).collect();
                let var = |x: ArrayRef<'_>| reduce(Op::Var, x, &Options::default()).unwrap().scalar().unwrap().bits();
                let (small, x) = (ArrayRef::from_slice(&small, &[n]).unwrap(), ArrayRef::from_slice(&x, &[n]).unwrap());
                assert_eq!(var(small), var(x), "{} {n} {every}", T::DTYPE);
            }
        }
    }
    check::<i8>(-128.0, 127.0);
    check::<u8>(0.0, 255.0);
    check::<i16>(-32768.0, 32767.0);
    check::<u16>(0.0, 65535.0);
}

#[test]
fn a_row_has_the_same_bits_wherever_it_stands() {
    // One row alone, in a batch, as a column, as a middle axis, at an odd address.
    let n = 5003;
    let row = numbers(n, 9);
    let alone = warpfold::sum(&row).unwrap().to_bits();
    let mut batch = numbers(3 * n, 11);
    batch[n..2 * n].copy_from_slice(&row);
    let batch = Array2::from_shape_vec((3, n), batch).unwrap();
    assert_eq!(over(&batch).axis(1).sum().unwrap().data[1].to_bits(), alone);
    let columns = batch.t().as_standard_layout().to_owned();
    assert_eq!(over(&columns).axis(0).sum().unwrap().data[1].to_bits(), alone);
    let middle = columns.insert_axis(Axis(0));
    assert_eq!(over(&middle).axis(1).sum().unwrap().data[1].to_bits(), alone);
    let mut bytes = vec![0u8; 4 * n + 1];
    bytes[1..].copy_from_slice(&row.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<_>>());
    let odd = ArrayRef::from_bytes(&bytes[1..], DType::F32, &[n], Order::C, cfg!(target_endian = "little")).unwrap();
    assert_eq!(reduce(Op::Sum, odd, &Options::default()).unwrap().scalar().unwrap().bits().0, alone as u64);
}

#[test]
fn describe_has_the_bits_of_the_single_ops() {
    let r = &mut Random(77);
    for dtype in DType::ALL {
        // The last ones are reduced in parts.
        let shapes: [(&[usize], &[isize]); 6] = [
            (&[3000], &[0]),
            (&[40, 70], &[0]),
            (&[6, 5, 300], &[0, 2]),
            (&[3000, 90], &[1]),
            (&[3, 40_000], &[0]),
            (&[4, 7, 300, 30], &[1]),
        ];
        for (shape, axes) in shapes {
            let x = Strided::new(r, dtype, shape, |r| element(r, dtype, 1));
            let o = Options { axes: Some(axes.to_vec()), ..Options::default() };
            let d = describe(x.view(), &o).unwrap();
            for (name, values) in &d.stats {
                if *name == "nan_count" {
                    continue;
                }
                let single = reduce(name.parse().unwrap(), x.view(), &o).unwrap();
                let bits = |v: &warpfold::Values| (0..v.len()).map(|i| v.get(i).bits()).collect::<Vec<_>>();
                assert_eq!((values.dtype(), bits(values)), (single.dtype(), bits(&single.values)), "{name} of {dtype}");
            }
        }
    }
}

/// 2×2 matrices modulo a prime: associative, exact, and far from commutative.
#[derive(Clone)]
struct Matrices;

impl Reducer for Matrices {
    type Item = u32;
    type Acc = [u64; 4];
    type Output = [u64; 4];
    fn lift(&self, x: u32, index: u64) -> [u64; 4] {
        [x as u64 % 997, index % 991, 1, 3]
    }
    fn combine(&self, a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
        let m = |i: usize, j: usize| (a[2 * i] * b[j] + a[2 * i + 1] * b[2 + j]) % 1_000_003;
        [m(0, 0), m(0, 1), m(1, 0), m(1, 1)]
    }
    fn finish(&self, acc: [u64; 4], _count: u64) -> [u64; 4] {
        acc
    }
}

#[test]
fn a_custom_reducer_that_does_not_commute() {
    let x: Vec<u32> = (0..1_000_003u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let lifted = |x: &[u32]| -> Vec<[u64; 4]> { (0..).zip(x).map(|(i, &x)| Matrices.lift(x, i)).collect() };
    let fold = |x: &[u32]| lifted(x).into_iter().reduce(|a, b| Matrices.combine(a, b)).unwrap();
    for threads in [1, 2] {
        assert_eq!(over(&x).threads(threads).with(Matrices).unwrap().item(), Some(fold(&x)));
    }
    let table = Array2::from_shape_vec((211, 37), x[..211 * 37].to_vec()).unwrap();
    for (i, got) in over(&table).axis(0).with(Matrices).unwrap().data.into_iter().enumerate() {
        assert_eq!(got, fold(&table.column(i).to_vec()));
    }
    let keep = ndarray::Array1::from_shape_fn(37, |i| i % 3 != 0);
    let masked = over(&table).axis(1).mask(&keep).with(Matrices).unwrap();
    for (i, got) in masked.data.into_iter().enumerate() {
        let row = lifted(&table.row(i).to_vec());
        let want =
            row.into_iter().zip(&keep).filter(|(_, k)| **k).map(|(m, _)| m).reduce(|a, b| Matrices.combine(a, b));
        assert_eq!(Some(got), want);
    }
    assert!(over(&Vec::<u32>::new()).with(Matrices).unwrap_err().to_string().contains("no identity"));
    assert_eq!(over(&x).skip_nan().with(Matrices).unwrap_err(), Error::CustomOption);
}

fn cut_and_join<R: Reducer<Output: PartialEq + std::fmt::Debug>>(
    reducer: R,
    x: &[R::Item],
    cuts: &[usize],
) -> R::Output {
    let mut whole = Stream::new(reducer.clone());
    for w in cuts.windows(2) {
        let mut part = Stream::starting_at(reducer.clone(), w[0] as u64);
        let middle = (w[0] + w[1]) / 2;
        part.push(&x[w[0]..middle]);
        let mut copy = part.clone();
        copy.push(&x[middle..w[1]]);
        whole.join(&copy).unwrap();
    }
    whole.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn streams_cut_anywhere_give_the_whole(
        n in 1usize..300_000,
        seed: u64,
        cuts in prop::collection::vec(0f64..1.0, 0..5),
    ) {
        let x = numbers(n, seed);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| (c * n as f64) as usize).chain([0, n]).collect();
        cuts.sort();
        prop_assert_eq!(cut_and_join(Sum::<f32>::total(), &x, &cuts).to_bits(), warpfold::sum(&x).unwrap().to_bits());
        prop_assert_eq!(cut_and_join(Deviation::<f32>::new(0.0, false), &x, &cuts), warpfold::var(&x).unwrap());
        prop_assert_eq!(cut_and_join(LogSumExp::<f32>::new(), &x, &cuts), warpfold::logsumexp(&x).unwrap());
        let arg = Arg::<f32> { search: Search::new(true, false) };
        prop_assert_eq!(cut_and_join(arg, &x, &cuts).index(), Some(warpfold::argmax(&x).unwrap() as u64));
    }
}

#[cfg(feature = "serde")]
#[test]
fn a_stream_survives_storage() {
    let x = numbers(10_000, 3);
    let mut stream = Stream::new(Sum::<f32>::mean());
    stream.push(&x[..3333]);
    let stored = serde_json::to_string(&stream).unwrap();
    let mut restored: Stream<Sum<f32>> = serde_json::from_str(&stored).unwrap();
    restored.push(&x[3333..]);
    assert_eq!(restored.finish(), Some(warpfold::mean(&x).unwrap()));
    let mut later = Stream::starting_at(Sum::<f32>::mean(), 5);
    later.push(&x[5..9]);
    assert_eq!(later.finish(), None);
    assert!(stream.join(&later).unwrap_err().to_string().contains("next contiguous range"));
    assert_eq!(stream.count(), 3333);
}

#[test]
fn errors_say_what_and_what_to_do() {
    let x = [1.0f32, 2.0];
    let array = ArrayRef::from_slice(&x, &[2, 1]).unwrap();
    let fails = |op, o: Options<'_>| reduce(op, array, &o).unwrap_err().to_string();
    let o = Options::default;
    let cases = [
        (
            fails(Op::Sum, Options { axes: Some(vec![2]), ..o() }),
            "axis 2 is out of range for an array of rank 2: use -2 to 1",
        ),
        (fails(Op::Sum, Options { axes: Some(vec![0, -2]), ..o() }), "axis -2 is named twice"),
        (fails(Op::Max, Options { dtype: Some(DType::F64), ..o() }), "max of f32 does not take dtype"),
        (fails(Op::Sum, Options { dtype: Some(DType::I32), ..o() }), "casting floats to integers"),
        (fails(Op::Mean, Options { initial: Some(Scalar::F32(1.0)), ..o() }), "initial"),
        (fails(Op::Var, Options { ddof: Some(f64::NAN), ..o() }), "finite"),
        (fails(Op::Sum, Options { mask: Some(array), ..o() }), "the mask has dtype f32, it must be bool"),
        (warpfold::max(&[0f32; 0]).unwrap_err().to_string(), "and max has no identity; give an initial value"),
        (over(&[f32::NAN]).skip_nan().argmax().unwrap_err().to_string(), "found only NaN"),
        ("summ".parse::<Op>().unwrap_err().to_string(), "did you mean `sum`?"),
        (ArrayRef::from_slice(&x, &[3]).unwrap_err().to_string(), "needs 3"),
        (ArrayRef::from_slice(&x, &[usize::MAX, 2]).unwrap_err().to_string(), "more elements than memory can address"),
        (ArrayRef::from_slice(&x, &[1; 17]).unwrap_err().to_string(), "rank 17 is too high"),
        (over(&x).mask(&[true, false, true]).sum().unwrap_err().to_string(), "does not broadcast"),
    ];
    for (message, part) in cases {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn nothing_to_reduce() {
    let none: [f32; 0] = [];
    assert_eq!(warpfold::sum(&none).unwrap().to_bits(), 0);
    assert_eq!(warpfold::prod(&none).unwrap(), 1.0);
    assert!(warpfold::mean(&none).unwrap().is_nan() && warpfold::var(&none).unwrap().is_nan());
    assert_eq!(warpfold::logsumexp(&none).unwrap(), f32::NEG_INFINITY);
    assert_eq!((warpfold::any(&none).unwrap(), warpfold::all(&none).unwrap()), (false, true));
    assert!(warpfold::argmin(&none).is_err() && warpfold::minmax(&none).is_err());
    let empty = Array2::<f32>::zeros((3, 0));
    assert_eq!(over(&empty).axis(1).sum().unwrap().data, [0.0; 3]);
    assert_eq!(over(&empty).axis(0).max().unwrap().shape, [0]);
    assert_eq!(warpfold::sum(&[-0.0f32]).unwrap().to_bits(), (-0.0f32).to_bits());
}

/// Counts allocations of this thread.
struct Counting;

thread_local!(static ALLOCATIONS: AtomicU64 = const { AtomicU64::new(0) });

// SAFETY: the system allocator, and a counter.
unsafe impl std::alloc::GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.fetch_add(1, Ordering::Relaxed));
        // SAFETY: the caller's.
        unsafe { std::alloc::System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: std::alloc::Layout) {
        // SAFETY: the caller's.
        unsafe { std::alloc::System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_small_reduction_does_not_allocate() {
    let x = numbers(1000, 1);
    let before = ALLOCATIONS.with(|n| n.load(Ordering::Relaxed));
    for _ in 0..10 {
        std::hint::black_box((warpfold::sum(&x).unwrap(), warpfold::max(&x).unwrap(), warpfold::argmax(&x).unwrap()));
    }
    assert_eq!(ALLOCATIONS.with(|n| n.load(Ordering::Relaxed)), before);
}
