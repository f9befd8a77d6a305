//! The command, run as a user runs it.

mod bad_input;
mod bench;
mod files;
mod keys;
mod ladder;
mod layouts;
mod lines;
mod messages;
mod names;
mod options;
mod output;
mod outputs;
mod printing;
mod rows;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(unix)]
mod unix;
