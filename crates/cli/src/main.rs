//! The program `warpfold`: [`warpfold_cli::command`], with an allocator that reports when memory runs out.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: warpfold_cli::Reporting = warpfold_cli::Reporting;

fn main() -> ExitCode {
    ExitCode::from(warpfold_cli::command(std::env::args_os().collect()))
}
