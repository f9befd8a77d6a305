//! The command, run as a user runs it.

mod bad_input;
mod bench;
mod files;
mod keys;
mod ladder;
mod layouts;
mod messages;
mod options;
mod output;
mod printing;
mod support;
#[cfg(unix)]
mod unix;
