//! A fixed list of reductions, whose bits are kept for machines without a GPU. `WARPFOLD_GOLDEN_OUT=FILE` writes them;
//! `WARPFOLD_GPU_CASES=120` takes only so many, from all over the list.

use std::collections::BTreeSet;

use crate::golden_cases::{Case, Golden, cases, said};
use crate::{device_options, gpu, soak::number};
use warpfold::cuda::{ArrayView, Buffer, Device, Driver, Reduction, Stream};
use warpfold::{DType, reduce};

/// The result, and by which kernels.
fn on_gpu(device: &Device, stream: &Stream, case: &Case) -> (Result<warpfold::Array, warpfold::Error>, Vec<String>) {
    let (data, mut kernels) = (case.data(), Vec::new());
    let mut attempt = || {
        let array = Buffer::upload(stream, &data.bytes)?;
        // SAFETY: the buffer has the bytes of the host's array, whose strides stay within them, and outlives the run.
        let x = unsafe { ArrayView::from_raw(0, array.address(), case.dtype, case.shape, &case.strides()) }?;
        let bytes: Option<Vec<u8>> = data.mask.as_ref().map(|mask| mask.iter().map(|&m| m.into()).collect());
        let buffer = bytes.map(|bytes| Buffer::upload(stream, &bytes)).transpose()?;
        let after = |axis: usize| case.shape[axis + 1..].iter().product::<usize>() as isize;
        let strides: Vec<isize> = (0..case.shape.len()).map(after).collect();
        // SAFETY: the buffer has a byte for each element, 0 or 1, and outlives the run.
        let view = |b: &Buffer<u8>| unsafe { ArrayView::from_raw(0, b.address(), DType::Bool, case.shape, &strides) };
        let mask = buffer.as_ref().map(view).transpose()?;
        let o = case.options(&data);
        let options = device_options(&o, mask);
        let reduction = Reduction::new(device, case.op, &x, &options)?;
        kernels.extend(reduction.kernels().iter().map(|name| name.to_string()));
        reduction.run_to_host(stream, x, mask)
    };
    let result = attempt();
    (result, kernels)
}

/// A file for the results of a GPU.
pub fn of_device(gpu: &Device) -> Golden {
    let driver = Driver::load().expect("a driver").version();
    Golden {
        device: gpu.properties().name.clone(),
        driver: format!("for CUDA {}.{}", driver.0, driver.1),
        revision: std::env::var("WARPFOLD_REVISION").unwrap_or_default(),
        results: Default::default(),
    }
}

#[test]
fn golden_results_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let all = cases();
    let many = number("WARPFOLD_GPU_CASES").map_or(all.len(), |n| (n as usize).clamp(1, all.len()));
    let mut golden = of_device(&gpu);
    let (mut wrong, mut kernels) = (Vec::new(), BTreeSet::new());
    for case in (0..many).map(|i| &all[i * all.len() / many]) {
        let data = case.data();
        let want = said(reduce(case.op, case.array(&data), &case.options(&data)));
        let (got, by) = on_gpu(&gpu, &stream, case);
        let got = said(got);
        if got != want {
            wrong.push(format!("{case}: {got:?} by {}, not {want:?}", by.join(" + ")));
        }
        kernels.extend(by);
        golden.results.extend(got.map(|bits| (case.to_string(), bits)));
    }
    println!("golden: {many} cases, {} wrong, {} kernels", wrong.len(), kernels.len());
    if let Some(path) = std::env::var_os("WARPFOLD_GOLDEN_OUT").filter(|_| many == all.len()) {
        std::fs::write(path, golden.json(&all)).expect("a file that can be written");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
