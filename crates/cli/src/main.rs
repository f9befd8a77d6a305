//! The `warpfold` command: reductions of array files.

mod args;
mod commands;
mod error;
mod input;
mod json;
mod lines;
mod mapping;
mod npy;
mod npz;
mod output;
mod print;
mod signals;
mod watch;

use std::io::Write;
use std::panic;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use error::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    panic::set_hook(Box::new(|what| {
        let _ = writeln!(std::io::stderr(), "error: a bug in warpfold, please report it: {what}");
    }));
    signals::install();
    match panic::catch_unwind(|| run(args)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // Whoever reads our output has seen enough.
        Ok(Err(failure)) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::from(failure.exit_code())
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Reduce(args) => commands::reduce::run(&args),
        Command::Describe(args) => commands::describe::run(&args),
        Command::Segments(args) => commands::segments::run(&args),
        Command::Group(args) => commands::group::run(&args),
        Command::Unique(args) => commands::unique::run(&args),
        Command::Histogram(args) => commands::histogram::run(&args),
        Command::KMeans(args) => commands::kmeans::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Devices(args) => commands::devices::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Ladder(args) => commands::ladder::run(&args),
        Command::Completions(args) => commands::generate::completions(&args),
        Command::Man => commands::generate::man(),
    }
}
