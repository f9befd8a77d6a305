//! `warpfold describe`

use std::io::{self, Write};

use warpfold::{DType, Description, Options, Values};

use super::{keyed, print, threads};
use crate::args::Describe;
use crate::error::{Failure, comma};
use crate::input;
use crate::output::Outputs;
use crate::source::Source;
use crate::watch::Watch;
use crate::{json, print as human};

/// Reads the array once, and prints its statistics.
pub fn run(args: &Describe) -> Result<(), Failure> {
    threads::check(args.place.threads, args.place.device)?;
    keyed::one_standard_input(&[("INPUT", Some(&args.input.input)), ("--where", args.mask.as_deref())])?;
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let array = source.array()?;
    let axes = warpfold::problem::normalize_axes(args.axes.list().as_deref(), array.shape().len())?;
    let mask = args.mask.as_deref().map(|mask| input::open(mask, None)).transpose()?;
    let inputs: Vec<&Source> = [&source].into_iter().chain(&mask).collect();
    let outputs = Outputs::texts(&[("-o", args.output.as_deref())], &inputs)?;
    let watch = Watch::new(inputs.iter().map(|source| &source.mapping).collect());
    let mask = mask.as_ref().map(Source::array).transpose()?;
    let description = watch.during(|progress| {
        let options = Options {
            axes: args.axes.list(),
            keepdims: args.axes.keepdims,
            skip_nan: args.skip_nan,
            mask,
            threads: args.place.threads.map(usize::from),
            progress: Some(progress),
            ..Options::default()
        };
        warpfold::describe_on(args.place.device, array, &options)
    })?;
    let about = About { dtype: array.dtype(), shape: array.shape(), axes: &axes };
    let mut said = Vec::new();
    let to = &mut said;
    let written = if args.json { as_json(&about, &description, to) } else { for_people(&about, &description, to) };
    written.expect("memory takes what is written");
    match args.output {
        Some(_) => outputs.write_texts(&[("-o", String::from_utf8_lossy(&said).into_owned())]),
        None => print(|to| to.write_all(&said)),
    }
}

/// The facts of the input.
struct About<'a> {
    dtype: DType,
    shape: &'a [usize],
    axes: &'a [usize],
}

/// Every statistic, in order, with its values if it has any.
fn stats(description: &Description) -> impl Iterator<Item = (&'static str, Option<&Values>)> {
    Description::NAMES.into_iter().map(|name| (name, description.get(name)))
}

fn for_people(about: &About<'_>, description: &Description, to: &mut impl Write) -> io::Result<()> {
    let name = |name: &str| format!("{name:<9}");
    writeln!(to, "{}  {}", name("dtype"), about.dtype)?;
    writeln!(to, "{}  ({})", name("shape"), comma(about.shape))?;
    if about.axes.len() < about.shape.len() {
        writeln!(to, "{}  ({})", name("axes"), comma(about.axes))?;
    }
    let counts = description.get("count").map(|counts| ("count", Some(counts)));
    if counts.is_none() {
        writeln!(to, "{}  {}", name("count"), description.count)?;
    }
    for (stat, values) in counts.into_iter().chain(stats(description)) {
        match values {
            None => writeln!(to, "{}  none", name(stat))?,
            Some(values) if description.shape.is_empty() => writeln!(to, "{}  {}", name(stat), values.get(0))?,
            Some(values) => {
                writeln!(to, "{stat}")?;
                human::array(to, &description.shape, values, false)?;
            }
        }
    }
    Ok(())
}

fn as_json(about: &About<'_>, description: &Description, to: &mut impl Write) -> io::Result<()> {
    let (dtype, shape) = (json::string(about.dtype.name()), json::list(about.shape));
    write!(to, "{{\"input\": {{\"dtype\": {dtype}, \"shape\": {shape}}}, \"axes\": {}, ", json::list(about.axes))?;
    write!(to, "\"shape\": {}, \"count\": ", json::list(&description.shape))?;
    match description.get("count") {
        Some(counts) => json::nested(to, &description.shape, counts, json::number)?,
        None => write!(to, "{}", description.count)?,
    }
    write!(to, ", \"stats\": {{")?;
    for (i, (stat, values)) in stats(description).enumerate() {
        write!(to, "{}{}: ", if i > 0 { ", " } else { "" }, json::string(stat))?;
        match values {
            None => write!(to, "null")?,
            Some(values) => json::nested(to, &description.shape, values, json::number)?,
        }
    }
    writeln!(to, "}}}}")
}
