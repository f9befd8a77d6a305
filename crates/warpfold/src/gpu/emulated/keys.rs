//! Distinct values and groups, by the kernels that the device crate plans for them: what the library finds on the CPU.

use warpfold_device::emulator::Memory;
use warpfold_device::kernels::Production;
use warpfold_device::kernels::keys::plan::Launch;
use warpfold_device::kernels::sort::emulate;
use warpfold_device::kernels::sort::plan::{Carried, Problem, What};
use warpfold_device::kernels::sort::state::FOUND;
use warpfold_device::simt::{Global, Pod};

use super::golden::cases::{Specials, elements, random};
use super::segments::reduced;
use super::{Outcome, upload};
use crate::{ArrayRef, DType, Distinct, Op, Options, Values, group_by, unique};

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
        }
    }
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
