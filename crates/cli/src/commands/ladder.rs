//! `warpfold ladder`

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use warpfold_device::ladder::DType;
use warpfold_ladder::record::{Record, Run};
use warpfold_ladder::render;
use warpfold_ladder::run::{self, Chosen, Families, Options, Target, choose, is_as_expected};

use super::print;
use crate::args::Ladder;
use crate::error::Failure;
use crate::lines::{NARROW, wrapped};
use crate::output::Output;

/// A form of the record: its option, where it goes, and how it is made.
type Form<'a> = (&'static str, &'a Path, fn(&Record) -> String);

/// Columns that `error: ` takes.
const ERROR: usize = 7;

/// Runs rungs, and shows what came of it.
pub fn run(args: &Ladder) -> Result<(), Failure> {
    let forms = forms(args);
    // Before any work is done, and kept until it is.
    let outputs = prepare(&forms)?;
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
    if !forms.iter().any(|(_, path, _)| is_standard(path)) {
        print(|to| to.write_all(render::table(record).as_bytes()))?;
    }
    for ((_, _, form), output) in forms.iter().zip(outputs) {
        output.write_text(&form(record))?;
    }
    let wrong = record.rungs.iter().filter(|run| !is_as_expected(run));
    let wrong: Vec<String> =
        wrong.map(|run| wrapped(&format!("{}: {}", run.rung, run.verdict.detail), NARROW, 2, 4)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Rungs(wrong)) }
}

/// A rung, and what came of it.
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

/// Makes sure that all files can be written, and that no two are one.
fn prepare(forms: &[Form<'_>]) -> Result<Vec<Output>, Failure> {
    let places: Vec<PathBuf> = forms.iter().map(|(_, path, _)| place(path)).collect();
    for (i, (option, path, _)) in forms.iter().enumerate() {
        if let Some(first) = places[..i].iter().position(|other| *other == places[i]) {
            let (shown, other) = (path.display().to_string(), forms[first].0);
            let what = if is_standard(path) { "standard output" } else { &shown };
            let what = what.escape_debug();
            return Err(Failure::Usage(format!(
                "{what} is named twice, by {other} and {option}: give each a file of its own"
            )));
        }
    }
    forms.iter().map(|(option, path, _)| output(option, path)).collect()
}

/// A file to be written; what is wrong with it names its option.
fn output(option: &str, path: &Path) -> Result<Output, Failure> {
    Output::prepare(path).map_err(|failure| match failure {
        Failure::Create { why, .. } => {
            let name = path.display().to_string();
            Failure::Usage(format!("cannot create {}: {why}; give {option} another file", name.escape_debug()))
        }
        other => other,
    })
}

/// The same for two names of one file.
fn place(path: &Path) -> PathBuf {
    if is_standard(path) {
        return path.into();
    }
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let in_folder = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.into())
}

fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
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
    add("--dtype", args.dtype.filter(|&dtype| DType::from(dtype) == DType::I32).map(|_| "i32".to_owned()));
    add("--block", args.block.map(|block| block.to_string()));
    add("--clusters", args.clusters.map(|clusters| clusters.to_string()));
    add("--coords", args.coords.map(|coords| coords.to_string()));
    add("--samples", args.samples.map(|samples| samples.to_string()));
    words.join(" ")
}

/// To standard error, come what may.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", wrapped(text, NARROW, 0, 2));
}
