//! What there is to run.

use super::{Families, Options};
use warpfold::cuda::Work;
use warpfold_device::ladder::{DType, Family, Form, PRESETS, Plan, PlanError, Preset, Rung, Sizes, Tuning, rungs};

/// One rung on one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// As in `a0`, `b4_x8`, `read`.
    pub name: String,
    /// The rung.
    pub rung: &'static str,
    /// What it is run on.
    pub load: Load,
    /// What the rung leaves open.
    pub tuning: Tuning,
}

/// What a rung is run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Elements to sum.
    Elements {
        /// Their type.
        dtype: DType,
        /// How many.
        n: u64,
    },
    /// Points to gather.
    Points(Sizes),
    /// Words to read.
    Words(u64),
}

impl Load {
    /// Elements, points or words.
    pub fn n(self) -> u64 {
        match self {
            Load::Elements { n, .. } | Load::Words(n) => n,
            Load::Points(sizes) => sizes.points,
        }
    }

    /// The same, but with `n`.
    pub fn with_n(self, n: u64) -> Load {
        match self {
            Load::Elements { dtype, .. } => Load::Elements { dtype, n },
            Load::Words(_) => Load::Words(n),
            Load::Points(sizes) => Load::Points(Sizes { points: n, ..sizes }),
        }
    }

    /// `f32` or `i32`.
    pub fn dtype(self) -> DType {
        match self {
            Load::Elements { dtype, .. } => dtype,
            _ => DType::F32,
        }
    }

    /// All that has to be read, in 4-byte words.
    pub fn words(self) -> u64 {
        match self {
            Load::Elements { n, .. } | Load::Words(n) => n,
            Load::Points(sizes) => sizes.points * (u64::from(sizes.coords) + 1),
        }
    }
}

impl Case {
    /// A rung with its own defaults.
    pub fn new(rung: &'static Rung, load: Load, tuning: Tuning) -> Case {
        let name = match tuning.coarsen {
            Some(c) if c != rung.coarsenings[0] => format!("{}_x{c}", rung.name),
            _ => rung.name.to_owned(),
        };
        Case { name, rung: rung.name, load, tuning }
    }

    /// Whether the library plans it, and not the ladder.
    pub fn is_production(&self) -> bool {
        is_production(self.entry())
    }

    /// For the GPU.
    pub fn work(&self) -> Work<'_> {
        let (rung, tuning) = (self.rung, self.tuning);
        match self.load {
            Load::Elements { dtype, n } => Work::Reduce { rung, dtype, n, tuning },
            Load::Points(sizes) => Work::Centroids { rung, sizes, tuning },
            Load::Words(n) => Work::Read { n },
        }
    }

    /// What it launches.
    ///
    /// # Errors
    /// If it is not offered.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        self.work().plan()
    }

    /// The registry's entry.
    pub fn entry(&self) -> &'static Rung {
        warpfold_device::ladder::rung(self.rung).expect("cases are made of rungs")
    }

    /// The published time, if this is the workload that it is for.
    pub fn published_us(&self, block: u32) -> Option<f64> {
        let preset = PRESETS.iter().find(|p| p.rungs.contains(&self.rung))?;
        let is_same = match self.load {
            Load::Elements { dtype, n } => (dtype, n) == (preset.dtype, preset.n),
            Load::Points(s) => (s.points, Some((s.clusters, s.coords))) == (preset.n, preset.clusters_coords),
            Load::Words(_) => false,
        };
        self.entry().published.micros.filter(|_| is_same && block == preset.block)
    }
}

/// The most elements that the emulator is given.
pub const EMULATED: u64 = 1 << 20;
/// What it is given unless more is asked for.
const EMULATED_DEFAULT: u64 = 1 << 16;
/// Published forms are run at a size that brings out what is wrong with them: several blocks, the last one not full.
const PUBLISHED: u64 = 4096 - 3;

/// Everything that the options ask for, and what they ask for in vain.
pub fn cases(options: &Options, is_emulated: bool) -> (Vec<Case>, Vec<String>) {
    let (mut cases, mut notes) = (Vec::new(), Vec::new());
    let asked = |r: &&Rung| match &options.rungs {
        Some(names) => names.iter().any(|name| name == r.name),
        None => options.family.has(r.family),
    };
    let is_there = |r: &&Rung| is_planned(r) || is_production(r);
    for rung in rungs().iter().filter(asked).filter(is_there) {
        let preset = preset(rung, options.dtype);
        let mut n = options.n.unwrap_or(if is_emulated { preset.n.min(EMULATED_DEFAULT) } else { preset.n });
        if is_emulated && n > EMULATED {
            n = EMULATED;
        }
        let is_wrong = rung.form == Form::AsPublished;
        if is_wrong {
            n = PUBLISHED;
        }
        let load = match preset.clusters_coords {
            Some((clusters, coords)) => Load::Points(Sizes {
                points: n,
                clusters: options.clusters.unwrap_or(clusters).max(1),
                // With one coordinate, some published forms happen to be right.
                coords: options.coords.unwrap_or(coords).max(if is_wrong { 3 } else { 1 }),
            }),
            None => Load::Elements { dtype: options.dtype, n },
        };
        let block = options.block.or(rung.blocks.contains(&preset.block).then_some(preset.block));
        if is_production(rung) {
            // The library chooses its own block.
            cases.push(Case::new(rung, load, Tuning::default()));
            continue;
        }
        let coarsenings: Vec<Option<u32>> = match rung.coarsenings {
            [] => vec![None],
            offered => offered.iter().copied().map(Some).collect(),
        };
        for coarsen in coarsenings {
            let case = Case::new(rung, load, Tuning { block, coarsen });
            match case.plan() {
                Ok(_) => cases.push(case),
                Err(why) => notes.push(format!("left out: {why}")),
            }
        }
    }
    (cases, notes)
}

/// Whether the ladder itself has a plan for it.
fn is_planned(rung: &Rung) -> bool {
    rung.form != Form::Slot && rung.family != Family::Reference
}

/// Whether the library has one.
fn is_production(rung: &Rung) -> bool {
    rung.form == Form::Slot
}

/// The published workload of a rung, of this element type if there is one.
fn preset(rung: &Rung, dtype: DType) -> Preset {
    let name = rung.name.trim_end_matches("_as_published");
    let mut of_rung = PRESETS.iter().filter(|p| p.rungs.contains(&name));
    let first = *of_rung.clone().next().unwrap_or(&PRESETS[0]);
    *of_rung.find(|p| p.dtype == dtype).unwrap_or(&first)
}

impl Families {
    /// Whether a family is among them.
    pub fn has(self, family: Family) -> bool {
        match self {
            Families::All => family != Family::Reference,
            Families::One(one) => one == family,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(cases: &[Case]) -> Vec<&str> {
        cases.iter().map(|c| &*c.name).collect()
    }

    #[test]
    fn a_gpu_gets_the_published_workloads() {
        let (cases, notes) = cases(&Options::default(), false);
        assert!(notes.is_empty());
        let of = |name: &str| cases.iter().find(|c| c.name == name).expect(name);
        assert_eq!(of("a0").load, Load::Elements { dtype: DType::F32, n: 1 << 25 });
        assert_eq!(of("a0").published_us(256), Some(990.66));
        assert_eq!(of("a0").published_us(128), None);
        assert_eq!((of("b1").load.n(), of("b3").load.n(), of("b4_x8").load.n()), (2048, 100_000, 100_000));
        assert_eq!(of("c7").load, Load::Points(Sizes { points: 1 << 20, clusters: 16, coords: 1 }));
        assert_eq!(of("c7").published_us(128), Some(86.0));
        assert_eq!(of("c3_as_published").load, Load::Points(Sizes { points: 4093, clusters: 16, coords: 3 }));
    }

    #[test]
    fn integers_have_a_preset_of_their_own() {
        let options = Options { family: Families::One(Family::A), dtype: DType::I32, ..Options::default() };
        let (cases, notes) = cases(&options, false);
        assert_eq!(cases[0].load, Load::Elements { dtype: DType::I32, n: 1 << 22 });
        assert_eq!(cases[0].tuning.block, Some(128));
        assert!(!named(&cases).contains(&"a7_as_published") && notes[0].contains("a7_as_published"));
    }

    #[test]
    fn the_emulator_gets_what_it_can_manage() {
        let options = Options { n: Some(1 << 25), ..Options::default() };
        assert!(cases(&options, true).0.iter().all(|c| c.load.n() <= EMULATED));
        let (few, _) = cases(&Options { n: Some(1), ..Options::default() }, true);
        assert!(few.iter().all(|c| c.load.n() == if c.name.ends_with("_as_published") { PUBLISHED } else { 1 }));
        let (cases, _) = cases(&Options::default(), true);
        assert!(cases.iter().all(|c| c.load.n() <= EMULATED_DEFAULT));
        assert_eq!(named(&cases)[..3], ["a0", "a1", "a2"]);
    }

    #[test]
    fn a_block_that_a_rung_does_not_offer_leaves_it_out_and_says_so() {
        let options = Options { family: Families::One(Family::C), block: Some(512), ..Options::default() };
        let (cases, notes) = cases(&options, false);
        assert_eq!(named(&cases), ["c1", "c2", "c8"]);
        assert!(notes.iter().any(|n| n.contains("c3") && n.contains("512")), "{notes:?}");
    }
}
