//! Tables for GitHub.

use super::group::{Group, groups};
use super::number;
use crate::record::{Record, Run};
use std::fmt::Write;

/// Every group: its times and counters, if any, and the runs that are wrong.
pub fn markdown(record: &Record) -> String {
    let mut out = String::new();
    for group in groups(record) {
        let _ = write!(out, "### {}\n\n{}", group.title(), group.workload());
        if let Some(cache) = group.runs.iter().find_map(|r| r.cache.as_deref()) {
            let _ = write!(out, "; inputs {cache}");
        }
        let _ = writeln!(out, ".\n");
        for text in [markdown_times(record, &group), markdown_counters(&group)] {
            if !text.is_empty() {
                out += &text;
                out.push('\n');
            }
        }
        for run in group.runs.iter().filter(|r| !r.is_as_expected()) {
            let _ = writeln!(out, "**{} FAILED**: {}\n", run.rung, cell(&run.verdict.detail));
        }
        if !group.as_published.is_empty() {
            out += &wrong(&group);
            out.push('\n');
        }
    }
    out.trim_end().to_owned() + "\n"
}

/// Text escaped for a table's cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// The table of times; empty if nothing was timed.
pub fn markdown_times(record: &Record, group: &Group) -> String {
    if group.runs.iter().all(|r| r.samples_ns.is_empty()) {
        return String::new();
    }
    let (over, has_published) = (group.baseline(), group.has_published());
    let mut out = format!("| rung | idea | µs | GB/s | % of peak | % of read | speed-up over {over} |");
    let mut rule = "|---|---|--:|--:|--:|--:|--:|".to_owned();
    if has_published {
        let _ = write!(out, " published µs | published speed-up over {over} |");
        rule += "--:|--:|";
    }
    let _ = write!(out, "\n{rule}\n");
    for run in &group.runs {
        let or_none = |x: Option<String>| x.unwrap_or_default();
        let name = if run.is_production() { format!("**{}**", run.rung) } else { run.rung.clone() };
        let _ = write!(out, "| {name} | {} | ", cell(run.slug()));
        if run.is_as_expected() {
            let spread = |t: super::figures::Time| 50.0 * (t.high_us - t.low_us) / t.median_us;
            let time = run.time().map(|t| format!("{} ± {:.1} %", number::micros(t.median_us), spread(t)));
            let percent = |x: Option<f64>| or_none(x.map(|x| format!("{x:.1}")));
            let (peak, read) = (percent(run.of_peak(&record.device)), percent(run.of_read(&record.device)));
            let speedup = or_none(group.speedup(run).map(|x| format!("{x:.2}")));
            let gbs = or_none(run.gbs().map(|x| format!("{x:.0}")));
            let _ = write!(out, "{} | {gbs} | {peak} | {read} | {speedup} |", or_none(time));
        } else {
            out += "FAILED | | | | |";
        }
        if has_published {
            let published = or_none(run.published_us.map(number::micros));
            let speedup = or_none(group.published_speedup(run).map(|x| format!("{x:.2}")));
            let _ = write!(out, " {published} | {speedup} |");
        }
        out.push('\n');
    }
    out
}

/// The table of the emulator's counters; empty if nothing was counted.
pub fn markdown_counters(group: &Group) -> String {
    if group.runs.iter().all(|r| r.counters.is_none()) {
        return String::new();
    }
    let mut out = String::from(
        "| rung | idea | counted at | barriers per block | branch efficiency % | active lanes | bank conflicts | \
         shared passes per element | sectors per request | shuffles per element | atomics per element |\n\
         |---|---|--:|--:|--:|--:|---|--:|--:|--:|--:|\n",
    );
    for run in &group.runs {
        let Some(c) = &run.counters else { continue };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {:.1} | {:.1} | {} | {} | {:.2} | {} | {} |",
            run.rung,
            cell(run.slug()),
            number::elements(c.counted_n),
            number::count(c.barriers_per_block),
            c.branch_efficiency,
            c.active_lanes,
            number::conflicts(c),
            number::rate(c.shared_passes_per_element()),
            c.sectors_per_request,
            number::rate(c.shuffles_per_element),
            number::rate(c.atomics_per_element),
        );
    }
    out
}

fn wrong(group: &Group) -> String {
    let mut out = String::from("| as published | what is wrong | what the emulator says |\n|---|---|---|\n");
    for run in &group.as_published {
        let _ = writeln!(out, "| {} | {} | {} |", run.rung, cell(&run.title), cell(&says(run)));
    }
    out
}

/// The first fault, or the wrong result.
fn says(run: &Run) -> String {
    match (run.is_caught(), run.verdict.faults.first()) {
        (false, _) => "**NOT CAUGHT**".to_owned(),
        (true, Some(fault)) => fault.clone(),
        (true, None) => run.verdict.detail.clone(),
    }
}
