//! Launches rungs on a GPU and checks them, for sanitizers and profilers; `warpfold ladder` is for people.
//!
//!     ladder RUNG,RUNG…|all N[,N…]        every form of each rung, checked
//!     ladder RUNG,RUNG…|all N[,N…] once   the default form of each, a single run on random floats, unchecked

use std::process::ExitCode;
use warpfold::cuda;
use warpfold_kernels::ladder::{DType, Family, Form, Rung, rungs};
use warpfold_ladder::run::case::{Case, Load};
use warpfold_ladder::run::gpu::Gpu;
use warpfold_ladder::{Sizes, Tuning};

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        [rungs, lengths] => launch(rungs, lengths, false),
        [rungs, lengths, "once"] => launch(rungs, lengths, true),
        _ => Err("ladder RUNG,RUNG…|all N[,N…] [once]".into()),
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

/// Whether every result was right. `once`: a single run of each rung, on the input that rounds, unchecked.
fn launch(names: &str, lengths: &str, once: bool) -> Result<bool, Error> {
    let asked = |r: &&Rung| names == "all" || names.split(',').any(|name| name == r.name);
    let chosen: Vec<&Rung> =
        rungs().iter().filter(|r| r.form == Form::Sound && r.family != Family::Reference).filter(asked).collect();
    if chosen.is_empty() {
        return Err(format!("no rung of {names} can be launched").into());
    }
    let mut gpu = Gpu::new(&cuda::open(0)?)?;
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

/// The rung in its default form or, without `once`, in every form that is compiled separately.
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
