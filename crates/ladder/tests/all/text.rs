//! Tables, CSV and charts.

use crate::fake;
use crate::generate::emulated::emulated;
use warpfold_ladder::record::Record;
use warpfold_ladder::render;

/// The words of the line that starts with `rung`.
fn line<'a>(text: &'a str, rung: &str) -> Vec<&'a str> {
    let found = text.lines().find(|l| l.trim_start_matches(['|', ' ']).starts_with(&format!("{rung} ")));
    found.unwrap_or_else(|| panic!("{rung} in\n{text}")).split_whitespace().collect()
}

#[test]
fn the_table_has_times_published_figures_and_failures() {
    let table = render::table(&fake::gpu());
    // 990.66 × 0.4 µs, times 0.98 to 1.03: the median of the samples is 1.005 times that.
    let a0 = line(&table, "a0");
    assert_eq!(a0[1..6], ["interleaved_modulo", "398.2", "390.3..406.2", "337", "7.0"], "{table}");
    assert_eq!(a0[7..], ["1.00", "990.7", "1.00"], "{table}");
    assert_eq!(line(&table, "a4").last(), Some(&"5.93"), "{table}");
    assert_eq!(line(&table, "a3")[2], "FAILED", "{table}");
    assert!(table.contains("a3 FAILED: off by"), "{table}");
    let heads: Vec<&str> =
        table.lines().filter(|line| line.contains("µs")).filter(|line| line.contains("GB/s")).collect();
    assert!(heads.iter().any(|head| head.matches("over a0").count() == 2), "{table}");
    assert!(heads.iter().any(|head| head.matches("over b3").count() == 1), "no published times of b: {table}");
    assert!(table.contains("inputs cold: 6 inputs in turn"), "{table}");
}

#[test]
fn the_emulators_table_has_counters_and_what_was_caught() {
    let table = render::table(&emulated(1 << 12));
    assert!(line(&table, "a1").contains(&"8-way:"), "{table}");
    assert!(table.contains("shared passes") && !table.contains("waves"), "{table}");
    assert_eq!(line(&table, "a4")[2], "3", "{table}");
    assert!(table.contains("a4_as_published caught"), "{table}");
    assert!(!table.contains("FAILED"), "{table}");
    let mut record = emulated(1 << 11);
    record.rungs.iter_mut().filter(|r| r.rung == "a4_as_published").for_each(|r| {
        r.verdict.faults.clear();
        r.verdict.passed = true;
    });
    assert!(render::table(&record).contains("NOT CAUGHT"));
}

#[test]
fn markdown_rows_have_as_many_cells_as_their_heads() {
    for record in [fake::gpu(), emulated(1 << 11)] {
        let text = render::markdown(&record);
        let mut cells = 0;
        for line in text.lines() {
            let here = line.replace("\\|", "").matches('|').count();
            assert!(here == 0 || cells == 0 || here == cells, "{line}");
            cells = here;
        }
        assert!(text.contains("| a7 | shuffle |"), "{text}");
        assert!(text.contains("a4_as_published"), "{text}");
    }
}

#[test]
fn csv_has_a_line_per_run_and_quotes_what_needs_it() {
    let record = fake::gpu();
    let text = render::csv(&record);
    assert_eq!(text.lines().count(), 1 + record.rungs.len());
    let (head, a0) = (text.lines().next().expect("a head"), text.lines().nth(1).expect("a0"));
    // Without commas in quotes, cells can be counted.
    let inside = |line: &str| line.split('"').step_by(2).collect::<String>().matches(',').count();
    assert_eq!(inside(head), inside(a0));
    assert!(a0.contains("\"off by 1.2e-3, within n·u·Σ|x|\""), "{a0}");
    assert!(a0.contains(",990.66,"), "{a0}");
}

#[test]
fn a_chart_has_a_bar_for_every_run_that_is_right() {
    let record = fake::gpu();
    let chart = render::svg(&record);
    let timed = record.rungs.iter().filter(|r| !r.samples_ns.is_empty() && r.verdict.passed).count();
    assert_eq!(chart.matches("<rect class=\"bar\"").count() + chart.matches("<rect class=\"own\"").count(), timed);
    assert!(chart.contains("Imaginary &lt;GPU&gt;") && chart.contains(">FAILED<"));
    std::fs::write(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpu.svg"), &chart).expect("written");
}

#[test]
fn a_record_survives_json_and_an_empty_one_every_form() {
    let record = emulated(1 << 11);
    let json = serde_json::to_string(&record).expect("json");
    let again: Record = serde_json::from_str(&json).expect("a record");
    assert_eq!(render::html(&again), render::html(&record));
    let empty = Record { rungs: Vec::new(), ..record };
    let forms = [render::table, render::markdown, render::csv, render::svg, render::html];
    assert!(forms.iter().all(|form| !form(&empty).contains("NaN")));
}
