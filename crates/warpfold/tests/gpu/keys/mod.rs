//! Distinct values, groups, segments, runs, counts and bins on a GPU, against the CPU.

mod bins;
mod distinct;
mod groups;
mod labels;
mod rows;
mod runs;
mod statistics;

use warpfold::cuda::Error;
use warpfold::{ArrayRef, DType, Order, Scalar};

use crate::reference::{Random, element};
use crate::soak::differs;

/// How many random cases.
fn cases(usual: usize) -> usize {
    std::env::var("WARPFOLD_GPU_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Elements of a dtype as bytes: of all kinds, few, equal, or sorted ones.
fn bytes(r: &mut Random, dtype: DType, n: usize, kind: usize) -> Vec<u8> {
    let bytes_of = |x: Scalar| x.bits().0.to_le_bytes()[..dtype.size()].to_vec();
    let few: Vec<Vec<u8>> = (0..[2, 7, 300][r.below(3)]).map(|_| bytes_of(element(r, dtype, 40))).collect();
    let mut all: Vec<Vec<u8>> = (0..n)
        .map(|_| match kind {
            0 => bytes_of(element(r, dtype, 10)),
            1 => few[0].clone(),
            2 => few[r.below(few.len())].clone(),
            // Any bits, which of bools are 0 and 1.
            _ if dtype == DType::Bool => vec![(r.next() & 1) as u8],
            _ => r.next().to_le_bytes()[..dtype.size()].to_vec(),
        })
        .collect();
    if kind == 4 {
        all.sort_unstable();
    }
    all.concat()
}

fn array(bytes: &[u8], dtype: DType, n: usize) -> ArrayRef<'_> {
    ArrayRef::from_bytes(bytes, dtype, &[n], Order::C, false).expect("an array")
}

/// A length: mostly short ones, about the ends of tiles too.
fn length(r: &mut Random, i: usize) -> usize {
    match i % 12 {
        11 => 1 << (20 + r.below(3)),
        10 => 4096 * (1 + r.below(30)) + r.below(3),
        9 => 5120 * (1 + r.below(30)) - r.below(2),
        _ => {
            let most = [2, 100, 6000, 200_000][r.below(4)];
            r.below(most)
        }
    }
}

/// Labels below `groups` of a dtype, some of them -1 if it has that.
fn labels(r: &mut Random, n: usize, groups: usize, dtype: DType) -> Vec<u8> {
    let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64) && r.chance(70);
    let skewed = r.chance(30);
    let label = |r: &mut Random| {
        let most = if skewed && r.chance(90) { groups.min(2) } else { groups };
        if signed && r.chance(5) { -1 } else { r.below(most) as i64 }
    };
    (0..n).flat_map(|_| label(r).to_le_bytes()[..dtype.size()].to_vec()).collect()
}

/// Groups that a dtype has labels for.
fn groups(r: &mut Random, dtype: DType) -> usize {
    let most: usize = match dtype {
        DType::Bool => 2,
        DType::I8 | DType::U8 => 100,
        DType::I16 | DType::U16 => 30_000,
        _ => 1_000_000,
    };
    [1, 2, 16, 255, 256, 1024, 65_536, 1_000_000][r.below(8)].min(most)
}

const INTEGERS: [DType; 9] =
    [DType::I32, DType::I64, DType::I8, DType::I16, DType::Bool, DType::U8, DType::U16, DType::U32, DType::U64];

/// The same result, or the same error; `None` if they are, or if a GPU has no kernel for it.
fn differ(
    got: Result<warpfold::Array, warpfold::Error>,
    want: &Result<warpfold::Array, warpfold::Error>,
) -> Option<String> {
    match (got, want) {
        (Ok(got), Ok(want)) => differs(&got, want),
        (Err(warpfold::Error::Cuda(Error::NoKernel { .. }) | warpfold::Error::Unsupported { .. }), _) => None,
        (Err(got), Err(want)) if got.to_string() == want.to_string() => None,
        (got, want) => Some(format!("{:?}, not {:?}", got.map(|_| "a result"), want.as_ref().map(|_| "one"))),
    }
}
