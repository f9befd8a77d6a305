//! The page as a whole.

use super::super::group::{Group, groups};
use super::super::markup::{escape, prose};
use super::super::number;
use super::super::sources::{SOURCES, Source};
use super::anchor::section_of;
use super::{chart, code, question, rung, table, words};
use crate::record::{Record, Run};

const STYLE: &str = include_str!("style.css");

/// The document.
pub fn page(record: &Record) -> String {
    let groups = groups(record);
    let mut told: Vec<(&Run, Option<&Run>)> = Vec::new();
    for run in record.rungs.iter().filter(|r| section_of(r).is_some()) {
        if told.iter().all(|(r, _)| section_of(r) != section_of(run)) {
            let before = told.iter().rev().map(|(r, _)| *r).find(|r| r.family == run.family);
            told.push((run, before));
        }
    }
    let has_a = told.iter().any(|(r, _)| r.family == "a");
    let mut body = header(record, &groups);
    body += &navigation(&told, has_a);
    body += "<main>\n";
    body += &words::glossary();
    body += "<section id=\"results\" aria-labelledby=\"results-title\"><h2 id=\"results-title\">Results</h2>\n";
    for group in &groups {
        body += &results(record, group);
    }
    body += "</section>\n";
    if has_a {
        body += &question::section(record);
    }
    body += "<section id=\"rungs\" aria-labelledby=\"rungs-title\"><h2 id=\"rungs-title\">Rung by rung</h2>\n";
    for (run, before) in &told {
        body += &rung::section(record, run, *before);
    }
    body += "</section>\n";
    body += &cited(record);
    body += "</main>\n";
    body += &footer(record);
    let body = words::mark(&body) + &words::popovers();
    let style = STYLE.to_owned() + &code::cues(&body);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>The reduction ladder on {}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{style}</style>\n\
         </head>\n\
         <body>\n<a class=\"skip\" href=\"#results\">To the results</a>\n{body}</body>\n</html>\n",
        escape(&record.device.name)
    )
}

fn header(record: &Record, groups: &[Group]) -> String {
    let device = &record.device;
    let lead = "The same reduction, written again and again. Each rung changes one thing about the one below it; here \
                is what that thing is, what it costs, what it brings, and the code.";
    let tile = |(value, name): &(String, String)| format!("<li><b>{value}</b><span>{name}</span></li>");
    let tiles: String = headline(record, groups).iter().map(tile).collect();
    let mut facts = vec![escape(&device.name)];
    facts.extend(device.capability.as_ref().map(|c| format!("compute capability {}", escape(c))));
    facts.extend(device.multiprocessors.map(|n| format!("{n} multiprocessors")));
    facts.extend(device.l2_bytes.map(|b| format!("{} MiB of L2", b >> 20)));
    facts.extend(device.driver.as_ref().map(|d| format!("driver {}", escape(d))));
    facts.extend((!record.date.is_empty()).then(|| escape(&record.date)));
    format!(
        "<header><p class=\"kicker\">Warpfold</p><h1>The reduction ladder</h1>\n<p class=\"lead\">{lead}</p>\n\
         <ul class=\"tiles\">{tiles}</ul>\n<p class=\"note\">{}</p></header>\n",
        facts.join(" · ")
    )
}

/// The numbers at the top of the page.
fn headline(record: &Record, groups: &[Group]) -> Vec<(String, String)> {
    let mut tiles = Vec::new();
    let timed = groups.iter().find(|g| g.runs.iter().any(|r| r.gbs().is_some()));
    if let Some(group) = timed {
        let right = group.runs.iter().filter(|r| r.is_as_expected() && !r.family.is_empty());
        let fastest = right.max_by(|a, b| a.gbs().partial_cmp(&b.gbs()).unwrap_or(std::cmp::Ordering::Equal));
        if let Some((run, gbs)) = fastest.and_then(|r| Some((r, r.gbs()?))) {
            tiles.push((format!("{gbs:.0} GB/s"), format!("fastest rung, {}", escape(&run.rung))));
            tiles.extend(run.of_peak(&record.device).map(|x| (format!("{x:.1} %"), "of the peak".to_owned())));
            let first = escape(&group.first().rung);
            tiles.extend(group.speedup(run).map(|x| (format!("{x:.1} ×"), format!("as fast as {first}"))));
        }
    }
    let all = || groups.iter().flat_map(|g| &g.runs).filter(|r| !r.family.is_empty());
    let right = all().filter(|r| r.is_as_expected()).count();
    let total = all().count();
    tiles.push((format!("{right} of {total}"), "runs with the right result".to_owned()));
    let wrong = || groups.iter().flat_map(|g| &g.as_published);
    if wrong().next().is_some() {
        let caught = wrong().filter(|r| r.is_caught()).count();
        tiles.push((format!("{caught} of {}", wrong().count()), "published faults caught".to_owned()));
    }
    tiles
}

fn navigation(told: &[(&Run, Option<&Run>)], has_question: bool) -> String {
    let mut out = String::from(
        "<nav aria-label=\"Rungs\"><ul>\n<li><a href=\"#words\">Words</a></li>\n<li>\
         <a href=\"#results\">Results</a></li>\n",
    );
    if has_question {
        out += "<li><a href=\"#question\">Why a4 “fell”</a></li>\n";
    }
    let mut family = "";
    for (run, _) in told {
        let starts = if run.family == family { "" } else { " class=\"start\"" };
        family = &run.family;
        out += &format!(
            "<li{starts}><a href=\"#{0}\"><b>{0}</b> <small>{1}</small></a></li>\n",
            section_of(run).unwrap_or_default(),
            escape(&run.slug().replace('_', " "))
        );
    }
    out + "<li class=\"start\"><a href=\"#sources\">Sources</a></li></ul></nav>\n"
}

fn results(record: &Record, group: &Group) -> String {
    let cache = group.runs.iter().find_map(|r| r.cache.as_deref());
    let cache = cache.map(|c| format!("; inputs {}", prose(c))).unwrap_or_default();
    let alarm = |run: &&Run| {
        let (rung, detail) = (escape(&run.rung), escape(&run.verdict.detail));
        let id = section_of(run)?;
        Some(format!("<p class=\"alarm\"><a href=\"#{id}\">{rung}</a> <b>FAILED</b> {detail}</p>\n"))
    };
    let wrong = group.runs.iter().filter(|r| !r.is_as_expected());
    let alarms: String = wrong.filter_map(alarm).collect();
    format!(
        "<article class=\"group\"><h3>{}</h3><p class=\"note\">{}{cache}.</p>\n{alarms}{}{}{}{}</article>\n",
        group.title(),
        escape(&group.workload()),
        chart::chart(record, group),
        table::times(record, group),
        table::counters(group),
        table::wrong(record, group)
    )
}

/// The sources of the published kernels and figures.
fn cited(record: &Record) -> String {
    let mut out = String::from(
        "<section id=\"sources\" aria-labelledby=\"sources-title\"><h2 id=\"sources-title\">Sources</h2>\n<p>Kernels \
         and figures that this page calls published are from these texts. The figures were measured by their authors, \
         on other GPUs than this page's: compare speed-ups, not microseconds.</p>\n<ul>\n",
    );
    let has = |family: &str| record.rungs.iter().any(|run| run.family == family);
    for Source { family, title, url, gives } in SOURCES.iter().filter(|source| has(source.family)) {
        let title = escape(title);
        let linked = url.map_or_else(|| title.clone(), |url| format!("<a href=\"{}\">{title}</a>", escape(url)));
        out += &format!("<li><b>{}</b> {linked}: {}.</li>\n", family.to_uppercase(), prose(gives));
    }
    out + "</ul></section>\n"
}

fn footer(record: &Record) -> String {
    let revision =
        record.revision.as_ref().map(|r| format!(" at revision <code>{}</code>", escape(r))).unwrap_or_default();
    let is_timed = record.rungs.iter().any(|run| !run.samples_ns.is_empty());
    let times = if is_timed {
        " Times are medians, with the 10th and 90th percentile; GB/s is bytes read by time."
    } else {
        ""
    };
    format!(
        "<footer><p>Made by <code>{}</code>{revision}.{times} {} runs in the record.</p></footer>\n",
        escape(&record.command),
        number::grouped(record.rungs.len() as u64)
    )
}
