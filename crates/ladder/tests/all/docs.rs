//! The generated docs.

use crate::fake;
use crate::generate;
use warpfold_ladder::docs::{Sources, ladder};

#[test]
fn the_committed_docs_are_what_the_examples_and_the_emulator_say() {
    let committed = std::fs::read_to_string(generate::root().join("docs/ladder.md")).expect("docs/ladder.md");
    let page = generate::page().expect("a page");
    let differs = committed.lines().zip(page.lines()).find(|(a, b)| a != b);
    assert!(committed == page, "run `cargo xtask docs`; the first difference: {differs:?}");
    // The lecture's own figures.
    for figure in ["left to right        0.0\n", "right to left        9.999999999999997e-20\n", "1000.0010\n"] {
        assert!(page.contains(figure), "{figure}");
    }
    assert!(page.contains("b0 73.9 %, b1 99.2 % at 2048 elements"));
}

#[test]
fn a_committed_record_fills_the_times() {
    let record = fake::gpu();
    let lecture = ["operations", "steps", "order", "half", "atomics"].map(|name| (name, name.to_owned()));
    let path = "bench/record/imaginary/2026-11-20/ladder-a.json".to_owned();
    let sources = Sources {
        emulated: record.clone(),
        committed: vec![(path, record)],
        profiles: Vec::new(),
        lecture: lecture.to_vec(),
    };
    let page = ladder(&sources).expect("a page");
    assert!(
        page.contains("| a0 | interleaved_modulo | 398.2 ± 2.0 % | 337 | 7.0 | 7.8 | 1.00 | 990.7 | 1.00 |"),
        "{page}"
    );
    assert!(page.contains("peak 4800 GB/s, a plain read reaches 4300 GB/s"), "{page}");
    assert!(!page.contains("No record from a GPU"));
    assert!(page.contains("speed-up over a0 | published µs | published speed-up over a0 |"), "{page}");
    assert!(page.contains("(https://developer.download.nvidia.com/"), "{page}");
}
