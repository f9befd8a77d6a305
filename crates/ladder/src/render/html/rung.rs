//! The section of one rung.

use super::super::markup::{escape, prose};
use super::super::{number, sources};
use super::table::scrolling;
use super::{code, diff, production};
use crate::record::{Counts, Record, Run};
use warpfold_kernels::ladder::{Form, Grid, PRESETS, Rung, rungs};

/// The section of `run`; `before` is the run of the rung below it in the family.
pub fn section(record: &Record, run: &Run, before: Option<&Run>) -> String {
    let Some(entry) = run.entry() else { return String::new() };
    let id = entry.name;
    let mut out = format!(
        "<section class=\"rung\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h3 id=\"{id}-title\"><span \
         class=\"chip\">{id}</span> <span class=\"slug\">{}</span></h3>\n<p class=\"lead\">{}</p>\n",
        escape(&entry.slug().replace('_', " ")),
        prose(&sentence(entry.title()))
    );
    if !run.is_as_expected() {
        out += &format!("<p class=\"alarm\"><b>FAILED</b> {}</p>\n{}", escape(&run.verdict.detail), faults(run));
    }
    out += &format!("<dl class=\"idea\">{}</dl>\n", ideas(entry));
    out += &numbers(record, run, entry);
    if let Some(after) = &run.counters {
        let below = before.and_then(|b| Some((b.rung.as_str(), b.counters.as_ref()?)));
        out += &counters(run, after, below);
        out += &share(entry, run, after);
    }
    if entry.form == Form::Slot {
        out += &production::sources(run);
    } else {
        out += &changes(entry, before);
        let lines = entry.source.lines().count();
        out += &format!(
            "<details{}><summary>The source <small>{}, {lines} lines</small></summary>\n{}</details>\n",
            if before.is_none() { " open" } else { "" },
            escape(entry.file),
            code::listing(&format!("The source of {}", entry.name), entry.source, 1, &[])
        );
    }
    let wrong =
        rungs().iter().find(|r| r.form == Form::AsPublished && r.name == format!("{}_as_published", entry.name));
    if let Some(wrong) = wrong {
        let ran = record.rungs.iter().find(|r| r.rung == wrong.name);
        out += &published_form(entry, wrong, ran);
    }
    out + "</section>\n"
}

/// The text with a capital first letter.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

fn ideas(entry: &Rung) -> String {
    let parts = [("Idea", entry.idea()), ("Change", entry.delta()), ("Bottleneck", entry.bottleneck())];
    let told = parts.iter().filter(|(_, text)| !text.is_empty());
    told.map(|(name, text)| format!("<div><dt>{name}</dt><dd>{}</dd></div>", prose(&sentence(text)))).collect()
}

/// Measured and published figures, as tiles.
fn numbers(record: &Record, run: &Run, entry: &Rung) -> String {
    let mut tiles = Vec::new();
    if let (Some(time), Some(gbs), true) = (run.time(), run.gbs(), run.is_as_expected()) {
        tiles.push((format!("{} µs", number::micros(time.median_us)), "measured here".to_owned()));
        let peak = run.of_peak(&record.device).map(|x| format!(", {x:.1} % of peak")).unwrap_or_default();
        tiles.push((format!("{gbs:.0} GB/s"), format!("read{peak}")));
    }
    let (published, family) = (entry.published, &run.family);
    let whose = sources::measured_on(family).map(|on| format!(", {on}")).unwrap_or_default();
    let cited = format!("published{whose} (<a href=\"#sources\">source</a>)");
    if let Some(us) = published.micros {
        tiles.push((format!("{} µs", number::micros(us)), cited.clone()));
    }
    if let Some(speedup) = published.speedup.filter(|&s| s > 1.0) {
        // The published speed-up: over the first rung, whether or not the record has it.
        tiles.push((format!("{speedup} ×"), format!("as fast as {family}0, {cited}")));
    }
    if let Some(percent) = published.percent {
        tiles.push((format!("{percent:.2} %"), format!("“bandwidth”, {cited}")));
    }
    let mut out = String::new();
    if !tiles.is_empty() {
        let tile = |(value, name): &(String, String)| format!("<li><b>{value}</b><span>{name}</span></li>");
        out += &format!("<ul class=\"tiles\">{}</ul>\n", tiles.iter().map(tile).collect::<String>());
    }
    if !published.note.is_empty() {
        out += &format!(
            "<p class=\"note\">Published (see <a href=\"#sources\">sources</a>): {}.</p>\n",
            prose(published.note)
        );
    }
    out
}

/// A counter with its value as text.
type Shown = (&'static str, fn(&Counts) -> String);

const SHOWN: [Shown; 10] = [
    ("barriers per block", |c| number::count(c.barriers_per_block)),
    ("warp barriers per warp", |c| number::rate(c.warp_barriers)),
    ("branch efficiency", |c| format!("{:.1} %", c.branch_efficiency)),
    ("active lanes of 32", |c| format!("{:.1}", c.active_lanes)),
    ("bank conflicts", number::conflicts),
    ("shared passes per element", |c| number::rate(c.shared_passes_per_element())),
    ("global requests per element", |c| number::rate(c.global_requests_per_element)),
    ("sectors per global request", |c| format!("{:.2}", c.sectors_per_request)),
    ("shuffles per element", |c| number::rate(c.shuffles_per_element)),
    ("atomics per element", |c| number::rate(c.atomics_per_element)),
];

/// A note on the work per thread where the number of blocks is limited: it depends on the length, so that the
/// emulator's count differs from the GPU's.
fn share(entry: &Rung, run: &Run, counts: &Counts) -> String {
    let (Grid::Capped { .. }, Some(preset)) = (entry.grid, PRESETS.iter().find(|p| p.rungs.contains(&entry.name)))
    else {
        return String::new();
    };
    let each = |n: u64| n / (entry.grid.blocks(n, run.block, 1) * u64::from(run.block)).max(1);
    let (here, there) = (each(counts.counted_n), each(preset.n));
    if here == there {
        return String::new();
    }
    format!(
        "<p class=\"note\">At {} elements a thread takes {here} of them; at {}, {there}.</p>\n",
        number::elements(counts.counted_n),
        number::elements(preset.n)
    )
}

/// The parts of a list, such as bank conflicts, one below the other.
fn cell(text: String) -> String {
    escape(&text).replace(", ", "<br>")
}

fn counters(run: &Run, after: &Counts, before: Option<(&str, &Counts)>) -> String {
    let size = |c: &Counts| number::elements(c.counted_n);
    let Some((below, earlier)) = before else {
        let rows: Vec<Vec<String>> =
            SHOWN.iter().map(|(name, text)| vec![(*name).to_owned(), cell(text(after))]).collect();
        return scrolling(&format!("What the emulator counts at {}", size(after)), &["counter", &run.rung], &rows)
            .replacen("class=\"table\"", "class=\"table counts\"", 1);
    };
    let mut rows = Vec::new();
    for (name, text) in SHOWN {
        let (old, new) = (cell(text(earlier)), cell(text(after)));
        let new = if old == new { "<span class=\"same\">same</span>".to_owned() } else { format!("<b>{new}</b>") };
        rows.push(vec![name.to_owned(), old, new]);
    }
    let sizes = if earlier.counted_n == after.counted_n {
        format!("at {}", size(after))
    } else {
        format!("at {} and {}", size(earlier), size(after))
    };
    scrolling(&format!("What the emulator counts {sizes}"), &["counter", below, &run.rung], &rows).replacen(
        "class=\"table\"",
        "class=\"table counts\"",
        1,
    )
}

fn changes(entry: &Rung, before: Option<&Run>) -> String {
    let Some(below) = before.and_then(Run::entry).filter(|b| b.form != Form::Slot && b.name != entry.name) else {
        return String::new();
    };
    let label = format!("What changed from {} to {}", below.name, entry.name);
    let (removed, added, html) = diff::diff(&label, below.source, entry.source);
    format!("<h4>What changed from {} <small>−{removed} +{added} lines</small></h4>\n{html}\n", below.name)
}

/// The published form, what is wrong with it, and what the emulator said.
fn published_form(entry: &Rung, wrong: &Rung, ran: Option<&Run>) -> String {
    let name = entry.name;
    let said = match ran {
        Some(run) => faults(run),
        None => "<p class=\"note\">The emulator did not run it for this record.</p>\n".to_owned(),
    };
    let marked = ran.map(|run| lines_of(wrong.file, &run.verdict.faults)).unwrap_or_default();
    let (_, _, change) = diff::diff(&format!("From {name} as published to the right form"), wrong.source, entry.source);
    format!(
        "<aside class=\"wrong\" id=\"{name}-published\" aria-label=\"{name} as published\"><h4>As published, {name} is \
         wrong</h4>\n<p>{}</p>\n<p>{}</p>\n{said}<details><summary>Its source <small>{}</small></summary>\n\
         {}</details>\n\
         <details><summary>From the published form to the right one</summary>\n{change}</details></aside>\n",
        prose(&sentence(&wrong.delta())),
        prose(&sentence(&wrong.bottleneck())),
        escape(wrong.file),
        code::listing(&format!("The source of {name} as published"), wrong.source, 1, &marked)
    )
}

/// The messages of the emulator.
fn faults(run: &Run) -> String {
    if run.verdict.faults.is_empty() {
        let caught =
            if run.is_caught() { "No access is at fault, but the result is wrong" } else { "Nothing was found" };
        let detail = escape(&run.verdict.detail);
        return format!("<div class=\"report\"><p>{caught}:</p><pre>{detail}</pre></div>\n");
    }
    let lines: Vec<String> = run.verdict.faults.iter().map(|f| escape(f)).collect();
    format!("<div class=\"report\"><p>The emulator reports:</p><pre>{}</pre></div>\n", lines.join("\n"))
}

/// The lines of `file` that faults name, as in `a4.rs:33:15`.
fn lines_of(file: &str, faults: &[String]) -> Vec<usize> {
    let name = format!("{}:", file.rsplit('/').next().unwrap_or(file));
    let mut lines = Vec::new();
    for fault in faults {
        for (at, _) in fault.match_indices(&name) {
            let digits = fault[at + name.len()..].split(|c: char| !c.is_ascii_digit()).next();
            lines.extend(digits.and_then(|d| d.parse::<usize>().ok()));
        }
    }
    lines
}
