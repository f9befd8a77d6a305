//! `warpfold completions` and `warpfold man`

use std::io::{self, Write};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use warpfold::{DType, Op};

use super::print;
use crate::args::{Args, Completions, EXIT_STATUS};
use crate::error::Failure;

/// Prints a completion script for a shell.
pub fn completions(args: &Completions) -> Result<(), Failure> {
    let mut command = Args::command();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in &names {
        command = command.mut_subcommand(name, |sub| sub.mut_args(|arg| with_values(name, arg)));
    }
    // The generator panics if it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "warpfold", &mut script);
    if args.shell == Shell::Fish {
        script.extend(names.iter().flat_map(|name| fish_words(&command, name)).flat_map(String::into_bytes));
    }
    print(|to| to.write_all(&script))
}

/// The completions of positional arguments for fish, which clap's generator leaves out.
fn fish_words(command: &Command, name: &str) -> Vec<String> {
    let words = command.find_subcommand(name).into_iter().flat_map(Command::get_positionals);
    let values = words.map(|word| word.get_possible_values()).filter(|values| !values.is_empty());
    let line = |values: Vec<PossibleValue>| {
        let values: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        let condition = format!("__fish_warpfold_using_subcommand {name}");
        format!("complete -c warpfold -n \"{condition}\" -a \"{}\"\n", values.join(" "))
    };
    values.map(line).collect()
}

/// An argument with the values that a shell offers. The parsers accept more: other spellings, other devices, files.
fn with_values(command: &str, arg: Arg) -> Arg {
    let value = arg.get_value_names().and_then(|names| names.first()).map(|name| name.to_string());
    let offer = |arg: Arg, values: Vec<&'static str>| arg.value_parser(PossibleValuesParser::new(values));
    let ops = Op::ALL.map(Op::name);
    match (arg.get_id().as_str(), value.as_deref()) {
        _ if !arg.get_possible_values().is_empty() => arg,
        ("op", _) if command == "group" => offer(arg, ops.into_iter().chain(["first", "last", "size"]).collect()),
        ("op", _) => offer(arg, ops.to_vec()),
        ("ord", _) => offer(arg, vec!["1", "2", "inf"]),
        ("suite", _) => offer(arg, warpfold_bench::suite::names()),
        ("rung", _) => offer(arg, warpfold_kernels::ladder::rungs().iter().map(|rung| rung.name).collect()),
        (_, Some("DTYPE")) => offer(arg, DType::ALL.map(DType::name).to_vec()),
        (_, Some("DEVICE")) if command == "ladder" => offer(arg, vec!["auto", "cuda", "emulator"]),
        (_, Some("DEVICE")) => offer(arg, vec!["auto", "cpu", "cuda"]),
        (_, Some("INPUT" | "MASK" | "OFFSETS" | "LABELS" | "EDGES" | "WEIGHTS" | "FILE" | "OUT" | "OUT.npy")) => {
            arg.value_hint(ValueHint::FilePath)
        }
        _ => arg,
    }
}

/// Prints one page: the command, then each subcommand.
pub fn man() -> Result<(), Failure> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    print(|to| {
        let page = clap_mangen::Man::new(command.clone());
        page.render_title(to)?;
        page.render_name_section(to)?;
        page.render_synopsis_section(to)?;
        page.render_description_section(to)?;
        page.render_options_section(to)?;
        writeln!(to, ".SH COMMANDS\nEach has a section below.")?;
        for sub in command.get_subcommands() {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            writeln!(to, ".TP\n\\fBwarpfold {}\\fR\n{}", roff(sub.get_name()), roff(&about))?;
        }
        examples(&command, ".SH EXAMPLES", to)?;
        for sub in command.get_subcommands() {
            let name = format!("warpfold {}", sub.get_name());
            let page = clap_mangen::Man::new(sub.clone().display_name(name));
            writeln!(to, ".SH \"WARPFOLD {}\"", sub.get_name().to_uppercase())?;
            page.render_description_section(to)?;
            page.render_synopsis_section(to)?;
            page.render_options_section(to)?;
            examples(sub, ".SS Examples", to)?;
        }
        writeln!(to, ".SH \"EXIT STATUS\"")?;
        for (status, when) in EXIT_STATUS {
            writeln!(to, ".TP\n\\fB{status}\\fR\n{}", roff(when))?;
        }
        writeln!(to, ".SH VERSION\nv{}", env!("CARGO_PKG_VERSION"))
    })
}

/// Writes the examples below a command's help, line by line.
fn examples(command: &Command, heading: &str, to: &mut impl Write) -> io::Result<()> {
    let Some(text) = command.get_after_help() else { return Ok(()) };
    writeln!(to, "{heading}\n.nf")?;
    for line in text.to_string().lines().skip(1) {
        writeln!(to, "{}", roff(line))?;
    }
    writeln!(to, ".fi")
}

/// Text escaped for roff: hyphens stay hyphens, and no line is a request.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
