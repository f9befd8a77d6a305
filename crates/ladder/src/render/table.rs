//! The table for a terminal.

use super::group::{Group, groups};
use super::number;
use crate::record::{Record, Run};
use std::fmt::Write;

/// The times and counters, if any, and the runs that are wrong.
pub fn table(record: &Record) -> String {
    let device = &record.device;
    let mut out = format!("{} ({})", device.name, device.kind);
    if let Some(peak) = device.peak_gbs {
        let _ = write!(out, ", peak {peak:.0} GB/s");
    }
    if let Some(read) = device.read_gbs {
        let _ = write!(out, ", a plain read reaches {read:.0} GB/s");
    }
    out.push('\n');
    for group in groups(record) {
        let _ = write!(out, "\n{}: {}\n", group.title(), group.workload());
        if let Some(cache) = group.runs.iter().find_map(|r| r.cache.as_deref()) {
            let _ = writeln!(out, "inputs {cache}");
        }
        if group.runs.iter().any(|r| !r.samples_ns.is_empty()) {
            out += &times(record, &group);
        }
        if group.runs.iter().any(|r| r.counters.is_some()) {
            out += &counters(&group);
        }
        let untold = |r: &&&Run| r.samples_ns.is_empty() && r.counters.is_none();
        for run in group.runs.iter().filter(|r| !r.is_as_expected()).chain(group.runs.iter().filter(untold)) {
            out += &told(run);
        }
        if !group.as_published.is_empty() {
            out += "as published, in the emulator\n";
            group.as_published.iter().for_each(|run| out += &told(run));
        }
    }
    out
}

/// One line on the result of a run and its faults.
fn told(run: &Run) -> String {
    let word = match (run.is_as_published(), run.is_as_expected()) {
        (false, true) => "passed",
        (false, false) => "FAILED",
        (true, true) => "caught",
        (true, false) => "FAILED: NOT CAUGHT",
    };
    let faults: String = run.verdict.faults.iter().map(|fault| format!("    {fault}\n")).collect();
    format!("  {} {word}: {}\n{faults}", run.rung, run.verdict.detail)
}

/// A head of two lines, and rows below it. The first two columns are flush left, and so is the last if it is text; the
/// others are flush right.
fn columns<const N: usize>(heads: [[&str; N]; 2], rows: Vec<Vec<String>>, ends_in_text: bool) -> String {
    let heads = heads.map(|head| head.map(str::to_owned).to_vec());
    let rows: Vec<Vec<String>> = heads.into_iter().chain(rows).collect();
    // A column without entries is left out.
    let is_there = |i: usize| i == 0 || rows[2..].iter().any(|row| !row[i].is_empty());
    let shown: Vec<usize> = (0..N).filter(|&i| is_there(i)).collect();
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for &i in &shown {
            let gap = " ".repeat(width(i) - row[i].chars().count());
            let space = if i == 0 {
                ""
            } else if i == 1 {
                " "
            } else {
                "  "
            };
            line += space;
            line += &if i < 2 || (ends_in_text && i == N - 1) {
                format!("{}{gap}", row[i])
            } else {
                format!("{gap}{}", row[i])
            };
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

fn times(record: &Record, group: &Group) -> String {
    let over = format!("over {}", group.baseline());
    let heads = [
        ["rung", "", "", "from 10 %", "", "% of", "% of a", "speed-up", "published", "speed-up"],
        ["", "", "µs", "to 90 %", "GB/s", "peak", "read", &over, "µs", &over],
    ];
    let mut rows = Vec::new();
    for run in &group.runs {
        let mut row = vec![run.rung.clone(), run.slug().to_owned()];
        let published = [
            run.published_us.map(number::micros).unwrap_or_default(),
            group.published_speedup(run).map(|x| format!("{x:.2}")).unwrap_or_default(),
        ];
        if run.is_as_expected() {
            let percent = |x: Option<f64>| x.map(|x| format!("{x:.1}")).unwrap_or_default();
            let time = run.time();
            row.push(time.map(|t| number::micros(t.median_us)).unwrap_or_default());
            row.push(
                time.map(|t| format!("{}..{}", number::micros(t.low_us), number::micros(t.high_us)))
                    .unwrap_or_default(),
            );
            row.push(run.gbs().map(|x| format!("{x:.0}")).unwrap_or_default());
            row.extend([percent(run.of_peak(&record.device)), percent(run.of_read(&record.device))]);
            row.push(group.speedup(run).map(|x| format!("{x:.2}")).unwrap_or_default());
        } else {
            row.push("FAILED".to_owned());
            row.extend(std::iter::repeat_n(String::new(), 5));
        }
        row.extend(published);
        rows.push(row);
    }
    columns(heads, rows, false)
}

fn counters(group: &Group) -> String {
    let heads = [
        ["rung", "", "barriers", "branch", "active", "shared passes", "sectors", "shuffles", "atomics", "bank"],
        ["", "", "/block", "eff. %", "lanes", "/element", "/request", "/element", "/element", "conflicts"],
    ];
    let mut rows = Vec::new();
    for run in &group.runs {
        let Some(c) = &run.counters else { continue };
        rows.push(vec![
            run.rung.clone(),
            if run.is_as_expected() { run.slug().to_owned() } else { "FAILED".to_owned() },
            number::count(c.barriers_per_block),
            format!("{:.1}", c.branch_efficiency),
            format!("{:.1}", c.active_lanes),
            number::rate(c.shared_passes_per_element()),
            format!("{:.2}", c.sectors_per_request),
            number::rate(c.shuffles_per_element),
            number::rate(c.atomics_per_element),
            number::conflicts(c),
        ]);
    }
    let sizes: Vec<u64> = group.runs.iter().filter_map(|r| Some(r.counters.as_ref()?.counted_n)).collect();
    let note = match (sizes.iter().min(), sizes.iter().max()) {
        (Some(least), Some(most)) if least == most => format!("counted at {}\n", number::elements(*least)),
        (Some(least), Some(most)) => {
            format!("counted at {} to {}\n", number::elements(*least), number::elements(*most))
        }
        _ => String::new(),
    };
    note + &columns(heads, rows, true)
}
