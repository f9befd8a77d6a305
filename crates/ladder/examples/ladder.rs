//! The ladder without the command line of `warpfold`, for machines that have a GPU and nothing else:
//!
//!     ladder record FILE.json [--emulator] [family] [n] [f32|i32] [block]   run, check, time, write the record
//!     ladder launch RUNG,RUNG…|all N[,N…] [once]                            launch and check, for profilers and sanitizers

use std::process::ExitCode;
use warpfold::cuda::Device;
use warpfold_device::ladder::{DType, Family, Form, Rung, Sizes, Tuning, rungs};
use warpfold_ladder::run::case::{Case, Load};
use warpfold_ladder::run::gpu::Gpu;
use warpfold_ladder::run::{Families, Options, Target, choose, is_as_expected, run};

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["record", file, ref rest @ ..] => record(file, rest),
        ["launch", rungs, lengths] => launch(rungs, lengths, false),
        ["launch", rungs, lengths, "once"] => launch(rungs, lengths, true),
        _ => {
            Err("ladder record FILE.json [--emulator] [FAMILY] [N] [f32|i32] [BLOCK] | ladder launch RUNGS N [once]"
                .into())
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every row is as expected.
fn record(file: &str, rest: &[&str]) -> Result<bool, Error> {
    let emulator = rest.first() == Some(&"--emulator");
    let mut rest = rest.iter().skip(usize::from(emulator));
    let mut options = Options {
        command: std::env::args()
            .map(|a| a.rsplit('/').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
            .join(" "),
        revision: std::env::var("WARPFOLD_REVISION").ok().filter(|r| !r.is_empty()),
        ..Options::default()
    };
    options.family = match rest.next() {
        Some(&"a") => Families::One(Family::A),
        Some(&"b") => Families::One(Family::B),
        Some(&"c") => Families::One(Family::C),
        _ => Families::All,
    };
    options.n = rest.next().and_then(|n| n.parse().ok()).filter(|&n| n > 0);
    options.dtype = if rest.next() == Some(&"i32") { DType::I32 } else { DType::F32 };
    options.block = rest.next().and_then(|b| b.parse().ok());
    let chosen = choose(if emulator { Target::Emulator } else { Target::Cuda(0) })?;
    let outcome = run(&options, &chosen, |run| {
        let mut samples = run.samples_ns.clone();
        samples.sort_unstable();
        let micros = samples.get(samples.len() / 2).map_or(f64::NAN, |&ns| ns as f64 / 1e3);
        let (gbs, word) = (run.bytes as f64 / micros / 1e3, if is_as_expected(run) { "ok" } else { "FAILED" });
        println!("{word:<6} {:<16} {:>10} {micros:>10.2} us {gbs:>8.1} GB/s  {}", run.rung, run.n, run.verdict.detail);
    })?;
    outcome.notes.iter().for_each(|note| println!("{note}"));
    println!("{:?}", outcome.record.device);
    std::fs::write(file, serde_json::to_string_pretty(&outcome.record)? + "\n")?;
    Ok(outcome.record.rungs.iter().all(is_as_expected))
}

/// Whether every result was right. `once`: a single run of each rung, on the input that rounds, unchecked.
fn launch(names: &str, lengths: &str, once: bool) -> Result<bool, Error> {
    let asked = |r: &&Rung| names == "all" || names.split(',').any(|name| name == r.name);
    let chosen: Vec<&Rung> =
        rungs().iter().filter(|r| r.form == Form::Sound && r.family != Family::Reference).filter(asked).collect();
    if chosen.is_empty() {
        return Err(format!("no rung of {names} can be launched").into());
    }
    let mut gpu = Gpu::new(&Device::open(0)?)?;
    let (mut done, mut wrong) = (0, 0);
    for n in lengths.split(',') {
        let n: u64 = n.parse()?;
        for rung in &chosen {
            for case in variants(rung, n, once) {
                done += 1;
                if once {
                    gpu.bits(&case)?;
                    continue;
                }
                for said in gpu.check(&case)? {
                    if let Err(why) = said {
                        wrong += 1;
                        println!("FAILED {} {:?} {:?}: {why}", case.name, case.load, case.tuning);
                    }
                }
            }
        }
    }
    println!("{done} cases launched, {wrong} wrong");
    Ok(wrong == 0)
}

/// The rung in its default form or, unless it is to be profiled, in every form that is compiled differently.
fn variants(rung: &'static Rung, n: u64, once: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let blocks: Vec<Option<u32>> = match once {
        true => vec![None],
        false => rung.blocks.iter().map(|&b| Some(b)).collect(),
    };
    let coarsenings: Vec<Option<u32>> = match rung.coarsenings {
        [] => vec![None],
        some => some.iter().map(|&c| Some(c)).collect(),
    };
    let loads = match rung.family {
        Family::C => [1, 3].map(|coords| Load::Points(Sizes { points: n, clusters: 16, coords })),
        _ => [DType::F32, DType::I32].map(|dtype| Load::Elements { dtype, n }),
    };
    for load in loads.into_iter().take(if once { 1 } else { 2 }) {
        for &block in &blocks {
            for &coarsen in coarsenings.iter().take(if once { 1 } else { usize::MAX }) {
                cases.push(Case::new(rung, load, Tuning { block, coarsen }));
            }
        }
    }
    cases
}
