//! `warpfold reduce`

use std::io::{self, Write};
use std::time::{Duration, Instant};

use warpfold::cuda;
use warpfold::{Array, DeviceName, Op, Options, Plan};

use super::{print, threads};
use crate::args::Reduce;
use crate::error::Failure;
use crate::input;
use crate::output::Outputs;
use crate::source::Source;
use crate::watch::Watch;
use crate::{json, print as human};

/// Reduces, and prints the result.
pub fn run(args: &Reduce) -> Result<(), Failure> {
    check(args)?;
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let mask = args.how.mask.as_deref().map(|mask| input::open(mask, None)).transpose()?;
    let array = source.array()?;
    let mut options = Options {
        axes: args.axes.list(),
        keepdims: args.axes.keepdims,
        ..args.how.options(mask.as_ref().map(Source::array).transpose()?, args.place.threads)
    };
    let dtype = warpfold::explain(args.op, array, &options)?.result_dtype;
    options.initial = args.how.initial.map(|initial| initial.of("--initial", dtype)).transpose()?;
    let plan = warpfold::explain(args.op, array, &options)?;
    // An absent GPU is an error before anything is written.
    let gpu = match args.place.device {
        DeviceName::Cuda(index) => Some(cuda::shared(index).map_err(warpfold::Error::Cuda)?),
        _ => None,
    };
    let inputs: Vec<&Source> = [&source].into_iter().chain(&mask).collect();
    let outputs = Outputs::arrays(&[("-o", args.to.output.as_deref())], &inputs, args.json)?;
    if args.explain {
        complain(&match &gpu {
            Some(gpu) => cuda::explain(args.op, array, &options, Some(gpu.properties()))?.to_string(),
            None => plan.to_string(),
        });
    }
    let watch = Watch::new(inputs.iter().map(|source| &source.mapping).collect());
    let start = Instant::now();
    let result = watch.during(|progress| {
        let options = Options { progress: Some(progress), ..options };
        warpfold::reduce_on(args.place.device, args.op, array, &options)
    })?;
    let time = start.elapsed();
    outputs.write(&[("-o", &result)])?;
    if args.json {
        as_json(args, &plan, &result)?;
    } else if args.to.output.is_none() {
        for_people(args.op, &result, args.to.bits)?;
    }
    if args.time {
        complain(&speed(time, array.bytes()));
    }
    Ok(())
}

/// Checks what the library cannot.
fn check(args: &Reduce) -> Result<(), Failure> {
    threads::check(args.place.threads, args.place.device)?;
    if args.input.input == "-" && args.how.mask.as_deref() == Some("-".as_ref()) {
        return Err(Failure::Usage(
            "INPUT and --where cannot both be standard input: put one of them in a file".into(),
        ));
    }
    Ok(())
}

/// Prints to standard error, and ignores failures.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn speed(time: Duration, bytes: usize) -> String {
    let seconds = time.as_secs_f64();
    let rate = if seconds > 0.0 { bytes as f64 / seconds / 1e9 } else { 0.0 };
    format!("time {seconds:.6} s, {rate:.2} GB/s ({bytes} bytes read)")
}

fn for_people(op: Op, result: &Array, bits: bool) -> Result<(), Failure> {
    let Array { shape, values } = result;
    let element = |i| human::element(values.get(i), bits);
    print(|to| match (op, shape.as_slice()) {
        (_, []) => writeln!(to, "{}", element(0)),
        // The whole array is reduced: otherwise the shape would have another axis.
        (Op::MinMax, [2]) => writeln!(to, "{} {}", element(0), element(1)),
        _ => human::array(to, shape, values, bits),
    })
}

fn as_json(args: &Reduce, plan: &Plan, result: &Array) -> Result<(), Failure> {
    let Array { shape, values } = result;
    print(|to| {
        write!(to, "{{\"op\": {}, ", json::string(args.op.name()))?;
        let (dtype, input) = (json::string(plan.dtype.name()), json::list(&plan.shape));
        write!(to, "\"input\": {{\"dtype\": {dtype}, \"shape\": {input}}}, \"axes\": {}, ", json::list(&plan.axes))?;
        write!(to, "\"dtype\": {}, \"shape\": {}, ", json::string(result.dtype().name()), json::list(shape))?;
        if let Some(output) = &args.to.output {
            write!(to, "\"output\": {}", json::string(&output.to_string_lossy()))?;
            return writeln!(to, "}}");
        }
        write!(to, "\"{}\": ", if shape.is_empty() { "value" } else { "values" })?;
        json::nested(to, shape, values, json::number)?;
        if args.to.bits {
            write!(to, ", \"bits\": ")?;
            json::nested(to, shape, values, json::bits)?;
        }
        writeln!(to, "}}")
    })
}
