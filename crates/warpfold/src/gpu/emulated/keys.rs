//! Distinct values and groups, by the kernels that the device crate plans for them: what the library finds on the CPU.

use warpfold_emulator::Memory;
use warpfold_kernels::Production;
use warpfold_gpu::plan::kmeans::Launch;
use warpfold_kernels::sort::emulate;
use warpfold_gpu::plan::rows::{Rows, between, of_labels};
use warpfold_gpu::plan::sort::{Carried, Problem, What};
use warpfold_kernels::sort::state::FOUND;
use warpfold_simt::{Global, Pod};

use super::golden::cases::{Specials, elements, random};
use super::segments::reduced;
use super::{Outcome, upload};
use crate::{ArrayRef, Bins, DType, Distinct, Groups, Op, Options, Values, bincount, group_by, histogram, unique};

/// Runs a launch in the emulator.
fn run(memory: &Memory, launch: &Launch, addresses: &[u64]) {
    let mut params = launch.params.clone();
    params[..addresses.len()].copy_from_slice(addresses);
    let production = Production { entry: &launch.entry, grid: launch.grid, block: launch.block, params: &params };
    let said = emulate(memory, production).expect(&launch.entry);
    said.unwrap_or_else(|faults| panic!("{}: {faults}", launch.entry));
}

/// Room for elements of so many bytes.
fn room(memory: &mut Memory, name: &str, size: usize, n: usize) -> u64 {
    fn of<T: Pod>(memory: &mut Memory, name: &str, n: usize) -> u64 {
        let array: Global<T> = memory.alloc(name, n);
        array.as_ptr().addr() as u64
    }
    match size {
        1 => of::<u8>(memory, name, n),
        2 => of::<u16>(memory, name, n),
        4 => of::<u32>(memory, name, n),
        _ => of::<u64>(memory, name, n),
    }
}

fn read<T: Pod>(memory: &Memory, address: u64, n: usize) -> Vec<T> {
    // SAFETY: the emulator looks addresses up.
    memory.read(unsafe { Global::from_raw(std::ptr::without_provenance_mut(address as usize)) }, n)
}

/// The sort's addresses, and the sort itself.
fn sort(memory: &mut Memory, p: &Problem, input: u64, values: u64) -> [u64; 7] {
    // The emulator looks for races by elements, so these are as small as what is written last.
    let least = if let Carried::Values { size } = p.carried { size } else { 4 };
    let (keys, load) = (p.keys_bytes(), p.carried_bytes());
    let [a, b] = keys.map(|bytes| room(memory, "keys", p.key(), bytes / p.key()));
    let [c, d] = load.map(|bytes| room(memory, "carried", least, bytes / least));
    let state = room(memory, "state", 4, p.state_words());
    let zero: Global<u32> = {
        // SAFETY: the emulator looks addresses up.
        unsafe { Global::from_raw(std::ptr::without_provenance_mut(state as usize)) }
    };
    memory.write(zero, &vec![0u32; p.state_words()]);
    let addresses = [input, values, a, b, c, d, state];
    p.sort().iter().for_each(|launch| run(memory, launch, &addresses));
    addresses
}

#[test]
fn distinct_values_of_every_dtype_are_those_of_the_cpu() {
    let mut seed = 21;
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        for specials in [Specials::None, Specials::Zeros, Specials::All] {
            let n = [3000, 5121, 700][(i + specials as usize) % 3];
            let bytes = elements(dtype, n, random(&mut seed), specials);
            let array = ArrayRef::from_bytes(&bytes, dtype, &[n], crate::Order::C, false).expect("an array");
            let want = unique(array, Distinct { first: true, inverse: true }).expect("distinct values");
            let p = Problem { dtype, n, what: What::Values, carried: Carried::Positions, multiprocessors: 1 };
            let mut memory = Memory::new();
            let input = upload(&mut memory, "input", &bytes);
            let [_, _, a, b, c, d, state] = sort(&mut memory, &p, input, 0);
            let values = room(&mut memory, "values", dtype.size(), n);
            let [starts, first, inverse, counts] =
                [(4, n + 1), (8, n), (8, n), (8, n)].map(|(size, n)| room(&mut memory, "found", size, n));
            let heads = p.heads().expect("heads of elements");
            run(&memory, &heads, &[input, a, b, c, d, state, values, starts, first, inverse]);
            run(&memory, &p.counts(), &[starts, counts, state]);
            let found = read::<u32>(&memory, state, FOUND + 1)[FOUND] as usize;
            let got: Vec<u8> = read(&memory, values, found * dtype.size());
            assert_eq!(got, want.values.values.as_bytes(), "{dtype} {specials:?}");
            assert_eq!(read::<i64>(&memory, counts, found), want.counts, "{dtype} {specials:?}");
            assert_eq!(Some(read::<i64>(&memory, first, found)), want.first, "{dtype} {specials:?}");
            let inverse = Values::I64(read(&memory, inverse, n));
            assert_eq!(Some(inverse), want.inverse.map(|inverse| inverse.values), "{dtype} {specials:?}");
            if dtype.size() < 4 {
                assert_eq!(by_bits(&bytes, dtype), want.values.values.as_bytes(), "{dtype} {specials:?}");
            }
        }
    }
}

/// The distinct values of small elements, by a bit for each.
fn by_bits(elements: &[u8], dtype: DType) -> Vec<u8> {
    let n = elements.len() / dtype.size();
    let p = Problem { dtype, n, what: What::Buckets, carried: Carried::Nothing, multiprocessors: 1 };
    let mut memory = Memory::new();
    let input = upload(&mut memory, "input", elements);
    let [_, _, a, b, _, _, state] = sort(&mut memory, &p, input, 0);
    let values = room(&mut memory, "values", dtype.size(), n);
    let starts = room(&mut memory, "starts", 4, p.buckets() + 1);
    let bits = memory.upload("bits", &vec![0u32; p.bits_words()]).as_ptr().addr() as u64;
    p.distinct().iter().for_each(|launch| run(&memory, launch, &[input, a, b, state, starts, bits, values]));
    let found = read::<u32>(&memory, state, FOUND + 1)[FOUND] as usize;
    read(&memory, values, found * dtype.size())
}

#[test]
fn groups_of_every_dtype_have_the_bits_of_the_cpu() {
    let mut seed = 22;
    let ops = [Op::Sum, Op::Std, Op::LogSumExp, Op::CountNonzero, Op::Any, Op::Norm];
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        let (n, groups, op) = (5400, [7, 300, 1][i % 3], ops[i % 6]);
        let bytes = elements(dtype, n, random(&mut seed), Specials::Zeros);
        let x = ArrayRef::from_bytes(&bytes, dtype, &[n], crate::Order::C, false).expect("an array");
        let labels: Vec<i32> = (0..n).map(|_| (random(&mut seed) % (groups as u64 + 1)) as i32 - 1).collect();
        let by = ArrayRef::from_slice(&labels, &[n]).expect("labels");
        let Ok(want) = group_by(op, by, x, Some(groups), &Options::default()) else { continue };
        let carried = Carried::Values { size: dtype.size() };
        let p = Problem { dtype: DType::I32, n, what: What::Labels { groups }, carried, multiprocessors: 1 };
        let mut memory = Memory::new();
        let values = upload(&mut memory, "values", &bytes);
        let input = memory.upload("labels", &labels).as_ptr().addr() as u64;
        let [_, _, a, b, c, d, _] = sort(&mut memory, &p, input, values);
        let offsets = room(&mut memory, "offsets", 4, groups + 1);
        run(&memory, &p.offsets(groups), &[[a, b][p.last()], 0, offsets, 0]);
        let sorted: Vec<u8> = read(&memory, [c, d][p.last()], n * dtype.size());
        let offsets: Vec<i64> = read::<u32>(&memory, offsets, groups + 1).into_iter().map(i64::from).collect();
        let in_order = ArrayRef::from_bytes(&sorted, dtype, &[n], crate::Order::C, false).expect("an array");
        let got = reduced(op, &in_order, &sorted, &offsets).expect("no fault");
        let Some(got) = got else { continue };
        assert_eq!(got, Outcome::Bytes(want.values.as_bytes().to_vec()), "{op} {dtype}");
    }
}

#[test]
fn rows_become_columns_and_results_rows() {
    let mut seed = 23;
    for (i, size) in [1, 2, 4, 8, 4, 1].into_iter().enumerate() {
        let (rows, columns) = [(5, 3), (1, 70), (1030, 1), (0, 2), (40, 40), (2100, 5)][i];
        let by_positions = i % 2 == 0 && rows > 0;
        let bytes: Vec<u8> = (0..rows * columns * size).map(|_| random(&mut seed) as u8).collect();
        let (along, across) = ((columns * size) as isize, size as isize);
        let turned = Rows { rows, columns, along, across, size };
        let positions: Vec<u32> = (0..rows).map(|_| (random(&mut seed) % rows.max(1) as u64) as u32).collect();
        let mut memory = Memory::new();
        let input = upload(&mut memory, "rows", &bytes);
        let at = memory.upload("positions", &positions).as_ptr().addr() as u64;
        let pitch = turned.pitch();
        let output = room(&mut memory, "columns", size, pitch * columns);
        let launch = turned.turn().expect("columns");
        run(&memory, &launch, &[input, if by_positions { at } else { 0 }, output]);
        let got: Vec<u8> = read(&memory, output, pitch * columns * size);
        for (at, element) in got.chunks(size).enumerate() {
            let (column, row) = (at / pitch, at % pitch);
            let from = if by_positions && row < rows { positions[row] as usize } else { row };
            let nothing = [0; 8];
            let want = if row < rows { &bytes[(from * columns + column) * size..] } else { &nothing };
            assert_eq!(element, &want[..size], "{turned:?} {column} {row}");
        }
        // And back, two by two.
        let pair = 1 + i % 2;
        let segments = 3;
        let found: Vec<u8> = (0..(segments + 1) * columns * pair * size).map(|_| random(&mut seed) as u8).collect();
        let results = upload(&mut memory, "results", &found);
        let output = room(&mut memory, "output", size, segments * columns * pair);
        let (along, across) = (((segments + 1) * pair * size) as isize, (pair * size) as isize);
        let back = Rows { rows: columns, columns: segments, along, across, size }.back(pair).expect("segments");
        for half in 0..pair {
            let skip = (half * size) as u64;
            run(&memory, &back, &[results + skip, 0, output + skip]);
        }
        let got: Vec<u8> = read(&memory, output, segments * columns * pair * size);
        for (at, element) in got.chunks(pair * size).enumerate() {
            let (segment, column) = (at / columns, at % columns);
            let from = (column * (segments + 1) + segment) * pair * size;
            assert_eq!(element, &found[from..from + pair * size], "{segment} {column}");
        }
    }
}

#[test]
fn offsets_are_repeated_for_each_column_and_bad_ones_stay_bad() {
    let rows = Rows { rows: 9, columns: 3, along: 12, across: 4, size: 4 };
    let offsets = [0i32, 4, -1, 10, 3, 9];
    let mut memory = Memory::new();
    let input = memory.upload("offsets", &offsets.map(i32::cast_unsigned)).as_ptr().addr() as u64;
    let output = room(&mut memory, "repeated", 8, offsets.len() * 3);
    run(&memory, &rows.repeat(offsets.len(), 4, true, 2), &[input, output]);
    let want: Vec<u64> = (0..3)
        .flat_map(|column| offsets.map(|x| if (0..=9).contains(&x) { column * 10 + x as u64 } else { u64::MAX }))
        .collect();
    assert_eq!(read::<u64>(&memory, output, want.len()), want);
}

#[test]
fn first_and_last_rows_are_those_of_the_cpu() {
    let mut seed = 24;
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        let (n, groups, columns) = (300, [5, 40, 1][i % 3], [1, 3][i % 2]);
        let bytes = elements(dtype, n * columns, random(&mut seed), Specials::Zeros);
        let x = ArrayRef::from_bytes(&bytes, dtype, &[n, columns], crate::Order::C, false).expect("an array");
        // Group 2 has nothing.
        let label = |x: u64| if x == 2 { -1 } else { x as i32 };
        let labels: Vec<i32> = (0..n).map(|_| label(random(&mut seed) % groups as u64)).collect();
        let by = Groups::new(ArrayRef::from_slice(&labels, &[n]).expect("labels"), Some(groups)).expect("groups");
        let positions: Vec<u32> = (0..groups).flat_map(|group| by.positions(group).to_vec()).collect();
        let mut offsets = vec![0u32];
        offsets.extend(by.counts().iter().scan(0, |sum, &n| {
            *sum += n as u32;
            Some(*sum)
        }));
        let by = by.fill(crate::Scalar::I8(1));
        let one = Values::I8(vec![1]).cast(dtype);
        let mut word = [0; 8];
        word[..dtype.size()].copy_from_slice(one.as_bytes());
        let size = dtype.size();
        let rows = Rows { rows: n, columns, along: (columns * size) as isize, across: size as isize, size };
        for last in [false, true] {
            let want = if last { by.last(x) } else { by.first(x) }.expect("filled");
            for fill in [Some(u64::from_le_bytes(word)), None] {
                let mut memory = Memory::new();
                let input = upload(&mut memory, "values", &bytes);
                let [positions, offsets] =
                    [&positions, &offsets].map(|list| memory.upload("list", list).as_ptr().addr() as u64);
                let output = room(&mut memory, "ends", size, groups * columns);
                let status = memory.upload("status", &[0u8; 4]).as_ptr().addr() as u64;
                run(&memory, &rows.ends(groups, last, fill, 1), &[input, positions, offsets, output, status]);
                let is_empty = groups > 2 && fill.is_none();
                assert_eq!(read::<u8>(&memory, status, 1)[0] != 0, is_empty, "{dtype}");
                if fill.is_some() {
                    let got: Vec<u8> = read(&memory, output, groups * columns * size);
                    assert_eq!(got, want.values.as_bytes(), "{dtype} {last}");
                }
            }
        }
    }
}

#[test]
fn bins_of_every_dtype_are_those_of_the_cpu() {
    let mut seed = 25;
    let uneven = vec![-40.0, -1.5, -1.5, -0.0, 0.25, 1.0, 1.0, 7.0, 200.0];
    for (i, dtype) in DType::ALL.into_iter().enumerate() {
        let n = [5000, 2048, 100][i % 3];
        let bytes = elements(dtype, n, random(&mut seed), Specials::All);
        let x = ArrayRef::from_bytes(&bytes, dtype, &[n], crate::Order::C, false).expect("an array");
        let uniform = Bins::Uniform { bins: [10, 9000, 1][i % 3], range: Some((-3.0, 3.5)) };
        for bins in [uniform, Bins::Edges(uneven.clone()), Bins::Edges(vec![1.0, 1.0])] {
            // Not every float can have so many edges.
            let Ok(want) = histogram(x, &bins, None) else { continue };
            let crate::Values::F64(edges) = want.edges.values.cast(DType::F64) else { panic!("edges of f64") };
            // The edges that elements are compared with, before they are rounded.
            let (edges, _) = crate::keys::edges(&bins, dtype, n, || panic!("a range")).unwrap_or((edges, dtype));
            let launch = between(dtype, n, &edges, 2);
            let mut memory = Memory::new();
            let input = upload(&mut memory, "elements", &bytes);
            let words: Vec<u64> = edges.iter().map(|edge| edge.to_bits()).collect();
            let there = memory.upload("edges", &words).as_ptr().addr() as u64;
            let counts = memory.upload("counts", &vec![0u64; edges.len() - 1]).as_ptr().addr() as u64;
            let labels = room(&mut memory, "bins", 4, n);
            run(&memory, &launch, &[input, there, counts, labels]);
            let got = Values::I64(read(&memory, counts, edges.len() - 1));
            assert_eq!(got, want.counts.values, "{dtype} {bins:?}");
            let labels: Vec<i32> = read(&memory, labels, n);
            let labels = ArrayRef::from_slice(&labels, &[n]).expect("labels");
            assert_eq!(bincount(labels, None, edges.len() - 1).expect("counts").values, got, "{dtype} {bins:?}");
        }
    }
}

#[test]
fn labels_are_counted_as_on_the_cpu() {
    let mut seed = 26;
    for groups in [1usize, 7, 8192, 8193] {
        let labels: Vec<i32> = (0..6000).map(|_| (random(&mut seed) % (groups as u64 + 1)) as i32 - 1).collect();
        let by = ArrayRef::from_slice(&labels, &[labels.len()]).expect("labels");
        let want = bincount(by, None, groups).expect("counts");
        let mut memory = Memory::new();
        let input = memory.upload("labels", &labels).as_ptr().addr() as u64;
        let counts = memory.upload("counts", &vec![0u64; groups]).as_ptr().addr() as u64;
        run(&memory, &of_labels(DType::I32, labels.len(), groups, 2), &[input, 0, counts, 0]);
        assert_eq!(Values::I64(read(&memory, counts, groups)), want.values, "{groups}");
    }
}
