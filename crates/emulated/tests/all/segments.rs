//! Segments of random lengths: the CPU's bits, and no fault.

use warpfold::cuda::{self, Segmented};
use warpfold::{ArrayRef, DType, Error, KeyError, Op, Options, Ord, Precision, Scalar, Segments, Values};

use crate::{Emulated, brief, cases, pick};
use warpfold_testing::golden::{Specials, elements, random};

/// Lengths whose elements have up to about `bytes`.
fn lengths(kind: usize, size: usize, bytes: usize, seed: &mut u64) -> Vec<usize> {
    let (mut lengths, mut left) = (Vec::new(), bytes / size);
    let even = [1, 7, 64 / size, 3 + pick(40, seed), 256 / size, 1000, 4096 / size, 4080 / size][pick(8, seed)];
    while lengths.len() < 1200 {
        let next = match kind {
            0 => even,
            1 => pick(5, seed),
            2 => pick(4 * 64 / size + 2, seed),
            3 => pick(5000, seed),
            // Few long ones among many short ones.
            4 if pick(40, seed) == 0 => 4 * pick(4096 / size * 3, seed),
            4 => pick(9, seed),
            // By powers of two.
            5 => (1 << pick(14, seed)) - pick(2, seed),
            // Nearly everything in one.
            _ if lengths.len() == 300 => left.saturating_sub(200),
            _ => pick(3, seed).saturating_sub(1),
        };
        if next > left {
            break;
        }
        left -= next;
        lengths.push(next);
    }
    lengths
}

fn offsets(start: usize, lengths: &[usize]) -> Vec<i64> {
    let mut at = start as i64;
    let ends = lengths.iter().map(|&len| {
        at += len as i64;
        at
    });
    [start as i64].into_iter().chain(ends).collect()
}

/// The bytes of offsets as a dtype.
fn bytes_of(offsets: &[i64], dtype: DType) -> Vec<u8> {
    offsets.iter().flat_map(|&o| o.to_le_bytes()[..dtype.size()].to_vec()).collect()
}

/// Reduces segments of an array whose first element is `skip` bytes into `bytes`; says what ran. None if no kernel does
/// that.
fn run(
    on: &Emulated,
    op: Op,
    array: &ArrayRef<'_>,
    (bytes, skip): (&[u8], usize),
    (offsets, dtype): (&[i64], DType),
    options: &Options<'_>,
) -> Option<(Result<Vec<u8>, Error>, String)> {
    let there = cuda::Options {
        skip_nan: options.skip_nan,
        precision: options.precision,
        initial: options.initial,
        ddof: options.ddof,
        ord: options.ord,
        ..cuda::Options::default()
    };
    let input = on.upload(bytes);
    let cuts = on.upload(&bytes_of(offsets, dtype));
    let size = array.dtype().size() as isize;
    let values = on.view(&input, skip, array.dtype(), array.shape(), &[size]).expect("an array");
    let cuts = on.view(&cuts, 0, dtype, &[offsets.len()], &[dtype.size() as isize]).expect("offsets");
    let attempt = || {
        let reduction = Segmented::new(&on.device, op, &values, &cuts, &there, None)?;
        let mut out = reduction.output()?;
        reduction.run(&on.stream, values, cuts, &mut out)?;
        out.download(&on.stream)
    };
    match attempt() {
        Err(Error::Cuda(cuda::Error::NoKernel { .. })) => None,
        said => Some((said.map(|found| found.values.as_bytes().to_vec()), on.entries())),
    }
}

/// Runs a case on both; says what ran, if anything did, or what is wrong.
fn check(
    on: &Emulated,
    (op, dtype): (Op, DType),
    lengths: &[usize],
    i: usize,
    seed: &mut u64,
) -> Result<String, String> {
    let size = dtype.size();
    let (start, skip) = (pick(4, seed), pick(16, seed) / size * size);
    let offsets = offsets(start, lengths);
    let n = offsets[lengths.len()] as usize + pick(3, seed);
    let specials = [Specials::None, Specials::Zeros, Specials::All][pick(3, seed)];
    let bytes = [vec![0; skip], elements(dtype, n, random(seed), specials)].concat();
    // SAFETY: the bytes are there, with no padding between elements.
    let array = unsafe { ArrayRef::from_raw(bytes.as_ptr().add(skip), dtype, &[n], &[size as isize]) };
    let array = array.map_err(|e| e.to_string())?;
    let options = Options {
        skip_nan: i.is_multiple_of(5),
        precision: if i.is_multiple_of(7) { Precision::Compensated } else { Precision::Tree },
        initial: (i.is_multiple_of(6) && matches!(op, Op::Sum | Op::Prod | Op::Min | Op::Max))
            .then_some(Scalar::F64(3.0)),
        ddof: (i.is_multiple_of(2) && matches!(op, Op::Var | Op::Std)).then_some(1.0),
        ord: (op == Op::Norm).then_some([Ord::One, Ord::Two, Ord::Inf][i % 3]),
        ..Options::default()
    };
    let list = ArrayRef::from_slice(&offsets, &[offsets.len()]).map_err(|e| e.to_string())?;
    let expected = Segments::new(list).and_then(|segments| segments.reduce(op, array, &options));
    if !matches!(expected, Ok(_) | Err(Error::Key(KeyError::Empty { .. }))) {
        return Ok(String::new());
    }
    let offsets_dtype = [DType::I64, DType::U32, DType::I32, DType::U64][i % 4];
    let Some((found, entries)) = run(on, op, &array, (&bytes, skip), (&offsets, offsets_dtype), &options) else {
        return Ok(String::new());
    };
    let wrong = match (&found, &expected) {
        (Ok(found), Ok(expected)) if found == expected.values.as_bytes() => return Ok(entries),
        (Err(Error::Key(KeyError::SomeEmpty { .. })), Err(_)) => return Ok(entries),
        (Ok(a), Ok(expected)) => {
            let b = expected.values.as_bytes();
            let each = b.len() / lengths.len();
            let at: Vec<_> = (0..lengths.len()).filter(|i| a[i * each..][..each] != b[i * each..][..each]).collect();
            let some: Vec<_> =
                at.iter().take(5).map(|&i| (i, lengths[i], &a[i * each..][..each], &b[i * each..][..each])).collect();
            format!("{} of {}: {some:?}", at.len(), lengths.len())
        }
        _ => format!("{:?}", (found, expected)),
    };
    Err(brief(&format!("{op} {dtype} {:?} {entries}: {wrong}", &lengths[..lengths.len().min(8)])))
}

#[test]
fn segments_have_the_bits_of_the_cpu_whatever_their_lengths() {
    let (on, rounds) = (Emulated::new(), cases(1));
    let (mut seed, mut wrong, mut ran, mut cut) = (9, Vec::new(), 0, 0);
    let all = Op::ALL.iter().flat_map(|op| DType::ALL.iter().map(move |dtype| (*op, *dtype)));
    'all: for round in 0..rounds {
        for (i, (op, dtype)) in all.clone().enumerate() {
            let kind = (i + round + pick(2, &mut seed)) % 7;
            let lengths = lengths(kind, dtype.size(), 12_000 + pick(50_000, &mut seed), &mut seed);
            match check(&on, (op, dtype), &lengths, i + round, &mut seed) {
                Ok(entries) => {
                    ran += entries.contains("segments_") as usize;
                    cut += entries.contains(" stretches_") as usize;
                }
                Err(why) => wrong.push(why),
            }
            if wrong.len() == 8 {
                break 'all;
            }
        }
    }
    println!("{ran} ran, {cut} with long segments");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran > 100 && cut > 50, "{ran} ran, {cut} with long segments");
}

#[test]
fn segments_that_just_fit_a_lane_a_group_or_a_window_have_the_bits_of_the_cpu() {
    let on = Emulated::new();
    let (mut seed, mut wrong, mut ran) = (5, Vec::new(), 0);
    let folds = [(Op::Sum, DType::F32), (Op::Sum, DType::BF16), (Op::Var, DType::F64), (Op::LogSumExp, DType::F32)];
    let order_free =
        [(Op::ArgMax, DType::U8), (Op::MinMax, DType::F16), (Op::Max, DType::F32), (Op::ArgMin, DType::I64)];
    for (i, (op, dtype)) in folds.into_iter().chain(order_free).enumerate() {
        // A pack, a lane's two, and what 2, 4, … 32 lanes take, once and several times.
        for (j, shift) in [4, 5, 6, 7, 8, 9, 10, 11, 12].into_iter().enumerate() {
            let exact = (1 << shift) / dtype.size();
            let count = [31, 32, 33, 63, 65, 255, 256, 257, 258, 513][(i + j) % 10].min(120_000 / exact);
            let near = [exact - 1, exact, exact + 1];
            // Of one length; of three; and some that are empty or of one element.
            let lengths: Vec<_> = (0..count)
                .map(|k| match j % 3 {
                    0 => near[(i + j / 3) % 3],
                    1 => near[k % 3],
                    _ => [near[pick(3, &mut seed)], pick(3, &mut seed), pick(10, &mut seed)][pick(3, &mut seed)],
                })
                .collect();
            match check(&on, (op, dtype), &lengths, i + j, &mut seed) {
                Ok(entries) => ran += entries.contains("segments_") as usize,
                Err(why) => wrong.push(why),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran > 60, "{ran} ran");
}

#[test]
fn offsets_out_of_order_or_range_are_found_wherever_they_are() {
    let (on, mut seed) = (Emulated::new(), 3);
    let x: Vec<f32> = (0..20_000).map(|i| i as f32).collect();
    let array = ArrayRef::from_slice(&x, &[x.len()]).expect("an array");
    let mut wrong = Vec::new();
    for i in 0..60 {
        let lengths = lengths([1, 2, 4, 5][i % 4], 4, 60_000, &mut seed);
        let mut cuts = offsets(0, &lengths);
        let at = [pick(cuts.len(), &mut seed), 0, cuts.len() - 1][i % 3];
        let before = at.checked_sub(1).map_or(-1, |at| cuts[at] - 1);
        cuts[at] = [before, 20_001, 1 << 40, i64::MIN, i64::MAX, -1][i % 6];
        if i % 10 == 9 {
            // Segments of everything, again and again.
            cuts = (0..301).map(|i| [0, 20_000][i % 2]).collect();
        }
        let list = ArrayRef::from_slice(&cuts, &[cuts.len()]).expect("a list");
        assert!(Segments::new(list).and_then(|s| s.reduce(Op::Sum, array, &Options::default())).is_err());
        let bytes = (Values::F32(x.clone()), 0);
        match run(&on, Op::Sum, &array, (bytes.0.as_bytes(), bytes.1), (&cuts, DType::I64), &Options::default()) {
            Some((Err(Error::Key(KeyError::BadOffsets { .. })), _)) => {}
            other => wrong.push(format!("{i} {at}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
