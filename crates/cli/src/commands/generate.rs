//! `warpfold completions` and `warpfold man`

use std::io::Write;

use clap::CommandFactory;

use super::print;
use crate::args::{Args, Completions};
use crate::error::Failure;

/// A script for a shell.
pub fn completions(args: &Completions) -> Result<(), Failure> {
    // The generator panics if it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "warpfold", &mut script);
    print(|to| to.write_all(&script))
}

/// One page: the command, then each subcommand.
pub fn man() -> Result<(), Failure> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    print(|to| {
        clap_mangen::Man::new(command.clone()).render(to)?;
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let name = format!("warpfold {}", sub.get_name());
            let man = clap_mangen::Man::new(sub.clone().display_name(name));
            writeln!(to, ".SH \"WARPFOLD {}\"", sub.get_name().to_uppercase())?;
            man.render_description_section(to)?;
            man.render_synopsis_section(to)?;
            man.render_options_section(to)?;
        }
        Ok(())
    })
}
