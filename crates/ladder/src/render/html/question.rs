//! The open question on the page.

use super::super::markup::{escape, prose};
use super::super::number;
use super::super::question::{Question, answer};
use super::anchor::section_of;
use super::table::scrolling;
use crate::record::Record;

/// The answer, with the published percentages and the real ones side by side.
pub fn section(record: &Record) -> String {
    let q = Question::of(Some(record));
    let mut bars = String::new();
    for row in &q.rows {
        let is_told = record.rungs.iter().any(|run| section_of(run) == Some(row.rung));
        let name =
            if is_told { format!("<a href=\"#{0}\"><b>{0}</b></a>", row.rung) } else { format!("<b>{}</b>", row.rung) };
        bars += &format!(
            "<li class=\"row pair\"><span class=\"name\">{name} <small>{0:.1} µs</small></span>\
             <span class=\"track\"><i class=\"fill\" style=\"width:{1:.2}%\"></i></span>\
             <span class=\"track then\"><i class=\"fill\" style=\"width:{2:.2}%\"></i></span>\
             <span class=\"value\"><b>{1:.1}</b> <small>{2:.1}</small></span></li>\n",
            row.micros, row.of_peak, row.percent
        );
    }
    let mut head = vec!["rung", "published µs", "GB/s", "% of peak", "published %", "µs × published %"];
    if q.is_counted() {
        head.extend(["barrier arrivals, 10⁶", "shared passes per element", "branch efficiency %"]);
    }
    let mut rows = Vec::new();
    for row in &q.rows {
        let mut cells = vec![
            row.rung.to_owned(),
            format!("{:.2}", row.micros),
            format!("{:.0}", row.gbs),
            format!("{:.1}", row.of_peak),
            format!("{:.2}", row.percent),
            format!("<b>{:.1}</b>", row.busy),
        ];
        if let (true, Some(c)) = (q.is_counted(), &row.counted) {
            cells.push(format!("{:.2}", c.arrivals));
            cells.push(number::rate(c.shared_passes));
            cells.push(format!("{:.1}", c.branch_efficiency));
        }
        rows.push(cells);
    }
    let text: String = answer(&q).iter().map(|p| format!("<p>{}</p>\n", prose(p))).collect();
    format!(
        "<section id=\"question\" aria-labelledby=\"question-title\"><h2 id=\"question-title\">Why did the “bandwidth” \
         fall at a4?</h2>\n<figure class=\"chart\"><figcaption>The published A100 (<a href=\"#sources\">source</a>): \
         per cent of bandwidth</figcaption>\n\
         <ol class=\"bars\">{bars}</ol>\n<p class=\"legend\"><span class=\"key\"><i class=\"fill\"></i></span> bytes \
         by time, of {} GB/s. <span class=\"key then\"><i class=\"fill\"></i></span> as published.</p></figure>\n\
         {text}{}</section>\n",
        escape(&format!("{:.0}", super::super::figures::A100_PEAK_GBS)),
        scrolling("The published figures, and what they come to", &head, &rows)
    )
}
