//! The inputs of a rung, and the expected results.

use super::case::Load;
use super::check::{Answer, Exact};
use super::data;
use crate::plan::Sizes;
use crate::program::Inputs;
use warpfold::cuda::{Error, Stream};
use warpfold_kernels::ladder::DType;

/// The seed of elements and points.
pub const SEED: u64 = 1;
/// The seed of labels.
pub const LABELS: u64 = 2;

/// One input.
#[derive(Clone, Debug)]
pub struct Material {
    /// Elements, or points `[coordinate][point]`, as bits.
    pub words: Vec<u32>,
    /// The cluster of each point; empty if there are none.
    pub labels: Vec<i32>,
    /// The expected result.
    pub answer: Answer,
}

impl Material {
    /// A copy on a device: what programs read.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn upload(&self, stream: &Stream, load: Load) -> Result<Inputs, Error> {
        match load {
            Load::Points(sizes) => Inputs::upload_labelled(stream, &self.words, &self.labels, sizes.clusters),
            _ => Inputs::upload(stream, &self.words),
        }
    }

    /// The elements, if they are floats.
    pub fn floats(&self) -> Vec<f32> {
        self.words.iter().map(|&bits| f32::from_bits(bits)).collect()
    }

    /// The elements, if they are integers.
    pub fn integers(&self) -> Vec<i32> {
        self.words.iter().map(|&bits| bits as i32).collect()
    }
}

/// The inputs that a rung is checked on. The last is the one to time: numbers whose sums round, as those of real data
/// do. For floats, an input whose sums are exact in any order comes before it, so that a single missing element is
/// detected.
pub fn materials(load: Load) -> Vec<Material> {
    let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect();
    match load {
        Load::Elements { dtype: DType::I32, n } => {
            let x = data::integers(n, SEED);
            let answer = Answer::integers(&x);
            vec![Material { words: x.into_iter().map(|x| x as u32).collect(), labels: Vec::new(), answer }]
        }
        Load::Elements { dtype: DType::F32, n } => {
            let whole = data::whole(n, SEED);
            let sum = Answer::Whole(Exact::of(whole.iter().copied()).sum as f32);
            let spread = data::floats(n, SEED);
            let exact = Answer::Float(Exact::of(spread.iter().copied()));
            [(whole, sum), (spread, exact)]
                .map(|(x, answer)| Material { words: bits(x), labels: Vec::new(), answer })
                .into()
        }
        Load::Points(sizes) => {
            let Sizes { points, clusters, coords } = sizes;
            let labels = data::labels(points, LABELS, clusters);
            let n = points * u64::from(coords);
            [(data::whole(n, SEED), true), (data::floats(n, SEED), false)]
                .map(|(x, is_whole)| {
                    let answer = Answer::cells(&x, &labels, sizes, is_whole);
                    Material { words: bits(x), labels: labels.clone(), answer }
                })
                .into()
        }
        Load::Words(n) => {
            let words = data::integers(n, SEED).into_iter().map(|x| x as u32).collect();
            vec![Material { words, labels: Vec::new(), answer: Answer::Untouched }]
        }
    }
}
