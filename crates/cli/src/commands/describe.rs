//! `warpfold describe`

use std::io::Write;

use warpfold::{DType, Description, Options};

use super::print;
use crate::args::Describe;
use crate::error::{Failure, comma};
use crate::input;
use crate::watch::Watch;
use crate::{json, print as human};

/// Reads the array once, and prints what it holds.
pub fn run(args: &Describe) -> Result<(), Failure> {
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let array = source.array()?;
    let axes = warpfold::problem::normalize_axes(args.axes.list().as_deref(), array.shape().len())?;
    let watch = Watch::new(vec![&source.mapping]);
    let description = watch.during(|progress| {
        let options = Options {
            axes: args.axes.list(),
            keepdims: args.axes.keepdims,
            threads: args.threads.map(usize::from),
            progress: Some(progress),
            ..Options::default()
        };
        warpfold::describe_on(args.device, array, &options)
    })?;
    let about = About { dtype: array.dtype(), shape: array.shape(), axes: &axes };
    if args.json { as_json(&about, &description) } else { for_people(&about, &description) }
}

/// Of the input.
struct About<'a> {
    dtype: DType,
    shape: &'a [usize],
    axes: &'a [usize],
}

fn for_people(about: &About<'_>, description: &Description) -> Result<(), Failure> {
    let name = |name: &str| format!("{name:<9}");
    print(|to| {
        writeln!(to, "{}  {}", name("dtype"), about.dtype)?;
        writeln!(to, "{}  ({})", name("shape"), comma(about.shape))?;
        if about.axes.len() < about.shape.len() {
            writeln!(to, "{}  ({})", name("axes"), comma(about.axes))?;
        }
        writeln!(to, "{}  {}", name("count"), description.count)?;
        for (stat, values) in &description.stats {
            if description.shape.is_empty() {
                writeln!(to, "{}  {}", name(stat), values.get(0))?;
            } else {
                writeln!(to, "{stat}")?;
                human::array(to, &description.shape, values, false)?;
            }
        }
        Ok(())
    })
}

fn as_json(about: &About<'_>, description: &Description) -> Result<(), Failure> {
    print(|to| {
        let (dtype, shape) = (json::string(about.dtype.name()), json::list(about.shape));
        write!(to, "{{\"input\": {{\"dtype\": {dtype}, \"shape\": {shape}}}, \"axes\": {}, ", json::list(about.axes))?;
        write!(to, "\"shape\": {}, \"count\": {}, ", json::list(&description.shape), description.count)?;
        write!(to, "\"stats\": {{")?;
        for (i, (stat, values)) in description.stats.iter().enumerate() {
            write!(to, "{}{}: ", if i > 0 { ", " } else { "" }, json::string(stat))?;
            json::nested(to, &description.shape, values, json::number)?;
        }
        writeln!(to, "}}}}")
    })
}
