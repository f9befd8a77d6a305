//! `warpfold histogram`

use std::io::Write;

use warpfold::{ArrayRef, Bins, DType, Op, Options, histogram_on};

use super::{keyed, print, threads};
use crate::args::Histogram;
use crate::error::Failure;
use crate::input;
use crate::json;
use crate::output::Outputs;
use crate::source::Source;

/// Counts elements, and prints a line for each bin.
pub fn run(args: &Histogram) -> Result<(), Failure> {
    let (edges, weights) = (args.edges.as_deref(), args.weights.as_deref());
    keyed::one_standard_input(&[("INPUT", Some(&args.input.input)), ("--edges", edges), ("--weights", weights)])?;
    threads::check(args.place.threads, args.place.device)?;
    threads::limit(args.place.threads)?;
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let edges = edges.map(|name| input::open(name, None)).transpose()?;
    let weights = weights.map(|name| input::open(name, None)).transpose()?;
    let bins = match &edges {
        Some(edges) => Bins::Edges(numbers(edges.array()?)?),
        None => Bins::Uniform { bins: args.bins, range: args.range.map(|range| (range.0, range.1)) },
    };
    let array = source.array()?;
    let inputs: Vec<&Source> = [&source].into_iter().chain(&edges).chain(&weights).collect();
    let outputs = Outputs::arrays(&[("-o", args.output.as_deref())], &inputs, args.json)?;
    let weights = weights.as_ref().map(Source::array).transpose()?;
    let found = histogram_on(args.place.device, array, &bins, weights)?;
    let quiet = !outputs.is_empty();
    outputs.write(&[("-o", &found.counts)])?;
    let (counts, edges) = (&found.counts.values, &found.edges.values);
    if args.json {
        return print(|to| {
            write!(to, "{{{}, \"edges\": ", keyed::about(&array))?;
            json::nested(to, &found.edges.shape, edges, json::number)?;
            write!(to, ", \"dtype\": {}, \"counts\": ", json::string(counts.dtype().name()))?;
            json::nested(to, &found.counts.shape, counts, json::number)?;
            writeln!(to, "}}")
        });
    }
    if quiet {
        return Ok(());
    }
    print(|to| {
        for bin in 0..counts.len() {
            writeln!(to, "{} {} {}", edges.get(bin), edges.get(bin + 1), counts.get(bin))?;
        }
        Ok(())
    })
}

/// The numbers along the only axis of an array, as f64.
fn numbers(array: ArrayRef<'_>) -> Result<Vec<f64>, Failure> {
    if array.shape().len() != 1 {
        return Err(Failure::Usage(format!("--edges must have one axis, not shape {:?}", array.shape())));
    }
    // A sum over no axis is a copy.
    let options = Options { axes: Some(vec![]), dtype: Some(DType::F64), ..Options::default() };
    let copy = warpfold::reduce(Op::Sum, array, &options)?;
    Ok((0..copy.values.len()).map(|i| copy.values.get(i).to_f64()).collect())
}
