//! `warpfold unique`

use std::io::Write;

use warpfold::{Array, Distinct, Values, unique_on};

use super::{keyed, print, threads};
use crate::args::Unique;
use crate::error::Failure;
use crate::input;
use crate::json;
use crate::output::Outputs;

/// Finds the distinct values and their counts, and prints them.
pub fn run(args: &Unique) -> Result<(), Failure> {
    threads::check(args.place.threads, args.place.device)?;
    threads::limit(args.place.threads)?;
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let array = source.array()?;
    let paths = [("-o", &args.output), ("--counts", &args.counts), ("--inverse", &args.inverse)];
    let paths = paths.map(|(option, path)| (option, path.as_deref()));
    let outputs = Outputs::arrays(&paths, &[&source], args.json)?;
    let quiet = !outputs.is_empty();
    let what = Distinct { first: args.first, inverse: args.inverse.is_some() };
    let found = unique_on(args.place.device, array, what)?;
    let n = found.counts.len();
    let counts = || Array { shape: vec![n], values: Values::I64(found.counts.clone()) };
    let counts = args.counts.as_ref().map(|_| counts());
    let mut arrays = vec![("-o", &found.values)];
    arrays.extend(counts.iter().map(|counts| ("--counts", counts)));
    arrays.extend(found.inverse.iter().map(|inverse| ("--inverse", inverse)));
    outputs.write(&arrays)?;
    let values = &found.values.values;
    if args.json {
        return print(|to| {
            write!(to, "{{{}, \"dtype\": {}, ", keyed::about(&array), json::string(values.dtype().name()))?;
            write!(to, "\"values\": ")?;
            json::nested(to, &[n], values, json::number)?;
            write!(to, ", \"counts\": {:?}", found.counts)?;
            if let Some(first) = &found.first {
                write!(to, ", \"first\": {first:?}")?;
            }
            writeln!(to, "}}")
        });
    }
    if quiet {
        return Ok(());
    }
    print(|to| {
        for (i, count) in found.counts.iter().enumerate() {
            write!(to, "{} {count}", values.get(i))?;
            match &found.first {
                Some(first) => writeln!(to, " {}", first[i])?,
                None => writeln!(to)?,
            }
        }
        Ok(())
    })
}
