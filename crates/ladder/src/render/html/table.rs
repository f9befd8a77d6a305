//! The page's tables.

use super::super::group::Group;
use super::super::markup::{escape, prose};
use super::super::{number, sources};
use super::anchor::section_of;
use crate::record::{Record, Run};

/// A table that scrolls by itself on a narrow screen.
pub fn scrolling(caption: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, row: &[String]| {
        let mut out = String::new();
        for (i, cell) in row.iter().enumerate() {
            let (tag, scope) = if i == 0 { ("th", " scope=\"row\"") } else { (tag, "") };
            out += &format!("<{tag}{scope}>{cell}</{tag}>");
        }
        format!("<tr>{out}</tr>\n")
    };
    let head: String = head.iter().map(|h| format!("<th scope=\"col\">{h}</th>")).collect();
    let body: String = rows.iter().map(|row| cells("td", row)).collect();
    format!(
        "<figure class=\"table\"><figcaption>{0}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"{0}\"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div></figure>\n",
        escape(caption)
    )
}

fn name(run: &Run) -> String {
    format!("{} <small>{}</small>", escape(&run.rung), if run.slug() == run.rung { "" } else { run.slug() })
}

/// The table of times; empty if nothing was timed.
pub fn times(record: &Record, group: &Group) -> String {
    if group.runs.iter().all(|r| r.samples_ns.is_empty()) {
        return String::new();
    }
    let optional = |x: Option<String>| x.unwrap_or_else(|| "–".to_owned());
    let has_published = group.has_published();
    let rows: Vec<Vec<String>> = group
        .runs
        .iter()
        .map(|run| {
            let is_right = run.is_as_expected();
            let percent = |x: Option<f64>| optional(x.filter(|_| is_right).map(|x| format!("{x:.1}")));
            let time = run.time().filter(|_| is_right);
            let mut row = vec![
                name(run),
                match time {
                    _ if !is_right => "<b class=\"bad\">FAILED</b>".to_owned(),
                    Some(t) => format!("<b>{}</b>", number::micros(t.median_us)),
                    None => "–".to_owned(),
                },
                optional(time.map(|t| format!("{}–{}", number::micros(t.low_us), number::micros(t.high_us)))),
                optional(run.gbs().filter(|_| is_right).map(|x| format!("{x:.0}"))),
                percent(run.of_peak(&record.device)),
                percent(run.of_read(&record.device)),
                optional(group.speedup(run).filter(|_| is_right).map(|x| format!("{x:.2} ×"))),
            ];
            if has_published {
                row.push(optional(run.published_us.map(number::micros)));
                row.push(optional(group.published_speedup(run).map(|x| format!("{x:.2} ×"))));
            }
            row
        })
        .collect();
    let over = escape(group.baseline());
    let mut head = ["rung", "µs", "10–90 %", "GB/s", "% of peak", "% of a plain read"].map(str::to_owned).to_vec();
    head.push(format!("speed-up over {over}"));
    if has_published {
        let on = sources::measured_on(group.family()).map(|on| format!(", {on}")).unwrap_or_default();
        head.push(format!("published µs{on} (<a href=\"#sources\">source</a>)"));
        head.push(format!("published speed-up over {over}"));
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    scrolling(&format!("Times, {}", group.workload()), &head, &rows)
}

/// The table of counters; empty if nothing was counted.
pub fn counters(group: &Group) -> String {
    let row = |run: &&Run| {
        let c = run.counters.as_ref()?;
        let failed = if run.is_as_expected() { "" } else { " <b class=\"bad\">FAILED</b>" };
        Some(vec![
            name(run) + failed,
            number::count(c.barriers_per_block),
            format!("{:.1}", c.branch_efficiency),
            format!("{:.1}", c.active_lanes),
            escape(&number::conflicts(c)).replace(", ", "<br>"),
            number::rate(c.shared_passes_per_element()),
            format!("{:.2}", c.sectors_per_request),
            number::rate(c.shuffles_per_element),
            number::rate(c.atomics_per_element),
        ])
    };
    let rows: Vec<Vec<String>> = group.runs.iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let sizes: Vec<u64> = group.runs.iter().filter_map(|r| Some(r.counters.as_ref()?.counted_n)).collect();
    let (least, most) = (sizes.iter().min().copied().unwrap_or(0), sizes.iter().max().copied().unwrap_or(0));
    let at = if least == most {
        number::elements(least)
    } else {
        format!("{} to {}", number::elements(least), number::elements(most))
    };
    let head = [
        "rung",
        "barriers per block",
        "branch efficiency %",
        "active lanes of 32",
        "bank conflicts",
        "shared passes per element",
        "sectors per request",
        "shuffles per element",
        "atomics per element",
    ];
    scrolling(&format!("Counters from the emulator, at {at} elements"), &head, &rows)
}

/// The published forms that are wrong, and what was said of each.
pub fn wrong(record: &Record, group: &Group) -> String {
    if group.as_published.is_empty() {
        return String::new();
    }
    let row = |run: &&Run| {
        let verdict = match (run.is_caught(), run.verdict.faults.len()) {
            (false, _) => "<b class=\"bad\">NOT CAUGHT</b>".to_owned(),
            (true, 0) => "wrong result".to_owned(),
            (true, 1) => "1 fault".to_owned(),
            (true, faults) => format!("{faults} faults"),
        };
        let name = escape(run.rung.trim_end_matches("_as_published"));
        // The section of its sound form tells of it.
        let is_told = record.rungs.iter().any(|run| section_of(run) == Some(name.as_str()));
        let link = if is_told { format!("<a href=\"#{name}-published\">{name}</a>") } else { name };
        vec![link, prose(&run.title), verdict]
    };
    let rows: Vec<Vec<String>> = group.as_published.iter().map(row).collect();
    scrolling("Published forms that are wrong", &["rung", "as published", "caught by the emulator"], &rows).replacen(
        "class=\"table\"",
        "class=\"table words\"",
        1,
    )
}
