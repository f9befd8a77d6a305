//! Golden results: bits that a GPU computed, which the emulator is compared with where there is no GPU.

use super::case::{Case, Load};
use super::data::GENERATOR;
use super::emulated::emulate;
use super::material::{LABELS, SEED, materials};
use crate::emulate::emulate_probe;
use crate::plan::{PlanError, Tuning};
use serde::{Deserialize, Serialize};
use warpfold_kernels::ladder::{DType, Family, Form, rung, rungs};

/// The lengths of inputs.
pub const LENGTHS: [u64; 5] = [1, 31, 1000, 4097, 1 << 16];

/// A golden file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    /// The version of the format: 1.
    pub version: u32,
    /// The GPU, as the driver names it.
    pub device: String,
    /// The generator of the inputs, in words.
    pub generator: String,
    /// The seeds of elements and of labels.
    pub seeds: (u64, u64),
    /// The results of the rungs.
    pub sums: Vec<Sum>,
    /// All words of the probe, in hexadecimal.
    pub probe: String,
}

/// The result of one rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// The rung.
    pub rung: String,
    /// `f32` or `i32`.
    pub dtype: String,
    /// The number of elements.
    pub n: u64,
    /// Threads per block.
    pub block: u32,
    /// Coarsening factor.
    pub coarsen: Option<u32>,
    /// The result's bits, in hexadecimal.
    pub bits: String,
}

impl Golden {
    /// The golden file of `device`, from the probe's words, and the cases with their bits.
    pub fn new(device: &str, probe: &[u32], sums: impl IntoIterator<Item = (Case, u32)>) -> Golden {
        let sum = |(case, bits): (Case, u32)| Sum {
            rung: case.rung.to_owned(),
            dtype: if case.load.dtype() == DType::F32 { "f32" } else { "i32" }.to_owned(),
            n: case.load.n(),
            block: case.tuning.block.unwrap_or(case.entry().default_block),
            coarsen: case.tuning.coarsen,
            bits: format!("{bits:08x}"),
        };
        Golden {
            version: 1,
            device: device.to_owned(),
            generator: GENERATOR.to_owned(),
            seeds: (SEED, LABELS),
            sums: sums.into_iter().map(sum).collect(),
            probe: hexadecimal(probe),
        }
    }

    /// The differences of the emulator's results; empty if there are none.
    pub fn differences(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.generator != GENERATOR || self.seeds != (SEED, LABELS) {
            wrong.push("its inputs were made in another way; make the file again on a GPU".to_owned());
        }
        if self.probe != hexadecimal(&emulate_probe().result) {
            wrong.push("the probe's words differ".to_owned());
        }
        for sum in &self.sums {
            let said = match sum.case() {
                Some(case) => emulated_bits(&case).map_err(|e| e.to_string()),
                None => Err("is no rung any more".to_owned()),
            };
            match said {
                Ok(bits) if format!("{bits:08x}") == sum.bits => {}
                Ok(bits) => wrong.push(format!("{sum:?}: the emulator gives {bits:08x}")),
                Err(why) => wrong.push(format!("{sum:?}: {why}")),
            }
        }
        wrong
    }
}

impl Sum {
    fn case(&self) -> Option<Case> {
        let dtype = if self.dtype == "i32" { DType::I32 } else { DType::F32 };
        let tuning = Tuning { block: Some(self.block), coarsen: self.coarsen };
        Some(Case::new(rung(&self.rung)?, Load::Elements { dtype, n: self.n }, tuning))
    }
}

fn hexadecimal(words: &[u32]) -> String {
    words.iter().map(|word| format!("{word:08x}")).collect()
}

/// Every rung of families A and B whose bits are always the same, on every length of [`LENGTHS`] with its own block,
/// and on 1000 elements with every block that it offers.
pub fn deterministic() -> Vec<Case> {
    let mut cases = Vec::new();
    let sums = rungs().iter().filter(|r| r.form == Form::Sound && matches!(r.family, Family::A | Family::B));
    for rung in sums {
        for dtype in [DType::F32, DType::I32].into_iter().filter(|&t| rung.is_deterministic(t)) {
            let mut add = |n, block, coarsen| {
                cases.push(Case::new(rung, Load::Elements { dtype, n }, Tuning { block, coarsen }));
            };
            LENGTHS.iter().for_each(|&n| add(n, None, None));
            rung.blocks.iter().for_each(|&block| add(1000, Some(block), None));
            rung.coarsenings.iter().for_each(|&c| add(4097, None, Some(c)));
        }
    }
    cases
}

/// The bits that the emulator gives, on the input that is timed.
///
/// # Errors
/// If there is no such plan.
pub fn emulated_bits(case: &Case) -> Result<u32, PlanError> {
    let material = materials(case.load).pop().expect("every workload has an input");
    emulate(case, &material).map(|seen| seen.output[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emulator_agrees_with_itself_and_not_with_a_changed_bit() {
        let cases = || deterministic().into_iter().filter(|c| c.load.n() <= 31);
        let sums: Vec<(Case, u32)> = cases().map(|c| (c.clone(), emulated_bits(&c).expect("a plan"))).collect();
        assert!(sums.len() > 40);
        let mut golden = Golden::new("the emulator", &emulate_probe().result, sums);
        assert_eq!(golden.differences(), [""; 0]);
        golden.sums[3].bits = "00000001".to_owned();
        golden.probe.replace_range(0..1, "f");
        assert_eq!(golden.differences().len(), 2);
    }
}
