//! Blocks that add their results atomically finish in any order; a sum of floats then has different bits each time.

use std::collections::BTreeSet;
use warpfold_core::{Reducer, Span, ops::Sum};
use warpfold_ladder::{Tuning, emulate_reduce};

const N: usize = 100_000;
const SEGMENT: usize = 1024;
const ROUNDS: usize = 1000;
const CUTS: usize = 20;

/// Numbers that look random, the same in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// The number of sums with distinct bits, and the least and the greatest.
fn spread(sums: &[f32]) -> String {
    let bits: BTreeSet<u32> = sums.iter().map(|x| x.to_bits()).collect();
    let (least, most) = sums.iter().fold((f32::MAX, f32::MIN), |(a, b), &x| (a.min(x), b.max(x)));
    match bits.len() {
        1 => format!("1 result, {least:.4}"),
        results => format!("{results} different results, {least:.4} to {most:.4}"),
    }
}

/// The tree, from pieces cut anywhere and joined again.
fn cut_anywhere(data: &[f32], random: &mut Random) -> f32 {
    let sum = Sum::<f32>::total();
    let mut whole = Span::new(0);
    while (whole.end() as usize) < data.len() {
        let start = whole.end();
        let mut piece = Span::new(start);
        let length = 1 + random.below(data.len() / 10);
        for &x in data[start as usize..].iter().take(length) {
            piece.push(&sum, 0, sum.lift(x, 0));
        }
        whole.join(&sum, &piece).expect("the next piece");
    }
    sum.finish(whole.root(&sum).expect("not empty"), data.len() as u64)
}

pub fn print() -> String {
    let mut random = Random(10);
    let data: Vec<f32> = (0..N).map(|_| (random.next() >> 40) as f32 / (1 << 24) as f32).collect();
    // The summand of each block of b3: the result of the rung, in the emulator, on one segment alone.
    let block = Tuning { block: Some(SEGMENT as u32 / 2), coarsen: None };
    let partial = |segment: &[f32]| emulate_reduce("b3", segment, block).expect("a plan").result;
    let mut partials: Vec<f32> = data.chunks(SEGMENT).map(partial).collect();
    let blocks = partials.len();
    let mut sums = Vec::new();
    for _ in 0..ROUNDS {
        for i in (1..blocks).rev() {
            partials.swap(i, random.below(i + 1));
        }
        sums.push(partials.iter().fold(0.0, |a, b| a + b));
    }
    let trees: Vec<f32> = (0..CUTS).map(|_| cut_anywhere(&data, &mut random)).collect();
    let exact: f64 = data.iter().map(|&x| f64::from(x)).sum();
    format!(
        "{N} random f32 from 0 to 1, by b3 in {blocks} blocks\n\
         {ROUNDS} orders of the atomics   {}\n\
         the tree, cut in {CUTS} ways   {}\n\
         the sum in f64             {exact:.4}\n",
        spread(&sums),
        spread(&trees)
    )
}
