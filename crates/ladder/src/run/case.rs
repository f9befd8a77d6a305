//! The cases of a run: rungs with their workloads.

use super::options::Options;
use crate::plan::{Plan, PlanError, Sizes, Tuning};
use crate::program::Work;
use std::sync::LazyLock;
use warpfold_kernels::ladder::{DType, Family, Form, PRESETS, Preset, Rung, rungs};

/// One rung on one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The name, such as `a0`, `b4_x8`, `read`.
    pub name: String,
    /// The rung.
    pub rung: &'static str,
    /// The workload.
    pub load: Load,
    /// The parameters that the rung leaves open.
    pub tuning: Tuning,
}

/// The workload of a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Elements to sum.
    Elements {
        /// The dtype of the elements.
        dtype: DType,
        /// The number of elements.
        n: u64,
    },
    /// Points to add up by cluster.
    Points(Sizes),
    /// Words to read.
    Words(u64),
}

impl Load {
    /// The number of elements, points or words.
    pub fn n(self) -> u64 {
        match self {
            Load::Elements { n, .. } | Load::Words(n) => n,
            Load::Points(sizes) => sizes.points,
        }
    }

    /// The same workload, but with `n` elements, points or words.
    pub fn with_n(self, n: u64) -> Load {
        match self {
            Load::Elements { dtype, .. } => Load::Elements { dtype, n },
            Load::Words(_) => Load::Words(n),
            Load::Points(sizes) => Load::Points(Sizes { points: n, ..sizes }),
        }
    }

    /// The dtype: `f32` or `i32`.
    pub fn dtype(self) -> DType {
        match self {
            Load::Elements { dtype, .. } => dtype,
            _ => DType::F32,
        }
    }

    /// The number of 4-byte words that have to be read.
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

    /// Whether the library plans the case, and not the ladder.
    pub fn is_production(&self) -> bool {
        is_production(self.entry())
    }

    /// The program of the case, for a GPU.
    pub fn work(&self) -> Work<'_> {
        let (rung, tuning) = (self.rung, self.tuning);
        match self.load {
            Load::Elements { dtype, n } => Work::Reduce { rung, dtype, n, tuning },
            Load::Points(sizes) => Work::Centroids { rung, sizes, tuning },
            Load::Words(n) => Work::Read { n },
        }
    }

    /// The launches of the case.
    ///
    /// # Errors
    /// If it is not offered.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        self.work().plan()
    }

    /// The registry's entry.
    pub fn entry(&self) -> &'static Rung {
        warpfold_kernels::ladder::rung(self.rung).expect("cases are made of rungs")
    }

    /// The published time, if the case has the published workload.
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

/// The greatest number of elements or points in the emulator.
pub const EMULATED: u64 = 1 << 20;
/// The greatest number of words in the emulator.
pub const EMULATED_WORDS: u64 = 1 << 24;
/// The size of published forms, which brings their faults out: several blocks, the last one not full.
pub const PUBLISHED: u64 = 4096 - 3;
/// The least number of coordinates for published forms: with one or two, some are right by luck.
pub const PUBLISHED_COORDS: u32 = 3;

/// The default size of a workload in the emulator. There are enough elements for more than two per thread in the rungs
/// with a limited number of blocks, from a6 on: with fewer, a6 does the same as a5.
pub fn emulated(load: Load) -> u64 {
    match load {
        Load::Points(sizes) => (1 << 16).min(EMULATED_WORDS / (u64::from(sizes.coords) + 1)),
        _ => EMULATED,
    }
}

/// The cases that the options ask for, and notes on what cannot be run.
pub fn cases(options: &Options, is_emulated: bool) -> (Vec<Case>, Vec<String>) {
    let (mut cases, mut left_out) = (Vec::new(), Vec::new());
    let dtype = options.dtype.unwrap_or(DType::F32);
    for rung in chosen(options) {
        let preset = preset(rung, dtype);
        let is_wrong = rung.form == Form::AsPublished;
        let mut load = match preset.clusters_coords {
            Some((clusters, coords)) => Load::Points(Sizes {
                points: preset.n,
                clusters: options.clusters.unwrap_or(clusters).max(1),
                coords: options.coords.unwrap_or(coords).max(if is_wrong { PUBLISHED_COORDS } else { 1 }),
            }),
            None => Load::Elements { dtype, n: preset.n },
        };
        load = load.with_n(match options.n {
            _ if is_wrong => PUBLISHED,
            Some(n) => n,
            None if is_emulated => preset.n.min(emulated(load)),
            None => preset.n,
        });
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
            if options.rungs.as_ref().is_some_and(|names| !names.contains(&case.name) && !is_named(names, rung)) {
                continue;
            }
            match case.plan() {
                Ok(_) => cases.push(case),
                Err(why) => left_out.push((case.name, why)),
            }
        }
    }
    (cases, notes(left_out))
}

/// The known names: rungs and their variants.
pub fn names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let mut names = Vec::new();
        for rung in rungs().iter().filter(|rung| is_there(rung)) {
            names.push(rung.name.to_owned());
            names.extend(rung.coarsenings.iter().skip(1).map(|c| format!("{}_x{c}", rung.name)));
        }
        names
    });
    &NAMES
}

/// The rungs that the options name, directly or by a variant, or else those of the family.
pub fn chosen(options: &Options) -> impl Iterator<Item = &'static Rung> {
    let asked = |rung: &&Rung| match &options.rungs {
        Some(names) => {
            let variant = format!("{}_x", rung.name);
            is_named(names, rung) || names.iter().any(|name| name.starts_with(&variant))
        }
        None => options.family.has(rung.family),
    };
    rungs().iter().filter(asked).filter(|rung| is_there(rung))
}

fn is_named(names: &[String], rung: &Rung) -> bool {
    names.iter().any(|name| name == rung.name)
}

fn is_there(rung: &Rung) -> bool {
    is_planned(rung) || is_production(rung)
}

/// The notes on rungs that were left out, one for each reason.
fn notes(left_out: Vec<(String, PlanError)>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (name, why) in left_out {
        let reason = match why {
            PlanError::Choice { what, chosen, offered, .. } => {
                format!("not offered with {what} {chosen}; choose from {offered:?}")
            }
            PlanError::DType(_, dtype) => format!("not offered for {}", format!("{dtype:?}").to_lowercase()),
            other => other.to_string(),
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    reasons.into_iter().map(|(reason, names)| format!("left out: {}: {reason}", names.join(", "))).collect()
}

/// Whether the ladder itself has a plan for it.
fn is_planned(rung: &Rung) -> bool {
    rung.form != Form::Slot && rung.family != Family::Reference
}

/// Whether the library has a plan for it.
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

#[cfg(test)]
mod tests {
    use super::super::options::Families;
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
        let options = Options { family: Families::One(Family::A), dtype: Some(DType::I32), ..Options::default() };
        let (cases, notes) = cases(&options, false);
        assert_eq!(cases[0].load, Load::Elements { dtype: DType::I32, n: 1 << 22 });
        assert_eq!(cases[0].tuning.block, Some(128));
        assert!(!named(&cases).contains(&"a7_as_published") && notes[0].contains("a7_as_published"));
    }

    #[test]
    fn the_emulator_gets_what_it_can_manage() {
        let (few, _) = cases(&Options { n: Some(1), ..Options::default() }, true);
        assert!(few.iter().all(|c| c.load.n() == if c.name.ends_with("_as_published") { PUBLISHED } else { 1 }));
        let many = Options { coords: Some(2000), clusters: Some(1), ..Options::default() };
        for options in [Options::default(), many] {
            let (cases, _) = cases(&options, true);
            assert!(cases.iter().all(|c| c.load.n() <= EMULATED && c.load.words() <= EMULATED_WORDS));
            assert_eq!(named(&cases)[..3], ["a0", "a1", "a2"]);
        }
    }

    #[test]
    fn the_emulator_is_given_enough_that_a5_and_a6_differ() {
        let (cases, _) = cases(&Options::default(), true);
        let grids = |name: &str| -> Vec<u32> {
            let case = cases.iter().find(|c| c.name == name).expect(name);
            case.plan().expect("a plan").launches().map(|launch| launch.grid).collect()
        };
        assert_eq!((grids("a5")[0], grids("a6")[0]), (2048, 1024));
    }

    #[test]
    fn a_variant_can_be_asked_for_by_its_name() {
        let of = |rungs: &[&str]| Options {
            rungs: Some(rungs.iter().map(|&r| r.to_owned()).collect()),
            ..Options::default()
        };
        assert_eq!(named(&cases(&of(&["b4_x8", "a0"]), true).0), ["a0", "b4_x8"]);
        assert_eq!(named(&cases(&of(&["b4"]), true).0), ["b4", "b4_x4", "b4_x8"]);
        let names = names();
        assert!(["a9", "b4_x4", "c7_as_published"].iter().all(|name| names.iter().any(|n| n == name)));
        assert!(!names.iter().any(|name| name == "read"));
    }

    #[test]
    fn a_block_that_a_rung_does_not_offer_leaves_it_out_and_says_so() {
        let options = Options { family: Families::One(Family::C), block: Some(512), ..Options::default() };
        let (cases, notes) = cases(&options, false);
        assert_eq!(named(&cases), ["c1", "c2", "c8"]);
        assert_eq!(
            notes,
            ["left out: c3, c4, c5, c6, c7, c1_as_published, c3_as_published, c7_as_published: not offered with a \
                 block of 512; choose from [128, 256]"]
        );
    }
}
