//! `warpfold softmax`, `log-softmax` and `normalize`

use std::ffi::OsStr;

use warpfold::{Array, ArrayRef, layer_norm_on, log_softmax_on, rms_norm_on, rows, softmax_on};

use super::{keyed, print, threads};
use crate::args::{Norm, Normalize, Rows, Softmax};
use crate::error::Failure;
use crate::input;
use crate::output::Outputs;
use crate::print as human;
use crate::source::Source;

/// The softmax of each row, or its logarithm.
pub fn softmax(args: &Softmax, log: bool) -> Result<(), Failure> {
    let &Softmax { ref rows, scale, ref mask } = args;
    let threads = rows.place.threads.map(usize::from);
    run(rows, [("--where", mask.as_deref())], |x, [mask]| {
        let op = if log { log_softmax_on } else { softmax_on };
        op(rows.place.device, x, rows.axes(), &rows::Softmax { scale, mask, threads })
    })
}

/// The norm of each row.
pub fn normalize(args: &Normalize) -> Result<(), Failure> {
    let &Normalize { ref rows, by, ref weight, ref bias, epsilon } = args;
    let threads = rows.place.threads.map(usize::from);
    run(rows, [("--weight", weight.as_deref()), ("--bias", bias.as_deref())], |x, [weight, bias]| {
        let options = rows::Norm { weight, bias, epsilon, threads, ..rows::Norm::default() };
        let op = match by {
            Norm::Rms => rms_norm_on,
            Norm::Layer => layer_norm_on,
        };
        op(rows.place.device, x, rows.axes(), &options)
    })
}

/// Reads the arrays, computes, and writes or prints the result.
fn run<const N: usize>(
    args: &Rows,
    others: [(&'static str, Option<&OsStr>); N],
    compute: impl FnOnce(ArrayRef<'_>, [Option<ArrayRef<'_>>; N]) -> Result<Array, warpfold::Error>,
) -> Result<(), Failure> {
    threads::check(args.place.threads, args.place.device)?;
    threads::limit(args.place.threads)?;
    let named: Vec<_> = [("INPUT", Some(args.input.input.as_os_str()))].into_iter().chain(others).collect();
    keyed::one_standard_input(&named)?;
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let mut opened = [const { None }; N];
    for (opened, (_, name)) in opened.iter_mut().zip(others) {
        *opened = name.map(|name| input::open(name, None)).transpose()?;
    }
    let mut arrays = [None; N];
    for (array, source) in arrays.iter_mut().zip(&opened) {
        *array = source.as_ref().map(Source::array).transpose()?;
    }
    let inputs: Vec<&Source> = [&source].into_iter().chain(opened.iter().flatten()).collect();
    let outputs = Outputs::arrays(&[("-o", args.to.output.as_deref())], &inputs, false)?;
    let result = compute(source.array()?, arrays)?;
    outputs.write(&[("-o", &result)])?;
    if args.to.output.is_some() {
        return Ok(());
    }
    print(|to| human::array(to, &result.shape, &result.values, args.to.bits))
}
