//! A record of an imaginary GPU with plausible numbers.

use crate::generate::emulated::emulated;
use warpfold_kernels::ladder::{PRESETS, rung, rungs};
use warpfold_ladder::record::{Device, Record, Run, Verdict};

/// Every rung timed at its published size, a3 failed, with the emulator's counters at a small one, and two yardsticks.
pub fn gpu() -> Record {
    let small = emulated(1 << 12);
    let mut runs = Vec::new();
    for preset in [PRESETS[0], PRESETS[2], PRESETS[3], PRESETS[4]] {
        for (step, name) in preset.rungs.iter().enumerate() {
            let entry = rung(name).expect("a rung");
            let words = 1 + preset.clusters_coords.map_or(0, |(_, coords)| u64::from(coords));
            let bytes = preset.n * 4 * words;
            let fastest = 5.0 + bytes as f64 / 4000.0 / 1000.0;
            let us = entry.published.micros.map_or(fastest, |us| fastest.max(us * 0.4)) * (1.0 - 0.01 * step as f64);
            runs.push(Run {
                rung: (*name).to_owned(),
                title: entry.title().to_owned(),
                family: format!("{:?}", entry.family).to_lowercase(),
                dtype: "f32".to_owned(),
                n: preset.n,
                block: preset.block,
                clusters: preset.clusters_coords.map(|(clusters, _)| clusters),
                coords: preset.clusters_coords.map(|(_, coords)| coords),
                bytes,
                launches: 2,
                verdict: Verdict {
                    passed: *name != "a3",
                    detail: "off by 1.2e-3, within n·u·Σ|x|".to_owned(),
                    faults: Vec::new(),
                },
                samples_ns: (0..51).map(|i| (us * (980.0 + f64::from(i * 16 % 51))) as u64).collect(),
                cache: Some("cold: 6 inputs in turn, 768 MiB > 50 MiB L2".to_owned()),
                published_us: entry.published.micros,
                counters: small.rungs.iter().find(|r| r.rung == *name).and_then(|r| r.counters.clone()),
            });
        }
    }
    let read =
        Run { rung: "read".to_owned(), title: "a plain read".to_owned(), family: String::new(), ..runs[8].clone() };
    runs.push(Run { published_us: None, counters: None, ..read });
    runs.extend(small.rungs.into_iter().filter(|r| r.rung.ends_with("_as_published")));
    Record {
        version: 1,
        date: "2026-11-20".to_owned(),
        command: "warpfold ladder --html ladder.html".to_owned(),
        revision: Some("0123abc".to_owned()),
        device: Device {
            kind: "cuda".to_owned(),
            name: "Imaginary <GPU> & Co".to_owned(),
            driver: Some("13.0".to_owned()),
            capability: Some("9.0".to_owned()),
            multiprocessors: Some(132),
            l2_bytes: Some(50 << 20),
            peak_gbs: Some(4800.0),
            read_gbs: Some(4300.0),
        },
        rungs: runs,
    }
}

/// Every rung that has a section of its own on the page of `record`.
pub fn names(record: &Record) -> Vec<&'static str> {
    let ran = |name: &str| record.rungs.iter().any(|r| r.rung == name);
    rungs()
        .iter()
        .map(|r| r.name)
        .filter(|name| ran(name) && !name.ends_with("_as_published") && *name != "read")
        .collect()
}
