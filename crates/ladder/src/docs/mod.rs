//! `docs/ladder.md`, generated: every number in it comes from a record, the emulator or an example that ran.

mod profile;

use crate::record::Record;
use crate::render::question::{Question, answer};
use crate::render::sources::markdown_sources;
use crate::render::{groups, markdown_counters, markdown_times, number};
use std::fmt::Write;

const TEMPLATE: &str = include_str!("ladder.md");

/// The sources of the page.
pub struct Sources {
    /// The record of the emulator.
    pub emulated: Record,
    /// The committed records of GPUs: the path from the root of the repository, and the record.
    pub committed: Vec<(String, Record)>,
    /// The committed reports of a hardware profiler: the path, and the CSV.
    pub profiles: Vec<(String, String)>,
    /// The lecture's examples: the name and the output of each.
    pub lecture: Vec<(&'static str, String)>,
}

/// The page.
///
/// # Errors
/// If the template has a place for which there is no text, or a text has no place.
pub fn ladder(sources: &Sources) -> Result<String, String> {
    let emulated = &sources.emulated;
    let mut texts = vec![
        ("sources", markdown_sources()),
        ("times", times(&sources.committed)),
        ("question", question(emulated)),
        ("profile", profiles(&sources.profiles)),
        ("counters", counters(emulated)),
        ("efficiency", efficiency(emulated)),
        ("faults", faults(emulated)),
        ("counted", emulated.command.clone()),
    ];
    texts.extend(sources.lecture.iter().map(|(name, text)| (*name, format!("```text\n{}\n```", text.trim_end()))));
    fill(TEMPLATE, &texts)
}

/// Replaces names in double braces by their texts.
fn fill(template: &str, texts: &[(&str, String)]) -> Result<String, String> {
    let mut page = template.to_owned();
    for (name, text) in texts {
        let place = format!("{{{{{name}}}}}");
        if !page.contains(&place) {
            return Err(format!("the template of docs/ladder.md has no place {place}"));
        }
        page = page.replace(&place, text.trim_end());
    }
    match page.split_once("{{") {
        Some((_, rest)) => Err(format!("nothing fills the place {{{{{}", rest.lines().next().unwrap_or_default())),
        None => Ok(page),
    }
}

fn times(committed: &[(String, Record)]) -> String {
    if committed.is_empty() {
        return "No record from a GPU is committed yet: this section fills itself from \
                `bench/record/<device>/<date>/ladder-*.json`."
            .to_owned();
    }
    let mut out = String::new();
    for (path, record) in committed {
        let device = &record.device;
        let _ = write!(out, "**{}**, {}", device.name, record.date);
        let gbs = |name: &str, x: Option<f64>| x.map(|x| format!(", {name} {x:.0} GB/s")).unwrap_or_default();
        out += &gbs("peak", device.peak_gbs);
        out += &gbs("a plain read reaches", device.read_gbs);
        let _ = writeln!(out, ". From [`{path}`](../{path}), made by `{}`.\n", record.command);
        for group in groups(record) {
            let table = markdown_times(record, &group);
            if table.is_empty() {
                continue;
            }
            let _ = write!(out, "{}: {}", group.title(), group.workload());
            if let Some(cache) = group.runs.iter().find_map(|r| r.cache.as_deref()) {
                let _ = write!(out, "; inputs {cache}");
            }
            let _ = write!(out, ".\n\n{table}\n");
        }
    }
    out
}

fn question(emulated: &Record) -> String {
    let q = Question::of(Some(emulated));
    let mut out = String::from(
        "| rung | µs | GB/s | % of peak | published % | µs × published % | barrier arrivals, 10⁶ | shared passes per \
         element | branch efficiency % |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in &q.rows {
        let _ = write!(
            out,
            "| {} | {:.2} | {:.0} | {:.1} | {:.2} | **{:.1}** | ",
            row.rung, row.micros, row.gbs, row.of_peak, row.percent, row.busy
        );
        match &row.counted {
            Some(c) => {
                let passes = number::rate(c.shared_passes);
                let _ = writeln!(out, "{:.2} | {passes} | {:.1} |", c.arrivals, c.branch_efficiency);
            }
            None => out += "– | – | – |\n",
        }
    }
    for paragraph in answer(&q) {
        let _ = write!(out, "\n{paragraph}\n");
    }
    out
}

fn profiles(committed: &[(String, String)]) -> String {
    if committed.is_empty() {
        return "No hardware profiler's report is committed yet; this section fills itself from \
                `bench/record/<device>/<date>/ncu-*.csv`."
            .to_owned();
    }
    let tables = committed.iter().map(|(path, csv)| {
        format!("From [`{path}`](../{path}):\n\n{}{}", profile::table(csv), profile::conclusion(csv))
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn counters(emulated: &Record) -> String {
    let mut out = String::new();
    for group in groups(emulated).iter().filter(|g| !g.runs.is_empty()) {
        let _ = write!(out, "{}: {}.\n\n{}\n", group.title(), group.workload(), markdown_counters(group));
    }
    out
}

/// The branch efficiency of b0 and b1, beside the published one.
fn efficiency(emulated: &Record) -> String {
    let percent = |name: &str| {
        let run = emulated.rungs.iter().find(|r| r.rung == name)?;
        let counts = run.counters.as_ref()?;
        Some(format!("{name} {:.1} %", counts.branch_efficiency))
    };
    let size = emulated.rungs.iter().find(|r| r.rung == "b0").map_or(0, |r| r.n);
    let words: Vec<String> = ["b0", "b1"].iter().filter_map(|name| percent(name)).collect();
    format!("{} at {size} elements", words.join(", "))
}

fn faults(emulated: &Record) -> String {
    let mut out = String::new();
    for run in emulated.rungs.iter().filter(|r| r.is_as_published()) {
        let name = run.rung.trim_end_matches("_as_published");
        let _ = write!(out, "- **{name}**: {}", run.title);
        let lines = match run.verdict.faults.len() {
            0 => vec![format!("wrong result: {}", run.verdict.detail)],
            _ => run.verdict.faults.clone(),
        };
        let _ = write!(out, "\n\n  ```text\n  {}\n  ```\n\n", lines.join("\n  "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_text_and_every_text_a_place() {
        let texts = [("a", "one\n".to_owned())];
        assert_eq!(fill("x {{a}} y", &texts).as_deref(), Ok("x one y"));
        assert!(fill("x", &texts).is_err_and(|e| e.contains("{{a}}")));
        assert!(fill("{{a}} {{b}}", &texts).is_err_and(|e| e.contains("{{b}}")));
    }
}
