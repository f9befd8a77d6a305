//! The progress of a run on standard error, and the record, which is written after each case.

use crate::case::Case;
use crate::error::Error;
use crate::record::{OURS, PeerRecord, READ, Record, write};
use crate::render::duration;
use crate::runner::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// A progress bar, or plain lines if standard error is not a terminal.
pub struct Progress {
    bar: ProgressBar,
    is_watched: bool,
    /// The path of the record.
    json: Option<PathBuf>,
}

impl Progress {
    /// The progress of a run of this number of cases.
    pub fn new(cases: usize, json: Option<PathBuf>) -> Progress {
        let is_watched = std::io::stderr().is_terminal();
        let target = if is_watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(cases as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{pos}/{len} [{elapsed_precise}] {wide_msg}") {
            bar.set_style(style);
        }
        Progress { bar, is_watched, json }
    }

    fn say(&self, line: &str) {
        if self.is_watched {
            self.bar.println(line);
        } else {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

impl Watch for Progress {
    fn peer(&mut self, peer: &PeerRecord) {
        match (&peer.absent, &peer.version, &peer.device) {
            (Some(why), ..) => self.say(&format!("{} is absent: {why}", peer.name)),
            (None, Some(version), Some(device)) => self.say(&format!("{} {version} on {device}", peer.name)),
            _ => {}
        }
    }

    fn skip(&mut self, cases: usize) {
        if cases > 0 {
            self.say(&format!("{cases} cases were measured before"));
            self.bar.inc(cases as u64);
        }
    }

    fn next(&mut self, case: &Case) {
        self.bar.set_message(case.to_string());
    }

    fn done(&mut self, record: &Record) -> Result<(), Error> {
        if let Some(path) = &self.json {
            write(path, &record.to_json())?;
        }
        self.bar.inc(1);
        let Some(case) = record.cases.last() else { return Ok(()) };
        if let Some(why) = &case.skipped {
            self.say(&format!("{}: skipped: {why}", case.name));
            return Ok(());
        }
        let mut words = Vec::new();
        let ours = case.side(OURS).and_then(|side| side.median());
        let others = record.peers.iter().map(|peer| peer.name.as_str());
        for name in [OURS, READ].into_iter().chain(others) {
            let Some(side) = case.side(name) else { continue };
            if let Some(ns) = side.median() {
                let ratio = ours.filter(|_| name != OURS).map_or(String::new(), |ours| format!(" ({:.2})", ns / ours));
                words.push(format!("{name} {}{ratio}{}", duration(ns), if side.is_wrong() { " WRONG" } else { "" }));
            } else if side.has_failed() {
                words.push(format!("{name} FAILED"));
            }
        }
        self.say(&format!("{}: {}", case.name, words.join("  ")));
        if record.cases.len() as u64 == self.bar.length().unwrap_or(0) {
            self.bar.finish_and_clear();
        }
        Ok(())
    }
}
