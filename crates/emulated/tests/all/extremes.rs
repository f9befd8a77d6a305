//! Extremes of 16 bits, of which kernels take two at once: NaNs of both signs and of all bits, zeros, infinities.

use std::collections::BTreeMap;

use warpfold::{ArrayRef, DType, Op, Options, Ord, reduce};

use super::reductions::run;
use crate::{Emulated, Outcome, brief, cases, pick};
use warpfold_testing::golden::random;

const OPS: [Op; 6] = [Op::Max, Op::Min, Op::ArgMax, Op::ArgMin, Op::MinMax, Op::Norm];
const DTYPES: [DType; 4] = [DType::BF16, DType::F16, DType::I16, DType::U16];

/// The bits of an infinity of a float.
fn infinity(dtype: DType) -> u16 {
    if dtype == DType::F16 { 0x7c00 } else { 0x7f80 }
}

/// Elements of one kind.
fn elements(dtype: DType, n: usize, kind: usize, seed: &mut u64) -> Vec<u16> {
    let infinity = infinity(dtype);
    let ends = [0, 1, infinity - 1, infinity, infinity + 1, infinity | infinity >> 1 & !infinity, 0x7fff];
    let mut element = || {
        let r = random(seed);
        let (bits, sign) = (r as u16, (r >> 16) as u16 & 0x8000);
        let number = (bits & 0x7fff) % (infinity + 1);
        let nan = infinity + 1 + (bits & 0x7fff) % (0x7fff - infinity);
        match kind {
            // All bits there are.
            0 => bits,
            1 => ends[bits as usize % ends.len()] | sign,
            // No NaN, or hardly one.
            2 => number | sign,
            3 => number | 0x8000,
            4 if (r >> 20).is_multiple_of(300) => nan | sign,
            4 => number | sign,
            // Nothing but zeros, nor but NaN.
            5 => sign,
            _ => nan | sign,
        }
    };
    (0..n).map(|_| element()).collect()
}

/// The order of elements as integers: NaN is the last, or has none if it is skipped.
fn order(dtype: DType, bits: u16, op: Op, skip_nan: bool) -> Option<i32> {
    let places = matches!(op, Op::ArgMax | Op::ArgMin);
    let least = matches!(op, Op::Min | Op::ArgMin);
    let of = |rank: i32| Some(if least { -rank } else { rank });
    match dtype {
        DType::I16 => of(i32::from(bits as i16)),
        DType::U16 => of(i32::from(bits)),
        _ if bits & 0x7fff > infinity(dtype) => (!skip_nan).then_some(1 << 20),
        _ if bits < 0x8000 => of(i32::from(bits)),
        // -0.0 is below +0.0, but for places.
        _ => of(-i32::from(bits & 0x7fff) - i32::from(!places)),
    }
}

/// The result by the definition.
fn expected(dtype: DType, op: Op, skip_nan: bool, elements: &[u16]) -> Vec<u8> {
    let (mut best, mut at) = (None, 0);
    for (i, &bits) in elements.iter().enumerate() {
        let order = order(dtype, bits, op, skip_nan);
        if order > best {
            (best, at) = (order, i);
        }
    }
    let is_nan = dtype.is_float() && elements[at] & 0x7fff > infinity(dtype);
    let canonical = infinity(dtype) | (infinity(dtype) & infinity(dtype).wrapping_neg()) >> 1;
    match op {
        Op::ArgMax | Op::ArgMin => (at as i64).to_ne_bytes().to_vec(),
        _ => (if is_nan { canonical } else { elements[at] }).to_ne_bytes().to_vec(),
    }
}

/// Lengths of three axes, of which the middle one is reduced, and the first one, too, if so it says.
fn shape(i: usize, seed: &mut u64) -> ([usize; 3], bool) {
    let mut any = |from: usize, to: usize| from + pick(to - from, seed);
    match i % 8 {
        0 => ([any(1, 4), any(500, 9000), 1], false),
        1 => ([any(20, 300), any(1, 9), 1], false),
        2 => ([any(20, 90), any(9, 200), 1], false),
        3 => ([1, any(9, 900), 8 * any(1, 16)], false),
        4 => ([any(1, 4), any(9, 90), any(3, 300)], false),
        5 => ([any(1, 3), any(1, 9), any(300, 2000)], false),
        6 => ([any(3, 12), any(2, 90), any(2, 90)], true),
        7 if i % 16 == 7 => ([any(3, 12), 8 * any(4, 90), 1], true),
        _ => ([any(3, 12), 8 * any(2, 90), any(1, 5)], true),
    }
}

#[test]
fn extremes_of_16_bits_are_those_of_the_definition() {
    let (on, count, mut seed) = (Emulated::new(), cases(600), 211);
    let mut ran = BTreeMap::<String, u32>::new();
    for i in 0..count {
        let (op, dtype) = (OPS[pick(OPS.len(), &mut seed)], DTYPES[pick(DTYPES.len(), &mut seed)]);
        let ([outer, along, columns], both) = shape(i, &mut seed);
        let [gap, first] = [[0, 0, 1, 8][pick(4, &mut seed)], [0, 0, 1, 5][pick(4, &mut seed)]];
        // Of rows side by side, the gap is between them; so it is between those of several runs.
        let row = if columns == 1 { 1 } else { columns + gap };
        let unit = row * along + if columns == 1 || both { gap } else { 0 };
        let kind = pick(7, &mut seed);
        let elements = elements(dtype, first + unit * outer, kind, &mut seed);
        let bytes: Vec<u8> = elements.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
        let (shape, strides) = ([outer, along, columns], [unit, row, 1].map(|step| 2 * step as isize));
        // SAFETY: as many elements are there.
        let array = unsafe { ArrayRef::from_raw(bytes.as_ptr().add(2 * first), dtype, &shape, &strides) };
        let array = array.expect("an array");
        let axes = if both { vec![0, 1] } else { vec![1] };
        let skip_nan = pick(2, &mut seed) == 0;
        let ord = (op == Op::Norm).then_some(Ord::Inf);
        let options = Options { axes: Some(axes), skip_nan, ord, ..Options::default() };
        let what = format!("{op:?} {dtype:?} {shape:?} {strides:?} {both} first {first} kind {kind} skip {skip_nan}");

        let own = Outcome::of(reduce(op, array, &options)).unwrap_or_else(|why| panic!("{what}: {why}"));
        let (there, entries) =
            run(&on, op, &array, (&bytes, 2 * first), &options).unwrap_or_else(|why| panic!("{what}: {why}"));
        assert!(there == own, "{what}\n{entries}: {}\n{}", brief(&format!("{there:?}")), brief(&format!("{own:?}")));
        for entry in entries.split(' ').filter(|entry| entry.ends_with("_b2")) {
            *ran.entry(entry.into()).or_default() += 1;
        }
        let Outcome::Bytes(there) = there else { continue };
        if matches!(op, Op::MinMax | Op::Norm) {
            continue;
        }
        let at = |o: usize, k: usize, c: usize| elements[first + o * unit + k * row + c];
        let mut defined = Vec::new();
        for o in 0..if both { 1 } else { outer } {
            for c in 0..columns {
                let own: Vec<u16> = match both {
                    true => (0..outer * along).map(|k| at(k / along, k % along, c)).collect(),
                    false => (0..along).map(|k| at(o, k, c)).collect(),
                };
                defined.extend(expected(dtype, op, skip_nan, &own));
            }
        }
        assert!(there == defined, "{what}\n{entries}: {}\n{}", brief(&format!("{there:?}")), {
            brief(&format!("{defined:?}"))
        });
    }
    println!("{ran:?}");
    for fold in ["max", "minmax", "argmax"] {
        for class in ["rows", "staged", "columns"] {
            assert!(ran.contains_key(&format!("{class}_{fold}_b2")), "{class}_{fold}_b2 did not run: {ran:?}");
        }
    }
    assert!(["shallow_max_b2", "apart_max_b2", "runs_max_b2"].iter().all(|name| ran.contains_key(*name)), "{ran:?}");
}
