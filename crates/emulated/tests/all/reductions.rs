//! Random reductions, and descriptions.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use warpfold::cuda::{self, Reduction, describe as describe_there, stream_host};
use warpfold::{ArrayRef, DType, Op, Options, Ord, Precision, Scalar, Values, describe, reduce};

use crate::{Emulated, Outcome, brief, cases};
use warpfold_testing::golden::{Specials, elements, random};

/// One axis of a random array.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub len: usize,
    /// Elements between neighbours beyond those that a dense array has.
    pub gap: usize,
    pub reversed: bool,
    pub broadcast: bool,
    pub reduced: bool,
}

/// See [`Case::turn`].
pub const BACKWARDS: usize = 8;

#[derive(Clone, Debug)]
pub struct Case {
    pub op: Op,
    pub dtype: DType,
    /// From the slowest in memory to the fastest.
    pub axes: Vec<Axis>,
    /// The order of the axes in the shape: they are turned by so many places, and from [`BACKWARDS`] on reversed, too.
    pub turn: usize,
    pub offset: usize,
    pub options: Choices,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Choices {
    pub skip_nan: bool,
    pub masked: bool,
    pub initial: bool,
    pub compensated: bool,
    pub ord: u8,
    pub dtype: Option<DType>,
    pub specials: bool,
}

/// The array of a case: what is in memory, and a view of it.
struct Placed {
    bytes: Vec<u8>,
    shape: Vec<usize>,
    strides: Vec<isize>,
    /// Bytes to the element with all indices 0.
    first: usize,
    axes: Vec<isize>,
}

impl Placed {
    fn new(case: &Case) -> Self {
        let rank = case.axes.len();
        let size = case.dtype.size();
        // Strides in elements, the last axis the fastest.
        let mut strides = vec![0isize; rank];
        let mut step = 1;
        let mut first = case.offset;
        for (i, axis) in case.axes.iter().enumerate().rev() {
            if axis.broadcast {
                continue;
            }
            step += axis.gap;
            strides[i] = step as isize;
            if axis.reversed {
                first += step * (axis.len.max(1) - 1);
                strides[i] = -strides[i];
            }
            step *= axis.len.max(1);
        }
        // The array ends with its last element, whatever gaps there are.
        let spans = case.axes.iter().zip(&strides).map(|(axis, stride)| (axis.len.max(1) - 1) * stride.unsigned_abs());
        let reach = spans.sum::<usize>() + 1;
        let plain = if case.seed.is_multiple_of(3) { Specials::Near } else { Specials::None };
        let specials = if case.options.specials { Specials::All } else { plain };
        let mut turned: Vec<usize> = (0..rank).map(|i| (i + case.turn) % rank.max(1)).collect();
        if case.turn >= BACKWARDS {
            turned.reverse();
        }
        Self {
            bytes: elements(case.dtype, case.offset + reach, case.seed, specials),
            shape: turned.iter().map(|&i| case.axes[i].len).collect(),
            strides: turned.iter().map(|&i| strides[i] * size as isize).collect(),
            first: first * size,
            axes: (0..rank).filter(|&i| case.axes[turned[i]].reduced).map(|i| i as isize).collect(),
        }
    }

    fn view(&self, dtype: DType) -> Result<ArrayRef<'_>, String> {
        // SAFETY: the backing holds every element that the strides reach.
        let array =
            unsafe { ArrayRef::from_raw(self.bytes.as_ptr().add(self.first), dtype, &self.shape, &self.strides) };
        array.map_err(|e| e.to_string())
    }
}

/// Runs a reduction, whose array has its first element `first` bytes into `bytes`, and says what ran.
pub fn run(
    on: &Emulated,
    op: Op,
    array: &ArrayRef<'_>,
    (bytes, first): (&[u8], usize),
    options: &Options<'_>,
) -> Result<(Outcome, String), String> {
    let said = |e: warpfold::Error| e.to_string();
    let input = on.upload(bytes);
    let view = on.view(&input, first, array.dtype(), array.shape(), array.strides()).map_err(said)?;
    let mask = options.mask.map(|mask| cuda::Array::upload(&on.stream, mask).expect("room"));
    let there = cuda::Options {
        axes: options.axes.clone(),
        keepdims: options.keepdims,
        dtype: options.dtype,
        precision: options.precision,
        skip_nan: options.skip_nan,
        mask: mask.as_ref().map(cuda::Array::view),
        initial: options.initial,
        ddof: options.ddof,
        ord: options.ord,
    };
    let reduction = Reduction::new(&on.device, op, &view, &there).map_err(said)?;
    let mut out = reduction.output().map_err(said)?;
    out.fill(&on.stream, 0xa5).map_err(|e| e.to_string())?;
    reduction.run(&on.stream, view, there.mask, &mut out).map_err(said)?;
    Ok((Outcome::of(out.download(&on.stream))?, on.entries()))
}

/// Describes a case's array on both; says what ran, if anything did, or what is wrong.
fn check_described(on: &Emulated, case: &Case) -> Result<Option<String>, String> {
    let placed = Placed::new(case);
    let array = placed.view(case.dtype)?;
    let options = Options { axes: Some(placed.axes.clone()), ..Options::default() };
    let Ok(expected) = describe(array, &options) else { return Ok(None) };
    let said = |e: warpfold::Error| e.to_string();
    let input = on.upload(&placed.bytes);
    let view = on.view(&input, placed.first, case.dtype, &placed.shape, &placed.strides).map_err(said)?;
    let there = cuda::Options { axes: options.axes.clone(), ..cuda::Options::default() };
    let found = describe_there(view, &there, &on.stream).map_err(said)?;
    let entries = on.entries();
    if format!("{found:?}") == format!("{expected:?}") && entries.is_empty() {
        return Ok(None);
    }
    let mut wrong = String::new();
    for (name, _) in &expected.stats {
        let [expected, found] = [&expected, &found].map(|all| all.get(name).map(Values::as_bytes));
        if found != expected {
            wrong = format!("{wrong}\n{name}: {found:?}\nexpected {expected:?}");
        }
    }
    if wrong.is_empty() { Ok(Some(entries)) } else { Err(format!("{entries}:{wrong}")) }
}

/// Runs a case on both; says what ran, if anything did, or what is wrong.
pub fn check(on: &Emulated, case: &Case) -> Result<String, String> {
    let placed = Placed::new(case);
    let array = placed.view(case.dtype)?;
    let shape = placed.shape.clone();
    let mut seed = case.seed ^ 77;
    let mask: Vec<bool> = (0..shape.iter().product()).map(|_| !random(&mut seed).is_multiple_of(3)).collect();
    let c = case.options;
    let selects = matches!(case.op, Op::Min | Op::Max | Op::MinMax | Op::ArgMin | Op::ArgMax);
    let logical = matches!(case.op, Op::Any | Op::All | Op::CountNonzero);
    let options = Options {
        axes: Some(placed.axes.clone()),
        skip_nan: c.skip_nan,
        precision: if c.compensated { Precision::Compensated } else { Precision::Tree },
        mask: c.masked.then(|| ArrayRef::from_slice(&mask, &shape).expect("a mask of the shape")),
        initial: (c.initial && matches!(case.op, Op::Sum | Op::Prod | Op::Min | Op::Max)).then_some(Scalar::F64(3.0)),
        ddof: (matches!(case.op, Op::Var | Op::Std) && c.initial).then_some(1.0),
        ord: (case.op == Op::Norm).then_some([Ord::One, Ord::Two, Ord::Inf][c.ord as usize % 3]),
        dtype: c.dtype.filter(|_| !selects && !logical),
        ..Options::default()
    };
    // An option that this op does not take is an error of another kind.
    let Ok(expected) = Outcome::of(reduce(case.op, array, &options)) else { return Ok(String::new()) };
    let (outcome, entries) = run(on, case.op, &array, (&placed.bytes, placed.first), &options)?;
    if outcome == expected { Ok(entries) } else { Err(format!("{entries}: {outcome:?}\nexpected {expected:?}")) }
}

fn axis() -> impl Strategy<Value = Axis> {
    let len = prop_oneof![4 => 1usize..9, 3 => 9usize..70, 2 => 70usize..600, 1 => Just(64usize), 1 => Just(128usize)];
    (len, 0usize..12, 0u8..12, 0u8..20, any::<bool>()).prop_map(|(len, gap, reversed, broadcast, reduced)| Axis {
        len,
        gap: gap.saturating_sub(9),
        reversed: reversed == 0,
        broadcast: broadcast == 0,
        reduced,
    })
}

/// Dtypes that elements are cast to.
const CASTS: [DType; 6] = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::U64];

fn choices() -> impl Strategy<Value = Choices> {
    let some = |n: u8| (0..n).prop_map(|x| x == 0);
    let dtype = prop_oneof![
        6 => Just(None),
        1 => proptest::sample::select(&CASTS[..]).prop_map(Some),
    ];
    (some(4), some(6), some(4), some(5), 0u8..3, dtype, some(2)).prop_map(
        |(skip_nan, masked, initial, compensated, ord, dtype, specials)| Choices {
            skip_nan,
            masked,
            initial,
            compensated,
            ord,
            dtype,
            specials,
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let op = proptest::sample::select(&Op::ALL[..]);
    let dtype = proptest::sample::select(&DType::ALL[..]);
    (op, dtype, proptest::collection::vec(axis(), 0..4), 0usize..4, 0usize..6, choices(), any::<u64>())
        .prop_filter("not too large", |(_, _, axes, ..)| axes.iter().map(|a| a.len + a.gap).product::<usize>() < 60_000)
        .prop_map(|(op, dtype, axes, turn, offset, options, seed)| Case {
            op,
            dtype,
            axes,
            turn,
            offset: offset.saturating_sub(2),
            options,
            seed,
        })
}

#[test]
fn every_plan_has_the_bits_of_the_cpu_and_no_fault() {
    let (on, count) = (Emulated::new(), cases(160));
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut wrong = Vec::new();
    for _ in 0..count {
        let case = case().new_tree(&mut runner).expect("a case").current();
        if let Err(why) = check(&on, &case) {
            wrong.push(format!("{case:?}\n{}", brief(&why)));
        }
        if wrong.len() == 8 {
            break;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A case with kept and reduced axes in turns, so that up to three of the reduced ones are not one axis in memory.
fn split(i: usize, seed: &mut u64) -> Case {
    const LENS: [usize; 12] = [1, 2, 3, 5, 7, 8, 16, 19, 49, 64, 100, 260];
    let mut pick = |n: usize| random(seed) as usize % n;
    let (rank, first, far) = (2 + pick(4), pick(2), pick(6));
    let mut axes: Vec<Axis> = Vec::new();
    for k in 0..rank {
        let room = 30_000 / axes.iter().map(|axis| axis.len).product::<usize>();
        let len = LENS[pick(LENS.len())].min(room.max(1));
        let gap = if pick(5) == 0 { [1, 3, 4, 8][pick(4)] } else { 0 };
        let reversed = far == 0 && k + 1 < rank && pick(3) == 0;
        axes.push(Axis { len, gap, reversed, broadcast: false, reduced: (k + first) % 2 == 0 });
    }
    if pick(8) == 0 {
        // No reduction at all.
        axes.iter_mut().filter(|axis| axis.reduced).for_each(|axis| axis.len = 1);
    }
    let options = Choices { specials: pick(3) == 0, ..Choices::default() };
    let (op, dtype) = (Op::ALL[i % Op::ALL.len()], DType::ALL[pick(DType::ALL.len())]);
    Case { op, dtype, axes, turn: 0, offset: pick(4), options, seed: random(seed) }
}

/// Checks cases, of which some are described, and says how many ran which kernels.
pub fn check_all(on: &Emulated, cases: impl Iterator<Item = Case>) -> BTreeMap<String, u32> {
    let (mut wrong, mut ran) = (Vec::new(), BTreeMap::<String, u32>::new());
    for (i, case) in cases.enumerate() {
        let described = i % 4 == 0 && case.dtype.is_float();
        let checked =
            if described { check_described(on, &case).map(Option::unwrap_or_default) } else { check(on, &case) };
        match checked {
            Ok(entries) => {
                for entry in entries.split(' ').filter(|entry| !entry.is_empty()) {
                    *ran.entry(entry.split('_').next().unwrap_or_default().into()).or_default() += 1;
                }
            }
            Err(why) => wrong.push(format!("{case:?}\n{}", brief(&why))),
        }
        if wrong.len() == 8 {
            break;
        }
    }
    println!("{ran:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    ran
}

#[test]
fn split_axes_have_the_bits_of_the_cpu_and_no_fault() {
    let (on, mut seed) = (Emulated::new(), 18);
    let ran = check_all(&on, (0..cases(150)).map(|i| split(i, &mut seed)));
    assert!(["runs", "apart", "staged"].iter().all(|class| ran.contains_key(*class)), "{ran:?}");
}

#[test]
fn describing_in_one_launch_has_the_bits_of_the_cpu_and_no_fault() {
    let (on, count) = (Emulated::new(), cases(100));
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    let (mut wrong, mut ran) = (Vec::new(), BTreeMap::<String, u32>::new());
    for i in 0..count {
        let case = Case { dtype: floats[i % 4], ..case().new_tree(&mut runner).expect("a case").current() };
        match check_described(&on, &case) {
            Ok(None) => {}
            Ok(Some(entries)) => *ran.entry(entries.split(' ').nth(1).unwrap_or_default().into()).or_default() += 1,
            Err(why) => wrong.push(format!("{case:?}\n{}", brief(&why))),
        }
        if wrong.len() == 8 {
            break;
        }
    }
    println!("{ran:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran.len() >= 4, "{ran:?}");
}

#[test]
fn host_arrays_in_pieces_have_the_bits_of_the_cpu() {
    let on = Emulated::new();
    let (mut seed, mut wrong, mut launched) = (1, Vec::new(), BTreeMap::<String, usize>::new());
    for i in 0..60 {
        let dtype = DType::ALL[i % DType::ALL.len()];
        let op = [Op::ArgMin, Op::ArgMax, Op::Sum, Op::Std, Op::MinMax][i / 12];
        let len = 20_000 + random(&mut seed) as usize % 90_000;
        let plain = |len, reduced| Axis { len, gap: 0, reversed: false, broadcast: false, reduced };
        // A row, which is cut along its elements; and some rows, which are cut apart.
        let axes = match i % 4 {
            3 => vec![plain(1 + len / 9000, false), plain(9000, true)],
            _ => vec![plain(len, true)],
        };
        let choices = Choices { skip_nan: i % 3 == 0, specials: i % 2 == 0, ..Choices::default() };
        let case = Case { op, dtype, axes, turn: 0, offset: 0, options: choices, seed };
        let placed = Placed::new(&case);
        let array = placed.view(dtype).expect("an array");
        let axes = Some(placed.axes.clone());
        let options = Options { axes, skip_nan: choices.skip_nan, ..Options::default() };
        let Ok(expected) = Outcome::of(reduce(op, array, &options)) else { continue };
        match Outcome::of(stream_host(op, array, &options, &on.device, 140_000)) {
            Ok(outcome) if outcome == expected => {}
            Ok(outcome) => wrong.push(format!("{case:?}: {}", brief(&format!("{outcome:?}, not {expected:?}")))),
            // Some options let no reduced axis be cut.
            Err(why) if why.contains("cannot be cut") => {}
            Err(why) => wrong.push(format!("{case:?}: {}", brief(&why))),
        }
        *launched.entry(op.name().into()).or_default() += on.emulator.take_launches().len();
    }
    println!("{launched:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(launched["argmin"] > 8 && launched["argmax"] > 8, "{launched:?}");
}

#[test]
fn an_output_of_nothing_goes_before_one_of_only_nan() {
    let (on, x) = (Emulated::new(), [f32::NAN; 64]);
    for empty in [0, 5, 31] {
        let mask: Vec<bool> = (0..64).map(|i| i / 2 != empty).collect();
        let array = ArrayRef::from_slice(&x, &[32, 2]).expect("an array");
        let options = Options {
            axes: Some(vec![1]),
            skip_nan: true,
            mask: Some(ArrayRef::from_slice(&mask, &[32, 2]).expect("a mask")),
            ..Options::default()
        };
        assert_eq!(Outcome::of(reduce(Op::ArgMax, array, &options)), Ok(Outcome::Empty));
        let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let (outcome, entries) = run(&on, Op::ArgMax, &array, (&bytes, 0), &options).expect("no fault");
        assert_eq!(outcome, Outcome::Empty, "{empty}: {entries}");
    }
}

#[test]
fn what_is_skipped_leaves_all_true_and_a_norm_positive() {
    let (on, x) = (Emulated::new(), [f32::NAN; 10]);
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let array = ArrayRef::from_slice(&x, &[5, 2]).expect("an array");
    for op in [Op::All, Op::Norm] {
        for axes in [None, Some(vec![0]), Some(vec![1]), Some(vec![])] {
            let options =
                Options { axes, skip_nan: true, ord: (op == Op::Norm).then_some(Ord::One), ..Options::default() };
            let want = reduce(op, array, &options).expect("a result");
            let (outcome, entries) = run(&on, op, &array, (&bytes, 0), &options).expect("no fault");
            let expected = u8::from(op == Op::All);
            assert!(want.values.as_bytes().iter().all(|&byte| byte == expected), "{op:?}: {want:?}");
            assert_eq!(outcome, Outcome::Bytes(want.values.as_bytes().to_vec()), "{op:?} by {entries}");
        }
    }
}
