//! Elements that nothing beats, which end a search; outputs of one element each, for which nothing is reduced; and
//! places in arrays whose elements do not lie in the order of their indices.

use crate::reference::{Random, Strided, element, expected};
use warpfold::core::{Cast, Element, Key};
use warpfold::{ArrayRef, DType, Op, Options, Scalar, Value, bf16, f16, reduce};

/// The elements of a task: an output of more is cut into chunks.
const CHUNK: usize = warpfold::cpu::policy::CHUNK;

/// The first place of the extremum of a row, from the definition.
fn place<T: Element>(row: &[T], max: bool) -> usize {
    let mut best = 0;
    for (i, x) in row.iter().enumerate() {
        let beats = match max {
            true => x.key_eq() > row[best].key_eq(),
            false => x.key_eq() < row[best].key_eq(),
        };
        if !row[best].is_nan() && (x.is_nan() || beats) {
            best = i;
        }
    }
    best
}

/// Reduces the rows of `x` by each op that may stop early.
fn check<T: Value>(x: &[T], rows: usize, threads: usize, what: &str) {
    let len = x.len() / rows;
    let view = ArrayRef::from_slice(x, &[rows, len]).unwrap();
    let options = Options { axes: Some(vec![1]), threads: Some(threads), ..Options::default() };
    let found = |op: Op| reduce(op, view, &options).unwrap().values;
    let all = [Op::ArgMax, Op::Max, Op::ArgMin, Op::Min, Op::Any, Op::All].map(found);
    for (i, row) in x.chunks_exact(len).enumerate() {
        let (most, least) = (place(row, true), place(row, false));
        let want = [
            Scalar::I64(most as i64),
            row[most].scalar(),
            Scalar::I64(least as i64),
            row[least].scalar(),
            Scalar::Bool(row.iter().any(|x| x.truthy())),
            Scalar::Bool(row.iter().all(|x| x.truthy())),
        ];
        let found = all.each_ref().map(|values| values.get(i).bits());
        assert_eq!(found, want.map(|x| x.bits()), "row {i} of {rows} of {len} {}, {what}", T::DTYPE);
    }
}

fn ends<T: Value>(r: &mut Random) {
    let number = |x: i64| T::from_cast(Cast::Signed(x));
    for _ in 0..12 {
        let rows = 1 + r.below(3);
        let len = [1, 40, 300, 5000, CHUNK, CHUNK + 1, 2 * CHUNK + 5000][r.below(7)];
        // Zeros alone, or small numbers.
        let most = r.below(3) as u64;
        let mut x: Vec<T> = (0..rows * len).map(|_| number((r.next() % (most + 1)) as i64)).collect();
        let is_float = T::DTYPE.is_float();
        let last = if is_float { T::from_cast(Cast::Float(f64::NAN)) } else { T::from_key(T::Key::MAX) };
        let first = if is_float { T::from_cast(Cast::Float(f64::NEG_INFINITY)) } else { T::from_key(T::Key::MIN) };
        let places: Vec<usize> = (0..r.below(4)).map(|_| r.below(x.len())).collect();
        for &at in &places {
            x[at] = [last, first, number(1), number(0)][r.below(4)];
        }
        check(&x, rows, 1 + r.below(3), &format!("with others at {places:?}"));
    }
}

#[test]
fn what_nothing_beats_ends_a_search() {
    let r = &mut Random(77);
    ends::<u8>(r);
    ends::<i8>(r);
    ends::<u16>(r);
    ends::<i32>(r);
    ends::<u64>(r);
    ends::<i64>(r);
    ends::<f16>(r);
    ends::<bf16>(r);
    ends::<f32>(r);
    ends::<f64>(r);
}

/// A row after one that ended early is searched for such an end first, which it may have late, or not at all.
#[test]
fn rows_after_a_row_that_ended_early_have_their_own_ends() {
    fn of<T: Value>(r: &mut Random) {
        for len in [20, 50, 200, 257, 300, 1500, 2048, 2049, 5000] {
            let rows = 20 + r.below(60);
            let mut x: Vec<T> = (0..rows * len).map(|_| T::from_cast(Cast::Signed(1 + r.below(9) as i64))).collect();
            for row in x.chunks_exact_mut(len) {
                // Early, anywhere, or nowhere.
                let within = [len.min(16), len.min(16), len, 0][r.below(4)];
                if within > 0 {
                    let (nan, zero) = (T::from_cast(Cast::Float(f64::NAN)), T::from_cast(Cast::Signed(0)));
                    (row[r.below(within)], row[r.below(within)]) = (zero, nan);
                }
            }
            check(&x, rows, 1 + r.below(3), "ends in turns");
        }
    }
    let r = &mut Random(81);
    of::<f16>(r);
    of::<bf16>(r);
    of::<f32>(r);
    of::<f64>(r);
}

#[test]
fn outputs_of_one_element_are_its_result() {
    let r = &mut Random(78);
    for (i, op) in Op::ALL.into_iter().cycle().take(45).enumerate() {
        let dtype = DType::ALL[i * 5 % 13];
        // More elements than a task has, short lanes, and many lanes.
        let shape = [vec![1, 70_000, 4], vec![CHUNK + 77], vec![300, 1, 40], vec![3, 3, 1000]][r.below(4)].clone();
        let axes = shape.iter().position(|&n| n == 1).map_or(vec![], |axis| vec![axis as isize]);
        let (size, mut step) = (dtype.size() as isize, dtype.size() as isize);
        let (wide, turned) = (r.chance(20) as isize, r.chance(40));
        let mut strides = vec![0; shape.len()];
        for i in 0..shape.len() {
            let axis = if turned { i } else { shape.len() - 1 - i };
            strides[axis] = step + wide * size;
            step = strides[axis] * shape[axis] as isize;
        }
        let wild = [0, 10][r.below(2)];
        let x = Strided::place(r, dtype, &shape, strides, 0, |r| element(r, dtype, wild));
        let options = Options { axes: Some(axes), threads: Some(1 + r.below(2)), ..Options::default() };
        let what = format!("{op} of {dtype} {shape:?} {:?}", x.strides);
        let bits = |x: &Scalar| x.bits();
        let want: Vec<_> = expected(op, &x, None, &options).unwrap().iter().map(bits).collect();
        let found = reduce(op, x.view(), &options).unwrap().values;
        assert_eq!((0..found.len()).map(|i| found.get(i).bits()).collect::<Vec<_>>(), want, "{what}");
    }
}

#[test]
fn of_equal_elements_of_a_transposed_array_the_first_is_found() {
    let r = &mut Random(79);
    for i in 0..60 {
        let dtype = DType::ALL[i % 13];
        // Index order is [outer, lane, inner], and lanes lie side by side in memory.
        let shape = [1 + r.below(3), [64, 65, 100, 1000][r.below(4)], [2, 7, 64, 65, 200][r.below(5)]];
        let outer_too = r.chance(50);
        let size = dtype.size();
        let strides = [shape[1] * shape[2] * size, size, shape[1] * size].map(|step| step as isize).to_vec();
        // Few values, so that most are equal to others; of floats a NaN now and then.
        let nans = r.chance(30) as usize;
        let x = Strided::place(r, dtype, &shape, strides, 0, |r| {
            let x = if r.below(50_000) < nans { f64::NAN } else { r.below(3) as f64 };
            warpfold_array::Values::F64(vec![x]).cast(dtype).get(0)
        });
        let axes = Some(if outer_too { vec![0, 1, 2] } else { vec![1, 2] });
        let options = Options { axes, threads: Some(1 + r.below(3)), skip_nan: r.chance(50), ..Options::default() };
        for op in [Op::ArgMax, Op::ArgMin] {
            let want = expected(op, &x, None, &options).unwrap();
            let found = reduce(op, x.view(), &options).unwrap().values;
            let found: Vec<Scalar> = (0..found.len()).map(|i| found.get(i)).collect();
            assert_eq!(found, want, "{op} of {dtype} {shape:?}, axis 0 too: {outer_too}");
        }
    }
}

#[test]
fn of_equal_elements_of_an_array_in_any_order_the_first_is_found() {
    let r = &mut Random(80);
    for i in 0..60 {
        let dtype = DType::ALL[i % 13];
        let shape = [1 + r.below(9), [2, 9, 33][r.below(3)], [64, 70, 130][r.below(3)], 1 + r.below(12)];
        let (mut strides, mut step, mut axes) = (vec![0; shape.len()], dtype.size() as isize, vec![0, 1, 2, 3]);
        while !axes.is_empty() {
            let axis: usize = axes.swap_remove(r.below(axes.len()));
            strides[axis] = step;
            step *= shape[axis] as isize;
        }
        let x = Strided::place(r, dtype, &shape, strides, 0, |r| {
            warpfold_array::Values::F64(vec![r.below(3) as f64]).cast(dtype).get(0)
        });
        let axes = Some(if r.chance(50) { vec![0, 1, 2, 3] } else { vec![1, 2, 3] });
        let options = Options { axes, threads: Some(1 + r.below(3)), ..Options::default() };
        for op in [Op::ArgMax, Op::ArgMin] {
            let want = expected(op, &x, None, &options).unwrap();
            let found = reduce(op, x.view(), &options).unwrap().values;
            let found: Vec<Scalar> = (0..found.len()).map(|i| found.get(i)).collect();
            assert_eq!(found, want, "{op} of {dtype} {shape:?} {:?} over {:?}", x.strides, options.axes);
        }
    }
}
