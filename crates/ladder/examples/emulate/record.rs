//! A record made by the emulator.

use warpfold_emulator::Fault;
use warpfold_kernels::ladder::rungs;
use warpfold_kernels::ladder::{Family, Form, PRESETS, Rung};
use warpfold_ladder::record::{Counts, Device, Record, Run, Verdict};
use warpfold_ladder::{Ran, Sizes, Tuning};
use warpfold_ladder::{emulate_centroids, emulate_reduce};

/// Every rung that the emulator can run, at the published block sizes: family A at `n`, family B at no more than its
/// published sizes, family C at no more than 2^14 points, which take it as long. Published forms run at sizes that
/// bring their fault out.
pub fn emulated(n: usize) -> Record {
    let runs = rungs().iter().filter(|r| r.form != Form::Slot && r.family != Family::Reference);
    Record {
        version: 1,
        date: String::new(),
        command: format!("cargo run -p warpfold-ladder --example emulate -- {n}"),
        revision: None,
        device: Device::emulator(),
        rungs: runs.map(|rung| run(rung, n)).collect(),
    }
}

fn run(rung: &'static Rung, n: usize) -> Run {
    let preset = PRESETS.iter().find(|p| p.rungs.contains(&rung.name));
    let block = preset.map_or(rung.default_block, |p| p.block);
    // A tail that fills no block, and more than one coordinate: the published forms are wrong there.
    let wrong = rung.form == Form::AsPublished;
    let n = match preset {
        _ if wrong => n.min(2048) - 3,
        Some(preset) if rung.family == Family::B => n.min(preset.n as usize),
        _ if rung.family == Family::C => n.min(1 << 14),
        _ => n,
    };
    let tuning = Tuning { block: Some(block), coarsen: None };
    match rung.family {
        Family::C => centroids(rung, n, if wrong { 3 } else { 1 }, block, tuning),
        _ => {
            let data: Vec<f32> = (0..n as u64).map(uniform).collect();
            let ran = emulate_reduce(rung.name, &data, tuning).expect("a plan");
            let exact: f64 = data.iter().map(|&x| f64::from(x)).sum();
            let size: f64 = data.iter().map(|&x| f64::from(x.abs())).sum();
            let error = (f64::from(ran.result) - exact).abs();
            finish(rung, n, block, n * 4, &ran, error, size * n as f64)
        }
    }
}

fn centroids(rung: &'static Rung, n: usize, coords: u32, block: u32, tuning: Tuning) -> Run {
    let sizes = Sizes { points: n as u64, clusters: 16, coords };
    let points: Vec<f32> = (0..n as u64 * u64::from(coords)).map(uniform).collect();
    let labels: Vec<i32> = (0..n as u64).map(|i| (mix(i) >> 28 & 15) as i32).collect();
    let ran = emulate_centroids(rung.name, &points, &labels, sizes, tuning).expect("a plan");
    let mut error = 0.0f64;
    for cluster in 0..16 {
        let members = (0..n).filter(|&i| labels[i] == cluster as i32);
        error += (f64::from(ran.result.counts[cluster]) - members.clone().count() as f64).abs();
        for a in 0..coords as usize {
            let exact: f64 = members.clone().map(|i| f64::from(points[a * n + i])).sum();
            error += (f64::from(ran.result.sums[cluster * coords as usize + a]) - exact).abs();
        }
    }
    let size: f64 = points.iter().map(|&x| f64::from(x.abs())).sum();
    let bytes = n * 4 * (1 + coords as usize);
    let run = finish(rung, n, block, bytes, &ran, error, size * n as f64);
    Run { clusters: Some(16), coords: Some(coords), ..run }
}

/// Any order of adding n floats errs by less than n ulps of the sum of their sizes: `reach` is n times that sum.
fn finish<T>(rung: &'static Rung, n: usize, block: u32, bytes: usize, ran: &Ran<T>, error: f64, reach: f64) -> Run {
    let within = reach * f64::from(f32::EPSILON) / 2.0;
    let passed = error <= within;
    let comparison = if passed { "within" } else { "beyond" };
    Run {
        rung: rung.name.to_owned(),
        title: rung.title().to_owned(),
        family: format!("{:?}", rung.family).to_lowercase(),
        dtype: "f32".to_owned(),
        n: n as u64,
        block,
        clusters: None,
        coords: None,
        bytes: bytes as u64,
        launches: ran.launches.len() as u32,
        verdict: Verdict {
            passed,
            detail: format!("off by {error:.3e}, {comparison} n·u·Σ|x| = {within:.3e}"),
            faults: ran.faults.iter().map(Fault::to_string).collect(),
        },
        samples_ns: Vec::new(),
        cache: None,
        published_us: None,
        counters: Some(Counts::of(&ran.report, n as u64)),
    }
}

/// Mixes the bits of a number.
fn mix(i: u64) -> u64 {
    let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 27)
}

/// A number from 0 to 1.
fn uniform(i: u64) -> f32 {
    (mix(i) >> 40) as f32 / (1u64 << 24) as f32
}
