//! Warpfold's side of `bench/cpu/compare.py`: reads one case per line (JSON) on standard input, runs it on a mapped file,
//! and answers with nanoseconds and the result's bits.

use std::io::{BufRead, Write};
use std::time::Instant;

use serde_json::{Value as Json, json};
use warpfold::{ArrayRef, DType, Op, Options, Order, reduce};

/// Every byte once, without arithmetic to speak of: what a plain multi-threaded read of the bytes reaches.
fn read(bytes: &[u8], threads: usize) -> u64 {
    let part = bytes.len().div_ceil(threads).next_multiple_of(256);
    std::thread::scope(|scope| {
        let run = |part: &[u8]| {
            let mut lanes = [0u64; 32];
            for piece in part.as_chunks::<256>().0 {
                for (lane, word) in lanes.iter_mut().zip(piece.as_chunks::<8>().0) {
                    *lane ^= u64::from_ne_bytes(*word);
                }
            }
            lanes.iter().fold(0, |a, b| a ^ b)
        };
        let parts: Vec<_> = bytes.chunks(part).map(|part| scope.spawn(move || run(part))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).fold(0, |a, b| a ^ b)
    })
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: bench_cpu DATA");
    let file = std::fs::File::open(path).unwrap();
    // SAFETY: nobody writes the file during the benchmark.
    let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
    for line in std::io::stdin().lock().lines() {
        let case: Json = serde_json::from_str(&line.unwrap()).unwrap();
        let threads = case["threads"].as_u64().unwrap() as usize;
        let (offset, bytes) = (case["offset"].as_u64().unwrap() as usize, case["bytes"].as_u64().unwrap() as usize);
        let bytes = &map[offset..offset + bytes];
        let (repeat, op) = (case["repeat"].as_u64().unwrap_or(1), case["op"].as_str().unwrap());
        let answer = if op == "read" {
            let start = Instant::now();
            let x = read(bytes, threads);
            json!({ "ns": start.elapsed().as_nanos() as u64, "check": x })
        } else {
            let numbers =
                |key: &str| -> Vec<i64> { case[key].as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect() };
            let shape: Vec<usize> = numbers("shape").into_iter().map(|x| x as usize).collect();
            let axes = numbers("axes").into_iter().map(|x| x as isize).collect();
            let dtype: DType = case["dtype"].as_str().unwrap().parse().unwrap();
            let order = if case["order"] == "F" { Order::Fortran } else { Order::C };
            let array = ArrayRef::from_bytes(bytes, dtype, &shape, order, false).unwrap();
            let options = Options { axes: Some(axes), threads: Some(threads), ..Options::default() };
            let op: Op = op.parse().unwrap();
            let start = Instant::now();
            let mut result = None;
            for _ in 0..repeat {
                result = Some(reduce(op, std::hint::black_box(array), &options).unwrap());
            }
            let ns = start.elapsed().as_nanos() as u64 / repeat;
            let result = result.unwrap();
            let shown = result.values.len().min(1000);
            let values: Vec<f64> = (0..shown).map(|i| result.values.get(i).to_f64()).collect();
            json!({ "ns": ns, "values": values })
        };
        println!("{answer}");
        std::io::stdout().flush().unwrap();
    }
}
