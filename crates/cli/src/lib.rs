//! The `warpfold` command: reductions of array files. The program is [`command`], and so is `python -m warpfold`.

mod args;
mod commands;
mod error;
mod input;
mod json;
mod lines;
mod mapping;
mod memory;
mod names;
mod npy;
mod npz;
mod output;
mod print;
mod progress;
mod signals;
mod source;
mod stdio;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::panic;

use clap::Parser;
use clap::builder::StyledStr;

use args::{Args, Command};
use error::Failure;
use names::{escaped, escaped_lines};

pub use memory::Reporting;

/// The exit status of a process that SIGPIPE ended, by the convention of shells.
const BROKEN_PIPE: u8 = 128 + 13;

/// The exit status of a failure that is no error of the user's.
const FAILURE: u8 = 1;

/// Runs the command, and returns the status to exit with. The first argument is the name of the program.
///
/// ```
/// assert_eq!(warpfold_cli::command(["warpfold".into(), "--version".into()].into()), 0);
/// ```
pub fn command(args: Vec<OsString>) -> u8 {
    panic::set_hook(Box::new(|what| {
        let _ = writeln!(std::io::stderr(), "error: a bug in warpfold, please report it: {what}");
    }));
    signals::install();
    let run = || match Args::try_parse_from(&args) {
        Ok(args) => run(args).map(|()| 0),
        Err(said) => parsed(&said, &args),
    };
    match panic::catch_unwind(run) {
        Ok(Ok(status)) => status,
        // The reader of the output has closed it, and needs no message.
        Ok(Err(failure)) if failure.is_broken_pipe() => BROKEN_PIPE,
        Ok(Err(failure)) => {
            let _ = writeln!(std::io::stderr(), "error: {}", escaped_lines(&failure.to_string()));
            failure.exit_code()
        }
        Err(_) => FAILURE,
    }
}

/// Prints help and the version to standard output, and errors of the command line to standard error.
fn parsed(said: &clap::Error, args: &[OsString]) -> Result<u8, Failure> {
    if !said.use_stderr() {
        return stdio::check_output().and_then(|()| said.print()).map(|()| 0).map_err(Failure::stdout);
    }
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut strange = args.iter().filter(|arg| escaped(arg) != **arg).peekable();
    if strange.peek().is_none() {
        let _ = said.print();
    } else {
        // Rendered with colours: the conversion to plain text would take the arguments' own control sequences for
        // colours, and drop them.
        let mut text = said.render().ansi().to_string();
        for arg in strange {
            let value = arg.split_once('=').map_or("", |(_, value)| value);
            for part in [arg, value].into_iter().filter(|part| !part.is_empty()) {
                text = text.replace(part, &escaped(part));
            }
        }
        let plain = StyledStr::from(text).to_string();
        let _ = std::io::stderr().write_all(escaped_lines(&plain).as_bytes());
    }
    Ok(u8::try_from(said.exit_code()).unwrap_or(FAILURE))
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
        Command::Softmax(args) => commands::rows::softmax(&args, false),
        Command::Normalize(args) => commands::rows::normalize(&args),
        Command::LogSoftmax(args) => commands::rows::softmax(&args, true),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Devices(args) => commands::devices::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Ladder(args) => commands::ladder::run(&args),
        Command::Completions(args) => commands::generate::completions(&args),
        Command::Man => commands::generate::man(),
    }
}
