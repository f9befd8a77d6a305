//! Plans carried out in the emulator: the bits of the CPU, and no race.

mod columns;
mod golden;
mod keys;
mod kmeans;
mod rows;
mod segments;

use std::collections::BTreeMap;

use golden::cases::{Specials, elements, random};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use warpfold_emulator::Memory;
use warpfold_kernels::{Production, emulate};
use warpfold_simt::Global;

use super::{COUNTERS, Chunk, DESCRIBED, GpuPlan, Limits, STATUS, described_bytes};
use crate::{ArrayRef, DType, Error, Op, Options, Ord, Precision, Scalar, Values, describe, reduce};
use warpfold_array::problem::Problem;
use warpfold_array::request::Request;

/// A small device, so that small problems take several blocks.
const LIMITS: Limits = Limits { multiprocessors: 1, bandwidth: 1e12 };

/// One axis of a random array.
#[derive(Clone, Copy, Debug)]
struct Axis {
    len: usize,
    /// Elements between neighbours beyond those that a dense array has.
    gap: usize,
    reversed: bool,
    broadcast: bool,
    reduced: bool,
}

#[derive(Clone, Debug)]
struct Case {
    op: Op,
    dtype: DType,
    /// From the slowest in memory to the fastest.
    axes: Vec<Axis>,
    /// The order of the axes in the shape.
    turn: usize,
    offset: usize,
    options: Choices,
    seed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Choices {
    skip_nan: bool,
    masked: bool,
    initial: bool,
    compensated: bool,
    ord: u8,
    dtype: Option<DType>,
    specials: bool,
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
        let specials = if case.options.specials { Specials::All } else { Specials::None };
        let turned: Vec<usize> = (0..rank).map(|i| (i + case.turn) % rank.max(1)).collect();
        Self {
            bytes: elements(case.dtype, case.offset + step, case.seed, specials),
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

/// The result as bytes, or how there is none.
#[derive(Debug, PartialEq)]
enum Outcome {
    Bytes(Vec<u8>),
    Empty,
    AllNan,
    /// Offsets that cut no array.
    Bad,
}

struct Ran {
    outcome: Outcome,
    entries: String,
}

fn upload(memory: &mut Memory, name: &str, bytes: &[u8]) -> u64 {
    let array: Global<u8> = memory.upload(name, bytes);
    array.as_ptr().addr() as u64
}

fn run(
    op: Op,
    array: &ArrayRef<'_>,
    offset: isize,
    bytes: &[u8],
    mask: &[u8],
    options: &Options<'_>,
) -> Result<Ran, String> {
    let request = Request::new(op, array, options).map_err(|e| e.to_string())?;
    let problem = &request.problem;
    let plan = GpuPlan::new(&request.spec, problem, &LIMITS);
    let mut memory = Memory::new();
    let x = upload(&mut memory, "input", bytes).wrapping_add_signed((offset + problem.x_offset) as i64);
    let m = match options.mask {
        Some(_) => upload(&mut memory, "mask", mask).wrapping_add_signed(problem.mask_offset as i64),
        None => 0,
    };
    let size = request.spec.result().size();
    let n = problem.outputs * if op == Op::MinMax { 2 } else { 1 };
    let output: Global<u8> = memory.alloc("output", n * size);
    let workspace: Global<u8> = memory.alloc("workspace", plan.workspace);
    memory.write(workspace, &vec![0u8; COUNTERS]);
    let pair = if op == Op::MinMax { 2 } else { 1 };
    let to = (output.as_ptr().addr() as u64).wrapping_add_signed((problem.out_offset * pair * size as isize) as i64);
    let entries = launch(&memory, &plan, [x, m, to], workspace)?;
    let counters = memory.read(workspace.cast::<u32>(), COUNTERS / 4);
    let outcome = match counters[STATUS].to_ne_bytes() {
        [0, 0, ..] => Outcome::Bytes(memory.read(output, n * size)),
        [0, ..] => Outcome::AllNan,
        _ => Outcome::Empty,
    };
    Ok(Ran { outcome, entries })
}

/// Runs a plan, and says what ran. No counter may be left over but the status.
fn launch(memory: &Memory, plan: &GpuPlan, addresses: [u64; 3], workspace: Global<u8>) -> Result<String, String> {
    let mut entries = String::new();
    for launch in &plan.launches {
        let mut params = launch.params.clone();
        params[..3].copy_from_slice(&addresses);
        params[3] = workspace.as_ptr().addr() as u64;
        let production = Production { entry: &launch.entry, grid: launch.grid, block: launch.block, params: &params };
        entries = format!("{entries} {}<{},{}>", launch.entry, launch.grid, launch.block);
        match emulate(memory, production) {
            None => return Err(format!("no kernel {}", launch.entry)),
            Some(Err(faults)) => return Err(format!("{entries}: {faults}")),
            Some(Ok(_)) => {}
        }
    }
    let counters = memory.read(workspace.cast::<u32>(), COUNTERS / 4);
    match counters[..STATUS].iter().position(|&c| c != 0) {
        Some(left) => Err(format!("{entries}: counter {left} is not zero")),
        None => Ok(entries),
    }
}

/// Describes a case's array on both; says what ran, if anything did, and what is wrong.
fn check_described(case: &Case) -> Result<Option<String>, String> {
    let placed = Placed::new(case);
    let array = placed.view(case.dtype)?;
    let options = Options { axes: Some(placed.axes.clone()), ..Options::default() };
    let Ok(expected) = describe(array, &options) else { return Ok(None) };
    let axes: Vec<usize> = placed.axes.iter().map(|&a| a as usize).collect();
    let problem = Problem::new(&array, &axes, None).map_err(|e| e.to_string())?;
    if problem.count == 0 {
        return Ok(None);
    }
    let Some(plan) = GpuPlan::describe(case.dtype, false, &problem, &LIMITS) else { return Ok(None) };
    let mut memory = Memory::new();
    let x = upload(&mut memory, "input", &placed.bytes)
        .wrapping_add_signed((placed.first as isize + problem.x_offset) as i64);
    let bytes = problem.outputs * described_bytes(case.dtype);
    let output: Global<u8> = memory.alloc("output", bytes);
    let workspace: Global<u8> = memory.alloc("workspace", plan.workspace);
    memory.write(workspace, &vec![0u8; COUNTERS]);
    let entries = launch(&memory, &plan, [x, 0, output.as_ptr().addr() as u64], workspace)?;
    let found = memory.read(output, bytes);
    let mut from = 0;
    let mut wrong = String::new();
    for (name, _) in DESCRIBED {
        let expected = expected.get(name).map(Values::as_bytes).unwrap_or_default();
        let found = &found[from..from + expected.len()];
        from += expected.len();
        if found != expected {
            wrong = format!("{wrong}\n{name}: {found:?}\nexpected {expected:?}");
        }
    }
    if wrong.is_empty() { Ok(Some(entries)) } else { Err(format!("{entries}:{wrong}")) }
}

/// Runs a case on both; says what ran, if anything did, or what is wrong.
fn check(case: &Case) -> Result<String, String> {
    let placed = Placed::new(case);
    let array = placed.view(case.dtype)?;
    let shape = placed.shape.clone();
    let mut seed = case.seed ^ 77;
    let mask: Vec<bool> = (0..shape.iter().product()).map(|_| !random(&mut seed).is_multiple_of(3)).collect();
    let mask_bytes: Vec<u8> = mask.iter().map(|&m| m as u8).collect();
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
    let expected = match reduce(case.op, array, &options) {
        Ok(result) => Outcome::Bytes(result.values.as_bytes().to_vec()),
        Err(Error::Empty { .. }) => Outcome::Empty,
        Err(Error::AllNan { .. }) => Outcome::AllNan,
        // An option that this op does not take.
        Err(_) => return Ok(String::new()),
    };
    let ran = run(case.op, &array, placed.first as isize, &placed.bytes, &mask_bytes, &options)?;
    if ran.outcome == expected {
        return Ok(ran.entries);
    }
    Err(format!("{}: {:?}\nexpected {expected:?}", ran.entries, ran.outcome))
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

fn choices() -> impl Strategy<Value = Choices> {
    let some = |n: u8| (0..n).prop_map(|x| x == 0);
    let dtype = prop_oneof![
        6 => Just(None),
        1 => proptest::sample::select(&[DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::U64][..]).prop_map(Some),
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
    let count = std::env::var("WARPFOLD_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut wrong = Vec::new();
    for _ in 0..count {
        let case = case().new_tree(&mut runner).expect("a case").current();
        if let Err(why) = check(&case) {
            let why: String = why.chars().take(1500).collect();
            wrong.push(format!("{case:?}\n{why}"));
        }
        if wrong.len() == 8 {
            break;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn describing_in_one_launch_has_the_bits_of_the_cpu_and_no_fault() {
    let count = std::env::var("WARPFOLD_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    let (mut wrong, mut ran) = (Vec::new(), BTreeMap::<String, u32>::new());
    for i in 0..count {
        let case = Case { dtype: floats[i % 4], ..case().new_tree(&mut runner).expect("a case").current() };
        match check_described(&case) {
            Ok(None) => {}
            Ok(Some(entries)) => *ran.entry(entries.split('<').next().unwrap_or_default().into()).or_default() += 1,
            Err(why) => {
                let why: String = why.chars().take(1500).collect();
                wrong.push(format!("{case:?}\n{why}"));
            }
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
fn a_row_in_chunks_has_the_bits_of_the_cpu() {
    let (mut seed, mut wrong, mut chunks_of) = (1, Vec::new(), BTreeMap::<String, usize>::new());
    for i in 0..60 {
        let dtype = DType::ALL[i % DType::ALL.len()];
        let op = [Op::ArgMin, Op::ArgMax, Op::Sum, Op::Std, Op::MinMax][i / 12];
        let len = 20_000 + random(&mut seed) as usize % 90_000;
        let axis = Axis { len, gap: 0, reversed: false, broadcast: false, reduced: true };
        let choices = Choices { skip_nan: i % 3 == 0, specials: i % 2 == 0, ..Choices::default() };
        let case = Case { op, dtype, axes: vec![axis], turn: 0, offset: 0, options: choices, seed };
        let placed = Placed::new(&case);
        let array = placed.view(dtype).expect("an array");
        let options = Options { skip_nan: choices.skip_nan, ..Options::default() };
        let Ok(expected) = reduce(op, array, &options) else { continue };
        let request = Request::new(op, &array, &options).expect("a request");
        let chunks = GpuPlan::chunked(&request.spec, &request.problem, &LIMITS, 140_000);
        let mut memory = Memory::new();
        let expected = expected.values.as_bytes();
        let output: Global<u8> = memory.alloc("output", expected.len());
        let room = chunks.first().map_or(COUNTERS, |chunk| chunk.workspace);
        let workspace: Global<u8> = memory.alloc("workspace", room);
        memory.write(workspace, &vec![0u8; COUNTERS]);
        let mut ran = String::new();
        for Chunk { start, len, launches, workspace: room } in &chunks {
            // Only its own bytes, so that no other is read.
            let x = upload(&mut memory, "chunk", &placed.bytes[*start..start + len]);
            let plan = GpuPlan { launches: launches.clone(), workspace: *room, bytes: 0 };
            let last = start + len == placed.bytes.len();
            match launch(&memory, &plan, [x, 0, output.as_ptr().addr() as u64], workspace) {
                Ok(entries) => ran = entries,
                Err(why) if last => wrong.push(format!("{op} {dtype} {len}: {why}")),
                // Until the last chunk is there, counters are not zero.
                Err(why) if why.contains("is not zero") => {}
                Err(why) => wrong.push(format!("{op} {dtype} {len}: {why}")),
            }
        }
        if !chunks.is_empty() && memory.read(output, expected.len()) != expected {
            wrong
                .push(format!("{op} {dtype} {len}: {ran} {:?}, not {expected:?}", memory.read(output, expected.len())));
        }
        *chunks_of.entry(op.name().into()).or_default() += chunks.len();
    }
    println!("{chunks_of:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(chunks_of["argmin"] > 8 && chunks_of["argmax"] > 8, "{chunks_of:?}");
}

#[test]
fn an_output_of_nothing_goes_before_one_of_only_nan() {
    let x = [f32::NAN; 64];
    for empty in [0, 5, 31] {
        let mask: Vec<bool> = (0..64).map(|i| i / 2 != empty).collect();
        let array = ArrayRef::from_slice(&x, &[32, 2]).expect("an array");
        let mask_bytes: Vec<u8> = mask.iter().map(|&m| m as u8).collect();
        let options = Options {
            axes: Some(vec![1]),
            skip_nan: true,
            mask: Some(ArrayRef::from_slice(&mask, &[32, 2]).expect("a mask")),
            ..Options::default()
        };
        assert!(matches!(reduce(Op::ArgMax, array, &options), Err(Error::Empty { .. })));
        let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let ran = run(Op::ArgMax, &array, 0, &bytes, &mask_bytes, &options).expect("no fault");
        assert_eq!(ran.outcome, Outcome::Empty, "{empty}: {}", ran.entries);
    }
}

#[test]
fn what_is_skipped_leaves_all_true_and_a_norm_positive() {
    let x = [f32::NAN; 10];
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let array = ArrayRef::from_slice(&x, &[5, 2]).expect("an array");
    for op in [Op::All, Op::Norm] {
        for axes in [None, Some(vec![0]), Some(vec![1]), Some(vec![])] {
            let options =
                Options { axes, skip_nan: true, ord: (op == Op::Norm).then_some(Ord::One), ..Options::default() };
            let want = reduce(op, array, &options).expect("a result");
            let ran = run(op, &array, 0, &bytes, &[], &options).expect("no fault");
            let expected = u8::from(op == Op::All);
            assert!(want.values.as_bytes().iter().all(|&byte| byte == expected), "{op:?}: {want:?}");
            assert_eq!(ran.outcome, Outcome::Bytes(want.values.as_bytes().to_vec()), "{op:?} by {}", ran.entries);
        }
    }
}
