//! A fixed list of operations on rows, on windows and on pairs of arrays, whose bits are kept for machines without a
//! GPU. `WARPFOLD_GOLDEN_ROWS_OUT=FILE` writes them.

use std::collections::BTreeSet;

use crate::golden::of_device;
use crate::golden_row_cases::{Given, cases, on_cpu, on_device, said};
use crate::gpu;
use warpfold::cuda::Stream;

#[test]
fn golden_rows_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let (all, mut golden) = (cases(), of_device(&gpu));
    let (mut wrong, mut kernels) = (Vec::new(), BTreeSet::new());
    for case in &all {
        let given = Given::new(case);
        let want = said(&on_cpu(case, &given));
        let (got, by) = on_device(case, &given, &stream);
        let got = said(&got);
        if got != want {
            wrong.push(format!("{case}: {got} by {}, not {want}", by.join(" + ")));
        }
        kernels.extend(by);
        golden.results.insert(case.to_string(), got);
    }
    println!("golden rows: {} cases, {} wrong, {} kernels", all.len(), wrong.len(), kernels.len());
    if let Some(path) = std::env::var_os("WARPFOLD_GOLDEN_ROWS_OUT") {
        std::fs::write(path, golden.json(&all)).expect("a file that can be written");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
