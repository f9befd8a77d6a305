//! `warpfold kmeans`

use std::io::Write;

use warpfold::keys::{Axes, Fit, Init, Step};
use warpfold::{Array, ArrayRef, DType, Op, Options, Points, Values};

use super::{keyed, print, threads};
use crate::args::{First, KMeans};
use crate::error::Failure;
use crate::input;
use crate::json;
use crate::output::Output;

/// Finds clusters, and says what came out.
pub fn run(args: &KMeans) -> Result<(), Failure> {
    threads::check(args.threads, args.device)?;
    check(args)?;
    let first = match &args.init {
        First::File(name) => Some(name.as_str()),
        _ => None,
    };
    keyed::one_standard_input(&[("INPUT", Some(&args.input.input)), ("--init", first)])?;
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let array = source.array()?;
    let axes = if args.columns { Axes::CoordinatesFirst } else { Axes::PointsFirst };
    let points = Points::new(array, axes)?;
    let init = match &args.init {
        First::PlusPlus => Init::PlusPlus,
        First::Random => Init::Random,
        First::File(name) => Init::Given(copy(input::open(name, None)?.array()?, points.computed())?),
    };
    let prepare = |path: &Option<_>| path.as_deref().map(Output::prepare).transpose();
    let (labels, centroids) = (prepare(&args.labels)?, prepare(&args.centroids)?);
    let settings = warpfold::KMeans {
        init,
        iterations: args.iters,
        tolerance: args.tol,
        seed: args.seed.unwrap_or(0),
        runs: args.n_init,
        empty: args.empty.into(),
        threads: args.threads.map(usize::from),
        ..warpfold::KMeans::new(args.clusters)
    };
    let mut tell = |step: Step| {
        let run = if args.n_init > 1 { format!("run {} ", step.run + 1) } else { String::new() };
        let _ = writeln!(std::io::stderr(), "{run}iteration {} inertia {}", step.iteration, step.inertia);
    };
    let fit = settings.fit_on(args.device, &points, if args.quiet { None } else { Some(&mut tell) })?;
    let to_stdout = [&labels, &centroids].into_iter().flatten().any(Output::is_standard);
    if let Some(output) = labels {
        output.write(&Array { shape: vec![fit.labels.len()], values: Values::I32(fit.labels.clone()) })?;
    }
    if let Some(output) = centroids {
        output.write(&fit.centroids)?;
    }
    match () {
        () if to_stdout => Ok(()),
        () if args.json => as_json(&array, &fit),
        () => for_people(&fit),
    }
}

/// Refuses options that the first centroids leave nothing to do.
fn check(args: &KMeans) -> Result<(), Failure> {
    let First::File(_) = args.init else { return Ok(()) };
    let given = [(args.seed.is_some(), "--seed"), (args.n_init > 1, "--n-init")];
    match given.iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Failure::Usage(format!(
            "{option} has no effect on centroids from a file, from which nothing is random: leave it out"
        ))),
        None => Ok(()),
    }
}

/// An array as it is, in another dtype.
fn copy(array: ArrayRef<'_>, dtype: DType) -> Result<Array, warpfold::Error> {
    // A sum over no axis.
    warpfold::reduce(Op::Sum, array, &Options { axes: Some(vec![]), dtype: Some(dtype), ..Options::default() })
}

/// Points of each cluster.
fn sizes(fit: &Fit) -> Vec<usize> {
    let mut sizes = vec![0; fit.centroids.shape[0]];
    fit.labels.iter().for_each(|&label| sizes[label as usize] += 1);
    sizes
}

fn for_people(fit: &Fit) -> Result<(), Failure> {
    let end = if fit.converged { "converged" } else { "not converged" };
    print(|to| {
        writeln!(to, "inertia {} after {} iterations, {end}", fit.inertia, fit.iterations)?;
        let d = fit.centroids.shape[1];
        for (cluster, size) in sizes(fit).into_iter().enumerate() {
            write!(to, "{cluster} {size}")?;
            for coordinate in 0..d {
                write!(to, " {}", fit.centroids.values.get(cluster * d + coordinate))?;
            }
            writeln!(to)?;
        }
        Ok(())
    })
}

fn as_json(input: &ArrayRef<'_>, fit: &Fit) -> Result<(), Failure> {
    print(|to| {
        write!(to, "{{{}, \"inertia\": {}, ", keyed::about(input), json::number(warpfold::Scalar::F64(fit.inertia)))?;
        write!(to, "\"iterations\": {}, \"converged\": {}, \"run\": {}, ", fit.iterations, fit.converged, fit.run)?;
        let dtype = json::string(fit.centroids.dtype().name());
        write!(to, "\"sizes\": {}, \"dtype\": {dtype}, \"centroids\": ", json::list(&sizes(fit)))?;
        json::nested(to, &fit.centroids.shape, &fit.centroids.values, json::number)?;
        writeln!(to, "}}")
    })
}
