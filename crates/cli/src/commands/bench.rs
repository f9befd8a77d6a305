//! `warpfold bench`

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use warpfold::DeviceName;
use warpfold_bench::cpu::Cpu;
use warpfold_bench::cuda::Gpu;
use warpfold_bench::peer::{self, Program};
use warpfold_bench::progress::Progress;
use warpfold_bench::record::{Machine, Record};
use warpfold_bench::runner::{self, Plan};
use warpfold_bench::side::Side;
use warpfold_bench::suite::{self, Suite};
use warpfold_bench::{Error, random, render};

use super::print;
use crate::args::Bench;
use crate::error::Failure;
use crate::output::Outputs;
use crate::signals::LINE_IS_SHOWN;

/// Runs suites, and prints the results.
pub fn run(args: &Bench) -> Result<(), Failure> {
    if args.list {
        return list(args);
    }
    let (device, mut side, machine) = side(args.device)?;
    let suites = suites(args, if device == DeviceName::Cpu { "cpu" } else { "full" })?;
    // Checks that the outputs can be written, before any work is done.
    if args.json.as_deref() == Some(Path::new("-")) {
        return Err(Failure::Usage("--json needs a file, which is written anew after each case: name one".into()));
    }
    let markdown = ("--markdown", args.markdown.as_deref());
    Outputs::texts(&[("--json", args.json.as_deref()), markdown], &[])?;
    let before = args.json.as_deref().filter(|path| args.resume && path.exists()).map(Record::read).transpose()?;
    let usual = if args.random.is_some() { Duration::from_millis(300) } else { Duration::from_secs(10) };
    let plan = Plan {
        suites,
        samples: usize::from(args.samples),
        budget: args.budget.unwrap_or(usual),
        limit: args.limit,
        bits: args.bits,
        command: command(args),
        program: "warpfold".into(),
        machine,
        device: device.to_string(),
        peers: peers(args, device)?,
        before,
    };
    plan.check().map_err(|why| of_record(args, why))?;
    announce(args, &plan);
    let mut progress = Progress::new(plan.len(), args.json.clone());
    // The bar on a terminal is erased after Ctrl-C, too.
    LINE_IS_SHOWN.store(std::io::stderr().is_terminal(), Ordering::SeqCst);
    let record = runner::run(&plan, &mut *side, &mut progress);
    LINE_IS_SHOWN.store(false, Ordering::SeqCst);
    let record = record?;
    let left = plan.len().saturating_sub(record.cases.len());
    if left > 0 {
        let how = if args.json.is_some() { ": the same command with --resume goes on" } else { "" };
        let _ = writeln!(std::io::stderr(), "{left} of {} cases were not begun in time{how}", plan.len());
    }
    if args.markdown.as_deref() != Some(Path::new("-")) {
        print(|to| to.write_all(render::text(&record).as_bytes()))?;
    }
    Outputs::texts(&[markdown], &[])?.write_texts(&[("--markdown", render::markdown(&record))])?;
    let wrong = record.wrong();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Wrong(wrong)) }
}

/// Prints what will run, and for about how long, on standard error.
fn announce(args: &Bench, plan: &Plan) {
    let suites: Vec<String> =
        plan.suites.iter().map(|suite| format!("{} ({} cases)", suite.name, suite.cases.len())).collect();
    let peers: Vec<&str> = plan.peers.iter().map(|peer| peer.name.as_str()).collect();
    let beside = if peers.is_empty() { "no peers".to_owned() } else { peers.join(", ") };
    let seconds = plan.estimate().as_secs();
    let about = match seconds {
        0..=5 => "seconds".to_owned(),
        6..=100 => format!("{} seconds", seconds.next_multiple_of(10)),
        _ => format!("{} minutes", seconds.div_ceil(60)),
    };
    let mut line = format!("{} on {}, beside {beside}: about {about}", suites.join(", "), plan.device);
    if let Some(limit) = plan.limit {
        line += &format!(", and no case begins after {} seconds", limit.as_secs());
    }
    if args.suite.is_empty() && args.random.is_none() {
        line += "; `--list` shows other suites, of which `--suite smoke` takes seconds";
    }
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Adds the record's path to the error of a record that cannot be resumed.
fn of_record(args: &Bench, why: Error) -> Error {
    match (why, &args.json) {
        (Error::OtherRun { why, .. }, Some(path)) => Error::OtherRun { path: path.clone(), why },
        (why, _) => why,
    }
}

/// Lists the suites, or the cases of the suites that are given.
fn list(args: &Bench) -> Result<(), Failure> {
    if !args.suite.is_empty() || args.random.is_some() {
        let suites = suites(args, "")?;
        let cases = suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (&suite.name, case)));
        let lines: String = cases.map(|(suite, case)| format!("{suite}: {case}\n")).collect();
        return print(|to| to.write_all(lines.as_bytes()));
    }
    let suites = suite::names().into_iter().map(suite::load).collect::<Result<Vec<_>, _>>()?;
    print(|to| {
        let mut each = suites.iter();
        each.try_for_each(|s| writeln!(to, "{:<8} {} ({} cases)", s.name, s.title, s.cases.len()))
    })
}

/// Our own side on a device; `auto` is the first GPU, if there is one.
fn side(name: DeviceName) -> Result<(DeviceName, Box<dyn Side>, Machine), Error> {
    let on_cpu = || (DeviceName::Cpu, Box::new(Cpu::new()) as Box<dyn Side>, Machine::cpu());
    let on_gpu = |index| -> Result<_, Error> {
        let (gpu, machine) = Gpu::open(index)?;
        Ok((DeviceName::Cuda(index), Box::new(gpu) as Box<dyn Side>, machine))
    };
    match name {
        DeviceName::Cpu => Ok(on_cpu()),
        DeviceName::Cuda(index) => on_gpu(index),
        DeviceName::Auto => Ok(on_gpu(0).unwrap_or_else(|_| on_cpu())),
    }
}

/// The suites that are given, or else the `usual` one, with the cases that pass the filter.
fn suites(args: &Bench, usual: &str) -> Result<Vec<Suite>, Error> {
    let names: Vec<&str> = match args.suite.is_empty() {
        true => vec![usual],
        false => args.suite.iter().map(String::as_str).collect(),
    };
    let mut suites = match args.random {
        Some(seed) => vec![random::suite(seed, args.cases as usize, args.bytes)],
        None => names.into_iter().map(suite::load).collect::<Result<Vec<_>, _>>()?,
    };
    if let Some(filter) = &args.filter {
        suites.iter_mut().for_each(|suite| suite.cases.retain(|case| case.to_string().contains(filter.as_str())));
        suites.retain(|suite| !suite.cases.is_empty());
        if suites.is_empty() {
            return Err(Error::NoCase { filter: filter.clone() });
        }
    }
    Ok(suites)
}

fn peers(args: &Bench, device: DeviceName) -> Result<Vec<Program>, Error> {
    let words: Vec<&str> = match &args.peers {
        Some(words) if *words == ["none"] => Vec::new(),
        Some(words) => words.iter().map(String::as_str).collect(),
        None if device == DeviceName::Cpu => vec!["numpy", "torch"],
        None if args.random.is_some() => vec!["cub", "torch"],
        None => vec!["cub", "torch", "cupy"],
    };
    let folder = peer::folder(args.peers_from.as_deref());
    words.into_iter().map(|word| Program::named(word, folder.as_deref())).collect()
}

/// The command that makes the same record: every option but the outputs.
fn command(args: &Bench) -> String {
    let mut words = vec!["warpfold bench".to_owned()];
    let mut add = |name: &str, value: Option<String>| words.extend(value.map(|value| format!("{name} {value}")));
    add("--suite", (!args.suite.is_empty()).then(|| args.suite.join(",")));
    add("--random", args.random.map(|seed| seed.to_string()));
    add("--cases", args.random.map(|_| args.cases.to_string()));
    add("--bytes", args.random.map(|_| random::shown(args.bytes)));
    add("--device", (args.device != DeviceName::Auto).then(|| args.device.to_string()));
    let names =
        |peers: &Vec<String>| peers.iter().map(|p| p.split('=').next().unwrap_or(p)).collect::<Vec<_>>().join(",");
    add("--peers", args.peers.as_ref().map(names));
    add("--filter", args.filter.as_ref().map(|filter| format!("'{filter}'")));
    add("--samples", (args.samples != 11).then(|| args.samples.to_string()));
    add("--budget", args.budget.map(|budget| budget.as_secs_f64().to_string()));
    if args.bits {
        words.push("--bits".into());
    }
    words.join(" ")
}
