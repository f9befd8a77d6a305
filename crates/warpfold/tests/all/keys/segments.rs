//! Segments of very different lengths, of lists and of rows.

use super::list;
use crate::reference::{Random, element};
use warpfold::{ArrayRef, DType, Op, Options, Order, Scalar, Segments, reduce, segmented};

#[test]
fn long_and_short_segments_together_change_no_bit() {
    let r = &mut Random(5);
    let n = 700_000;
    let x: Vec<f32> = (0..n).map(|_| element(r, DType::F32, 0).to_f64() as f32).collect();
    let flat = ArrayRef::from_slice(&x, &[n]).unwrap();
    let mut offsets: Vec<i64> = (0..3000).map(|i| i * 7).chain((0..20_000).map(|i| 21_000 + i)).collect();
    // Longer than a task, and than several.
    offsets.extend([41_000, 41_000, 50_000, 340_000, 340_003, 700_000]);
    for op in [Op::Sum, Op::Var, Op::ArgMax, Op::LogSumExp] {
        for threads in [1, 2] {
            let o = Options { threads: Some(threads), ..Options::default() };
            let filling = Segments::new(list(&offsets)).unwrap().fill(Scalar::I8(-1));
            let got = filling.reduce(op, flat, &o).unwrap().values;
            for (i, pair) in offsets.windows(2).enumerate() {
                let part = &x[pair[0] as usize..pair[1] as usize];
                if part.is_empty() {
                    continue;
                }
                let part = ArrayRef::from_slice(part, &[part.len()]).unwrap();
                let alone = reduce(op, part, &Options { threads: Some(1), ..Options::default() }).unwrap();
                assert_eq!(got.get(i).bits(), alone.values.get(0).bits(), "{op}, segment {i}");
            }
        }
    }
    // As rows, in either order of memory.
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let offsets = [0i64, 3, 3, 20, 60_000, 100_000];
    for order in [Order::C, Order::Fortran] {
        let rows = ArrayRef::from_bytes(&bytes, DType::F32, &[100_000, 7], order, false).unwrap();
        for op in [Op::Sum, Op::Std, Op::CountNonzero] {
            let got = segmented(op, rows, list(&offsets), &Options::default()).unwrap();
            assert_eq!(got.shape, [5, 7]);
            for (i, pair) in offsets.windows(2).enumerate() {
                for column in 0..7 {
                    let at = |row| if order == Order::C { row * 7 + column } else { column * 100_000 + row };
                    let alone: Vec<f32> = (pair[0] as usize..pair[1] as usize).map(|row| x[at(row)]).collect();
                    let alone = ArrayRef::from_slice(&alone, &[alone.len()]).unwrap();
                    let alone = reduce(op, alone, &Options::default()).unwrap();
                    assert_eq!(got.values.get(7 * i + column).bits(), alone.values.get(0).bits(), "{op} {order:?}");
                }
            }
        }
    }
}
