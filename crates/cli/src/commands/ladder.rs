//! `warpfold ladder`

use std::io::{IsTerminal, Write};
use std::path::Path;

use warpfold_device::ladder::DType;
use warpfold_ladder::record::Record;
use warpfold_ladder::render;
use warpfold_ladder::run::{self, Chosen, Families, Options, Target, choose, is_as_expected};

use super::print;
use crate::args::Ladder;
use crate::error::Failure;
use crate::output::Outputs;

/// A form of the record, its option, and where it goes.
type Form<'a> = (&'static str, &'a Path, fn(&Record) -> String);

/// Runs rungs, and shows what came of it.
pub fn run(args: &Ladder) -> Result<(), Failure> {
    let forms = forms(args);
    // Whether all files can be written, before any work is done.
    let paths: Vec<_> = forms.iter().map(|(option, path, _)| (*option, Some(*path))).collect();
    let outputs = Outputs::texts(&paths)?;
    let chosen = choose(args.device).map_err(run::Error::Cuda)?;
    if let Chosen::Emulator(Some(why)) = &chosen {
        complain(&format!("running in the emulator, without times: {why}"));
    }
    let is_watched = std::io::stderr().is_terminal();
    let options = options(args);
    let outcome = run::run(&options, &chosen, |run| {
        if is_watched {
            let word = if is_as_expected(run) { "done" } else { "WRONG" };
            complain(&format!("{} {word}: {}", run.rung, run.verdict.detail));
        }
    })?;
    outcome.notes.iter().for_each(|note| complain(note));
    let record = &outcome.record;
    if !outputs.has_standard() {
        print(|to| to.write_all(render::table(record).as_bytes()))?;
    }
    let texts: Vec<_> = forms.iter().map(|(option, _, form)| (*option, form(record))).collect();
    outputs.write_texts(&texts)?;
    let wrong = record.rungs.iter().filter(|run| !is_as_expected(run));
    let wrong: Vec<String> = wrong.map(|run| format!("{} ({})", run.rung, run.verdict.detail)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Rungs(wrong)) }
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
        dtype: args.dtype.into(),
        block: args.block,
        clusters: args.clusters,
        coords: args.coords,
        samples: usize::from(args.samples),
        counters: true,
        command: command(args),
        revision: std::env::var("WARPFOLD_REVISION").ok().filter(|revision| !revision.is_empty()),
    }
}

/// What made the record: everything but where it went.
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
    add("--dtype", (DType::from(args.dtype) == DType::I32).then(|| "i32".to_owned()));
    add("--block", args.block.map(|block| block.to_string()));
    add("--clusters", args.clusters.map(|clusters| clusters.to_string()));
    add("--coords", args.coords.map(|coords| coords.to_string()));
    add("--samples", (args.samples != 48).then(|| args.samples.to_string()));
    words.join(" ")
}

/// To standard error, come what may.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
