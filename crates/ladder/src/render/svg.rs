//! A bar chart that stands alone: bandwidth on a GPU, counters in the emulator.

use super::group::{Group, groups};
use super::markup::escape;
use super::number;
use crate::record::{Counts, Record, Run};
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const LABEL: f64 = 190.0;
const ROW: f64 = 26.0;

const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1d2430}\
.muted{fill:#5d6675}.title{font-weight:600;font-size:15px}.bar{fill:#3b6fb6}.own{fill:#0f8a72}\
.bad{fill:#b3261e}.line{stroke:#8a93a3;stroke-dasharray:3 3}.then{fill:none;stroke:#b8560b;stroke-width:1.6}\
.back{fill:#fff}.rail{fill:#edf0f4}\
@media(prefers-color-scheme:dark){text{fill:#e6e9ef}.muted{fill:#9aa4b4}.bar{fill:#6ea0e6}.own{fill:#3fc3a4}\
.bad{fill:#ff8a80}.then{stroke:#f0a05a}.back{fill:#14171c}.rail{fill:#22272f}.line{stroke:#6b7585}}";

/// One panel per workload.
pub fn svg(record: &Record) -> String {
    let mut panels = String::new();
    let mut top = 16.0;
    for group in groups(record) {
        if group.runs.is_empty() {
            continue;
        }
        let is_timed = group.runs.iter().any(|r| !r.samples_ns.is_empty());
        let (panel, height) = if is_timed { timed(record, &group) } else { counted(&group) };
        let _ = writeln!(panels, "<g transform=\"translate(16 {top})\">\n{panel}</g>");
        top += height + 28.0;
    }
    let width = WIDTH + 32.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {top}\" width=\"{width}\" height=\"{top}\" \
         role=\"img\" aria-label=\"The reduction ladder on {name}\">\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\"/>\n{panels}</svg>\n",
        name = escape(&record.device.name),
    )
}

fn heading(group: &Group, note: &str) -> String {
    format!(
        "<text class=\"title\" y=\"14\">{}</text>\n<text class=\"muted\" y=\"34\">{}{note}</text>\n",
        escape(group.title()),
        escape(&group.workload())
    )
}

fn label(run: &Run, y: f64) -> String {
    let name = if run.slug() == run.rung { String::new() } else { format!(" {}", run.slug()) };
    format!(
        "<text y=\"{:.1}\"><tspan font-weight=\"600\">{}</tspan><tspan class=\"muted\">{}</tspan></text>\n",
        y + 17.0,
        escape(&run.rung),
        escape(&name)
    )
}

/// Bars of bandwidth, against the peak and a plain read.
fn timed(record: &Record, group: &Group) -> (String, f64) {
    let device = &record.device;
    let (full, is_peak) = group.full_bar(device);
    let room = WIDTH - LABEL - 170.0;
    let at = |gbs: f64| LABEL + room * gbs / full;
    let mut out = heading(group, &format!("; GB/s on {}", escape(&device.name)));
    let bottom = 50.0 + ROW * group.runs.len() as f64;
    for (name, gbs) in [("plain read", device.read_gbs), ("peak", device.peak_gbs)] {
        let Some(gbs) = gbs.filter(|_| is_peak) else { continue };
        let x = at(gbs);
        let _ = writeln!(out, "<line class=\"line\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"46\" y2=\"{bottom:.1}\"/>");
        let anchor = if name == "peak" { "start" } else { "end" };
        let shift = if name == "peak" { -4.0 } else { 4.0 };
        let _ = writeln!(
            out,
            "<text class=\"muted\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{name} {gbs:.0}</text>",
            x + shift,
            bottom + 16.0
        );
    }
    for (i, run) in group.runs.iter().enumerate() {
        let y = 50.0 + ROW * i as f64;
        out += &label(run, y);
        if !run.is_as_expected() {
            let _ = writeln!(out, "<text class=\"bad\" x=\"{LABEL}\" y=\"{:.1}\">FAILED</text>", y + 17.0);
            continue;
        }
        let (Some(gbs), Some(time)) = (run.gbs(), run.time()) else { continue };
        let class = if run.is_production() { "own" } else { "bar" };
        let width = (at(gbs) - LABEL).max(1.0);
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{LABEL}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"18\" rx=\"2\"/>",
            y + 4.0
        );
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{gbs:.0} GB/s<tspan class=\"muted\"> {} µs</tspan></text>",
            WIDTH - 150.0,
            y + 17.0,
            number::micros(time.median_us)
        );
    }
    (out, bottom + 22.0)
}

/// A counter that a chart shows.
pub(super) struct Measure {
    /// The name.
    pub name: &'static str,
    /// Its value.
    pub of: fn(&Counts) -> f64,
    /// Its value as text.
    pub text: fn(f64) -> String,
}

/// The counters in the chart.
pub(super) const MEASURES: [Measure; 4] = [
    Measure { name: "barriers per block", of: |c| c.barriers_per_block, text: number::count },
    Measure { name: "divergence, %", of: |c| 100.0 - c.branch_efficiency, text: |x| format!("{x:.1}") },
    Measure { name: "idle lanes, %", of: |c| 100.0 - c.active_lanes / 0.32, text: |x| format!("{x:.1}") },
    Measure { name: "shared passes per element", of: Counts::shared_passes_per_element, text: number::rate },
];

/// Bars of four counters side by side.
fn counted(group: &Group) -> (String, f64) {
    let mut out = heading(group, "; counted in the emulator, less is better");
    let each = (WIDTH - LABEL) / MEASURES.len() as f64;
    for (m, measure) in MEASURES.iter().enumerate() {
        let x = LABEL + each * m as f64;
        let _ = writeln!(out, "<text class=\"muted\" x=\"{x:.1}\" y=\"56\">{}</text>", measure.name);
        let value = |run: &&&Run| run.counters.as_ref().map(measure.of);
        let most = group.runs.iter().filter_map(|r| value(&r)).fold(f64::MIN_POSITIVE, f64::max);
        for (i, run) in group.runs.iter().enumerate() {
            let y = 64.0 + ROW * i as f64;
            let Some(worth) = value(&run) else { continue };
            let room = each - 70.0;
            let width = room * worth / most;
            let _ = writeln!(
                out,
                "<rect class=\"rail\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{room:.1}\" height=\"16\" rx=\"2\"/>\
                 <rect class=\"bar\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"16\" rx=\"2\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + room + 6.0,
                y + 13.0,
                (measure.text)(worth)
            );
        }
    }
    for (i, run) in group.runs.iter().enumerate() {
        out += &label(run, 60.0 + ROW * i as f64);
    }
    (out, 64.0 + ROW * group.runs.len() as f64)
}
