//! `warpfold kmeans`

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use warpfold::keys::{Axes, Fit, Init, Stage, Step};
use warpfold::{Array, ArrayRef, DType, Op, Options, Points, Values};

use super::{keyed, print, threads};
use crate::args::{First, KMeans};
use crate::error::Failure;
use crate::input;
use crate::json;
use crate::output::Outputs;
use crate::progress;
use crate::source::Source;

/// Finds clusters, and prints the result.
pub fn run(args: &KMeans) -> Result<(), Failure> {
    threads::check(args.threads, args.device)?;
    check(args)?;
    let first = match &args.init {
        First::File(name) => Some(name.as_os_str()),
        _ => None,
    };
    keyed::one_standard_input(&[("INPUT", Some(&args.input.input)), ("--init", first)])?;
    let source = input::open(&args.input.input, args.input.raw().as_ref())?;
    let array = source.array()?;
    let axes = if args.columns { Axes::CoordinatesFirst } else { Axes::PointsFirst };
    let points = Points::new(array, axes)?;
    let given = first.map(|name| input::open(name, None)).transpose()?;
    let init = match (&args.init, &given) {
        (_, Some(given)) => Init::Given(copy(given.array()?, points.computed())?),
        (First::Random, _) => Init::Random,
        _ => Init::PlusPlus,
    };
    let paths = [("--labels", args.labels.as_deref()), ("--centroids", args.centroids.as_deref())];
    let inputs: Vec<&Source> = [&source].into_iter().chain(&given).collect();
    let outputs = Outputs::arrays(&paths, &inputs, args.json)?;
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
    let state = Mutex::new(State { stage: None, since: Instant::now() });
    let mut tell = |stage: Stage| {
        if let (Stage::Assigned(step), false) = (stage, args.quiet) {
            let run = if args.n_init > 1 { format!("run {} ", step.run + 1) } else { String::new() };
            progress::say(&format!("{run}iteration {} inertia {}", step.iteration, step.inertia));
        }
        *state.lock().unwrap_or_else(PoisonError::into_inner) = State { stage: Some(stage), since: Instant::now() };
    };
    let line = |time, _| state.lock().unwrap_or_else(PoisonError::into_inner).line(args.clusters, time);
    let fit =
        progress::during(&line, || warpfold::kmeans_watched(args.device, &settings, &points, !args.quiet, &mut tell))?;
    let to_stdout = outputs.has_standard();
    let labels = || Array { shape: vec![fit.labels.len()], values: Values::I32(fit.labels.clone()) };
    let labels = args.labels.as_ref().map(|_| labels());
    let arrays = labels.iter().map(|labels| ("--labels", labels)).chain([("--centroids", &fit.centroids)]);
    outputs.write(&arrays.collect::<Vec<_>>())?;
    match () {
        () if to_stdout => Ok(()),
        () if args.json => as_json(&array, &fit),
        () => for_people(&fit),
    }
}

/// The progress of the fit.
struct State {
    /// The last stage that the fit reported.
    stage: Option<Stage>,
    since: Instant,
}

impl State {
    /// The text of the progress line.
    fn line(&self, clusters: usize, time: Duration) -> String {
        let now = progress::time(self.since.elapsed());
        let doing = match self.stage {
            None => "reads the points".to_owned(),
            Some(Stage::Seeding { run, chosen }) => format!("run {}: {chosen} of {clusters} centroids chosen", run + 1),
            Some(Stage::Assigning { run, iteration }) => {
                format!("run {}: iteration {iteration} assigns the points, {now}", run + 1)
            }
            Some(Stage::Assigned(Step { run, iteration, .. })) => {
                format!("run {}: iteration {iteration} moves the centroids, {now}", run + 1)
            }
        };
        format!("{}  {doing}", progress::time(time))
    }
}

/// Refuses options of random centroids if the centroids are given.
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

/// A copy of an array in another dtype.
fn copy(array: ArrayRef<'_>, dtype: DType) -> Result<Array, warpfold::Error> {
    // A sum over no axis is a copy.
    warpfold::reduce(Op::Sum, array, &Options { axes: Some(vec![]), dtype: Some(dtype), ..Options::default() })
}

/// The number of points of each cluster.
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
