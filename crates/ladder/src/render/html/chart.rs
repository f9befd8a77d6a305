//! Charts as bars that wrap with the page.

use super::super::figures::A100_PEAK_GBS;
use super::super::group::Group;
use super::super::markup::escape;
use super::super::{number, svg};
use super::anchor::section_of;
use crate::record::{Record, Run};

/// The chart of a group: bandwidth if it was timed, counters if it was counted.
pub fn chart(record: &Record, group: &Group) -> String {
    let mut out = String::new();
    if group.runs.iter().any(|r| !r.samples_ns.is_empty()) {
        out += &timed(record, group);
    }
    if group.runs.iter().any(|r| r.counters.is_some()) {
        out += &counted(group);
    }
    out
}

fn name(run: &Run) -> String {
    let slug = if run.slug() == run.rung { String::new() } else { format!(" <small>{}</small>", escape(run.slug())) };
    linked(run, &format!("<b>{}</b>{slug}", escape(&run.rung)))
}

/// A text that links to the section of a run, if there is one.
fn linked(run: &Run, text: &str) -> String {
    section_of(run).map_or_else(|| text.to_owned(), |id| format!("<a href=\"#{id}\">{text}</a>"))
}

fn timed(record: &Record, group: &Group) -> String {
    let device = &record.device;
    let (full, is_peak) = group.full_bar(device);
    let read_gbs = device.read_gbs.filter(|_| is_peak);
    let share = |gbs: f64| 100.0 * gbs / full;
    // The published GPU's share of its own peak, on the scale of this GPU's.
    let then = |run: &Run| {
        let (us, peak) = (run.published_us?, device.peak_gbs.filter(|_| is_peak)?);
        (run.family == "a").then(|| share(run.bytes as f64 / us / 1000.0 / A100_PEAK_GBS * peak))
    };
    let read = read_gbs.map(|gbs| format!("--read:{:.2}%", share(gbs))).unwrap_or_default();
    let mut rows = String::new();
    for run in &group.runs {
        let kind = if run.is_production() {
            " own"
        } else if run.family.is_empty() {
            " yard"
        } else {
            ""
        };
        let (bar, value) = match (run.is_as_expected(), run.gbs(), run.time()) {
            (false, ..) => (String::new(), "<b class=\"bad\">FAILED</b>".to_owned()),
            (true, Some(gbs), Some(time)) => (
                format!("<i class=\"fill\" style=\"width:{:.2}%\"></i>", share(gbs)),
                format!("<b>{gbs:.0}</b> GB/s <small>{} µs</small>", number::micros(time.median_us)),
            ),
            _ => (String::new(), "<small>not timed</small>".to_owned()),
        };
        let mark = then(run).map(|x| format!("<i class=\"then\" style=\"left:{x:.2}%\"></i>")).unwrap_or_default();
        rows += &format!(
            "<li class=\"row{kind}\"><span class=\"name\">{}</span><span class=\"track\">{bar}{mark}</span>\
             <span class=\"value\">{value}</span></li>\n",
            name(run)
        );
    }
    let mut legend = vec![if is_peak {
        format!("A full bar is the peak of {full:.0} GB/s.")
    } else {
        "A full bar is the fastest of them.".to_owned()
    }];
    if let Some(gbs) = read_gbs {
        legend.push(format!("<span class=\"key\"><i class=\"at\"></i></span> a plain read: {gbs:.0} GB/s."));
    }
    if group.runs.iter().any(|r| then(r).is_some()) {
        legend.push(
            "<span class=\"key\"><i class=\"then\"></i></span> the published A100 \
                (<a href=\"#sources\">source</a>), of its own peak."
                .to_owned(),
        );
    }
    format!(
        "<figure class=\"chart\" style=\"{read}\"><figcaption>Memory bandwidth on {}</figcaption>\n\
         <ol class=\"bars{}\">\n{rows}</ol>\n<p class=\"legend\">{}</p></figure>\n",
        escape(&device.name),
        if read.is_empty() { "" } else { " reads" },
        legend.join(" ")
    )
}

/// A small chart per counter.
fn counted(group: &Group) -> String {
    let mut charts = String::new();
    for measure in svg::MEASURES {
        let values: Vec<(&Run, f64)> =
            group.runs.iter().filter_map(|run| Some((*run, (measure.of)(run.counters.as_ref()?)))).collect();
        let most = values.iter().map(|v| v.1).fold(f64::MIN_POSITIVE, f64::max);
        if values.iter().all(|v| v.1 == 0.0) {
            continue;
        }
        charts += &format!("<figure><figcaption>{}</figcaption><ol class=\"bars small\">\n", measure.name);
        for (run, value) in values {
            charts += &format!(
                "<li class=\"row\"><span class=\"name\">{}</span><span class=\"track\">\
                 <i class=\"fill\" style=\"width:{:.2}%\"></i></span><span class=\"value\">{}</span></li>\n",
                linked(run, &format!("<b>{}</b>", escape(&run.rung))),
                100.0 * value / most,
                (measure.text)(value)
            );
        }
        charts += "</ol></figure>\n";
    }
    format!("<div class=\"multiples\">{charts}</div><p class=\"legend\">Counted in the emulator; less is better.</p>\n")
}
