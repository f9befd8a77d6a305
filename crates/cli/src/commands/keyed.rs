//! The common part of `segments` and `group`.

use std::ffi::OsStr;
use std::io::Write;

use warpfold::{Array, ArrayRef, Op, Options, Scalar};

use super::print;
use crate::args::Keyed;
use crate::error::Failure;
use crate::input;
use crate::output::Outputs;
use crate::source::Source;
use crate::watch::Watch;
use crate::{json, print as human};

/// Checks the options, reduces with `reduce`, and prints the result.
pub fn run(
    name: &str,
    op: Option<Op>,
    args: &Keyed,
    source: &Source,
    keys: &Source,
    reduce: impl FnOnce(ArrayRef<'_>, ArrayRef<'_>, &Options<'_>, Option<Scalar>) -> Result<Array, warpfold::Error>,
) -> Result<(), Failure> {
    let mask = args.how.mask.as_deref().map(|mask| input::open(mask, None)).transpose()?;
    let array = source.array()?;
    let mut options = args.how.options(mask.as_ref().map(Source::array).transpose()?, args.threads);
    let result = match op {
        Some(op) => warpfold::explain(op, array, &options)?.result_dtype,
        None => array.dtype(),
    };
    options.initial = args.how.initial.map(|initial| initial.of("--initial", result)).transpose()?;
    let fill = args.fill.map(|fill| fill.of("--fill", result)).transpose()?;
    let inputs: Vec<&Source> = [source, keys].into_iter().chain(&mask).collect();
    let outputs = Outputs::arrays(&[("-o", args.to.output.as_deref())], &inputs, args.json)?;
    let watch = Watch::new(inputs.iter().map(|source| &source.mapping).collect());
    let result = watch.during(|progress| {
        let options = Options { progress: Some(progress), ..options };
        reduce(array, keys.array()?, &options, fill)
    })?;
    outputs.write(&[("-o", &result)])?;
    if args.json {
        return as_json(name, args, &array, &result);
    }
    if args.to.output.is_none() {
        return print(|to| human::array(to, &result.shape, &result.values, args.to.bits));
    }
    Ok(())
}

fn as_json(name: &str, args: &Keyed, input: &ArrayRef<'_>, result: &Array) -> Result<(), Failure> {
    let Array { shape, values } = result;
    print(|to| {
        write!(to, "{{\"op\": {}, {}, ", json::string(name), about(input))?;
        write!(to, "\"dtype\": {}, \"shape\": {}, ", json::string(result.dtype().name()), json::list(shape))?;
        if let Some(output) = &args.to.output {
            return writeln!(to, "\"output\": {}}}", json::string(&output.to_string_lossy()));
        }
        write!(to, "\"values\": ")?;
        json::nested(to, shape, values, json::number)?;
        if args.to.bits {
            write!(to, ", \"bits\": ")?;
            json::nested(to, shape, values, json::bits)?;
        }
        writeln!(to, "}}")
    })
}

/// The input's dtype and shape, as an entry of a JSON object.
pub fn about(input: &ArrayRef<'_>) -> String {
    let (dtype, shape) = (json::string(input.dtype().name()), json::list(input.shape()));
    format!("\"input\": {{\"dtype\": {dtype}, \"shape\": {shape}}}")
}

/// Refuses two inputs that are both standard input.
pub fn one_standard_input(inputs: &[(&str, Option<&OsStr>)]) -> Result<(), Failure> {
    let names: Vec<&str> =
        inputs.iter().filter(|(_, input)| input.is_some_and(|input| input == "-")).map(|(name, _)| *name).collect();
    match names.as_slice() {
        [] | [_] => Ok(()),
        [names @ .., last] => {
            let names = names.join(", ");
            let why = format!("{names} and {last} cannot both be standard input: put one of them in a file");
            Err(Failure::Usage(why))
        }
    }
}
