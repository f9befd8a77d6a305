//! Means and variances that skip NaN, and variances of integers: the folds whose nodes are counts or exact sums.

use std::collections::BTreeMap;

use warpfold::{ArrayRef, DType, Op, Options, bf16, f16, reduce};

use super::reductions::run;
use crate::{Emulated, Outcome, brief, cases, pick};
use warpfold_testing::golden::random;

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const INTEGERS: [DType; 9] =
    [DType::Bool, DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64];

/// What elements are: few or many NaNs, numbers so large that squares overflow, extremes of integers.
#[derive(Clone, Copy, Debug)]
struct Data {
    /// One in so many is NaN; of 1, all are.
    nan: u64,
    /// One in so many is infinite.
    infinite: u64,
    /// The exponent of ten of the greatest.
    scale: i32,
    /// Extremes only.
    extremes: bool,
}

impl Data {
    fn bytes(&self, dtype: DType, n: usize, seed: &mut u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..n {
            let r = random(seed);
            let payload = r | 1;
            let of = |x: u64| x != u64::MAX && (r >> 8).is_multiple_of(x);
            let nan = of(self.nan);
            let number = if of(self.infinite) {
                f64::INFINITY
            } else {
                ((r >> 20) % 20_001) as f64 / 10_000.0 * 10f64.powi(self.scale)
            };
            let number = if r >> 63 == 0 { number } else { -number };
            match dtype {
                DType::Bool => bytes.push((r >> 33) as u8 & 1),
                DType::F16 if nan => bytes.extend((0x7c01 | payload as u16 & 0x83ff).to_ne_bytes()),
                DType::BF16 if nan => bytes.extend((0x7f81 | payload as u16 & 0x807f).to_ne_bytes()),
                DType::F32 if nan => bytes.extend((0x7f80_0001 | payload as u32 & 0x807f_ffff).to_ne_bytes()),
                DType::F64 if nan => bytes.extend((0x7ff0 << 48 | payload & (0x800f << 48 | 0xffff)).to_ne_bytes()),
                DType::F16 => bytes.extend(f16::from_f64(number).to_bits().to_ne_bytes()),
                DType::BF16 => bytes.extend(bf16::from_f64(number).to_bits().to_ne_bytes()),
                DType::F32 => bytes.extend((number as f32).to_ne_bytes()),
                DType::F64 => bytes.extend(number.to_ne_bytes()),
                dtype if self.extremes => {
                    let size = dtype.size();
                    let low = [0, 0, 0, 0, 0, 0, 0, 0u8];
                    let high = [0xff; 8];
                    let (mut low, mut high) = (low[..size].to_vec(), high[..size].to_vec());
                    // Of signed ones: the sign is the highest bit.
                    if matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64) {
                        (low[size - 1], high[size - 1]) = (0x80, 0x7f);
                    }
                    bytes.extend(if r & 16 == 0 { low } else { high });
                }
                dtype => bytes.extend(&(r >> 7).to_ne_bytes()[..dtype.size()]),
            }
        }
        bytes
    }
}

/// A dense array, of which every other axis is reduced, as wide and as deep as a class of kernels needs.
fn shape(class: usize, size: usize, seed: &mut u64) -> (Vec<usize>, Vec<isize>) {
    let mut below = |n: usize| 1 + pick(n, seed);
    let pack = 16 / size;
    match class {
        // Rows, short and long, and of several tiles.
        0 => (vec![below(4), below(3 * pack)], vec![1]),
        1 => (vec![below(3), 200 * pack + below(200 * pack)], vec![1]),
        2 => (vec![2048 * pack + below(700 * pack)], vec![0]),
        // Runs.
        3 => (vec![1 + below(4), 2, 100 + below(300)], vec![0, 2]),
        // Columns, wide, and few.
        4 => (vec![below(200), 128 + below(300)], vec![0]),
        5 => (vec![500 + below(3000), below(9)], vec![0]),
        6 => (vec![8 * below(40), 130], vec![0]),
        // Columns apart.
        _ => (vec![1 + below(20), 1 + below(8), 1 + below(20), 1 + below(5)], vec![0, 2]),
    }
}

#[test]
fn counted_and_exact_nodes_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, count, mut seed) = (Emulated::new(), cases(240), 31);
    let (mut wrong, mut of) = (Vec::new(), BTreeMap::<String, u32>::new());
    for i in 0..count {
        let is_float = i % 2 == 0;
        let dtype = if is_float { FLOATS[i / 2 % FLOATS.len()] } else { INTEGERS[i / 2 % INTEGERS.len()] };
        let op =
            if is_float { [Op::Mean, Op::Var, Op::Std][pick(3, &mut seed)] } else { [Op::Var, Op::Std][i / 18 % 2] };
        let (shape, axes) = shape(pick(8, &mut seed), dtype.size(), &mut seed);
        let data = Data {
            nan: [u64::MAX, 64, 64, 5, 2, 1][pick(6, &mut seed)],
            infinite: [u64::MAX, u64::MAX, 900][pick(3, &mut seed)],
            scale: [0, 0, -4, 37, -30][pick(5, &mut seed)],
            extremes: pick(3, &mut seed) == 0,
        };
        let ddof = [0.0, 1.0, 5.0, -1.0][pick(4, &mut seed)];
        let options = Options {
            axes: Some(axes),
            skip_nan: is_float || pick(2, &mut seed) == 0,
            ddof: (op != Op::Mean).then_some(ddof),
            ..Options::default()
        };
        let first = [0, 0, 1, 3][pick(4, &mut seed)] * dtype.size();
        let bytes = data.bytes(dtype, first / dtype.size() + shape.iter().product::<usize>(), &mut seed);
        let mut strides = vec![dtype.size() as isize; shape.len()];
        for k in (0..shape.len() - 1).rev() {
            strides[k] = strides[k + 1] * shape[k + 1] as isize;
        }
        // SAFETY: the bytes are a dense array of the shape, from `first` on.
        let array = unsafe { ArrayRef::from_raw(bytes.as_ptr().add(first), dtype, &shape, &strides) };
        let array = array.expect("an array");
        let expected = Outcome::of(reduce(op, array, &options)).expect("a result");
        let said = match run(&on, op, &array, (&bytes, first), &options) {
            Ok((outcome, entries)) if outcome == expected => {
                let class = entries.trim().split('_').next().unwrap_or_default();
                *of.entry(class.into()).or_default() += 1;
                continue;
            }
            Ok((outcome, entries)) => format!("{entries}: {outcome:?}\nexpected {expected:?}"),
            Err(why) => why,
        };
        wrong.push(format!(
            "{op:?} of {dtype} {shape:?} {:?} {ddof} {} {first} {data:?}\n{}",
            options.axes,
            options.skip_nan,
            brief(&said)
        ));
        if wrong.len() == 8 {
            break;
        }
    }
    println!("{of:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let has = |class: &str| of.get(class).is_some_and(|n| *n as usize > count / 30);
    assert!(["rows", "runs", "columns", "apart"].iter().all(|class| has(class)) && !has("any"), "{of:?}");
}
