//! `warpfold ladder`

use std::io::{IsTerminal, Write};
use std::path::Path;

use warpfold_kernels::ladder::DType;
use warpfold_ladder::record::{Record, Run};
use warpfold_ladder::render;
use warpfold_ladder::run::{self, Chosen, Families, Options, Target, choose, is_as_expected};

use super::print;
use crate::args::Ladder;
use crate::error::Failure;
use crate::lines::{NARROW, wrapped};
use crate::output::Outputs;

/// A form of the record: its option, its path, and the function that makes it.
type Form<'a> = (&'static str, &'a Path, fn(&Record) -> String);

/// The width of `error: `.
const ERROR: usize = 7;

/// Runs rungs, and prints the results.
pub fn run(args: &Ladder) -> Result<(), Failure> {
    let forms = forms(args);
    // Checks that all files can be written, before any work is done.
    let paths: Vec<_> = forms.iter().map(|(option, path, _)| (*option, Some(*path))).collect();
    let outputs = Outputs::texts(&paths, &[])?;
    let chosen = choose(args.device).map_err(run::Error::Cuda)?;
    if let Chosen::Emulator(Some(why)) = &chosen {
        complain(&format!("running in the emulator, without times: {why}"));
    }
    let is_watched = std::io::stderr().is_terminal();
    let outcome = run::run(&options(args), &chosen, |run| {
        if is_watched {
            complain(&progress(run));
        }
    });
    let outcome = outcome.map_err(|why| match why {
        run::Error::Cuda(_) | run::Error::Library(_) => Failure::Ladder(why),
        why => Failure::Usage(wrapped(&why.to_string(), NARROW, ERROR, 2)),
    })?;
    outcome.notes.iter().for_each(|note| complain(note));
    let record = &outcome.record;
    if !outputs.has_standard() {
        print(|to| to.write_all(render::table(record).as_bytes()))?;
    }
    let texts: Vec<_> = forms.iter().map(|(option, _, form)| (*option, form(record))).collect();
    outputs.write_texts(&texts)?;
    let wrong = record.rungs.iter().filter(|run| !is_as_expected(run));
    let wrong: Vec<String> =
        wrong.map(|run| wrapped(&format!("{}: {}", run.rung, run.verdict.detail), NARROW, 2, 4)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Rungs(wrong)) }
}

/// The progress line of a rung and its result.
fn progress(run: &Run) -> String {
    let time = run.time().map(|time| format!(", {:.1} µs", time.median_us)).unwrap_or_default();
    let word = match (is_as_expected(run), run.is_as_published()) {
        (false, _) => "WRONG",
        (true, true) => "caught, as it should be",
        (true, false) => "right",
    };
    let line = format!("{} {word}{time}", run.rung);
    line.chars().take(NARROW).collect()
}

fn forms(args: &Ladder) -> Vec<Form<'_>> {
    let json: fn(&Record) -> String = |record| {
        let text = serde_json::to_string_pretty(record);
        text.expect("a record is numbers and texts") + "\n"
    };
    let all = [
        ("--json", &args.json, json),
        ("--csv", &args.csv, render::csv),
        ("--markdown", &args.markdown, render::markdown),
        ("--svg", &args.svg, render::svg),
        ("--html", &args.html, render::html),
    ];
    all.into_iter().filter_map(|(option, path, form)| Some((option, path.as_deref()?, form))).collect()
}

fn options(args: &Ladder) -> Options {
    Options {
        family: args.family.into(),
        rungs: args.rung.clone(),
        n: args.n,
        dtype: args.dtype.map(DType::from),
        block: args.block,
        clusters: args.clusters,
        coords: args.coords,
        samples: args.samples.map(usize::from),
        counters: true,
        command: command(args),
        revision: std::env::var("WARPFOLD_REVISION").ok().filter(|revision| !revision.is_empty()),
    }
}

/// The command that makes the same record: every option but the outputs.
fn command(args: &Ladder) -> String {
    let mut words = vec!["warpfold ladder".to_owned()];
    let mut add = |name: &str, value: Option<String>| words.extend(value.map(|value| format!("{name} {value}")));
    add(
        "--family",
        match args.family.into() {
            Families::All => None,
            Families::One(family) => Some(format!("{family:?}").to_lowercase()),
        },
    );
    add("--rung", args.rung.as_ref().map(|names| names.join(",")));
    add(
        "--device",
        match args.device {
            Target::Auto => None,
            Target::Cuda(index) => Some(format!("cuda:{index}")),
            Target::Emulator => Some("emulator".to_owned()),
        },
    );
    add("-n", args.n.map(|n| n.to_string()));
    add("--dtype", args.dtype.filter(|&dtype| DType::from(dtype) == DType::I32).map(|_| "i32".to_owned()));
    add("--block", args.block.map(|block| block.to_string()));
    add("--clusters", args.clusters.map(|clusters| clusters.to_string()));
    add("--coords", args.coords.map(|coords| coords.to_string()));
    add("--samples", args.samples.map(|samples| samples.to_string()));
    words.join(" ")
}

/// Prints to standard error, and ignores failures.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", wrapped(text, NARROW, 0, 2));
}
