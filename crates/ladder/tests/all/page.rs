//! The learner's page.

use crate::fake;
use crate::generate::emulated::emulated;
use warpfold_ladder::record::Record;
use warpfold_ladder::render::html;

/// Kept, to be looked at.
fn keep(name: &str, page: &str) {
    std::fs::write(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), page).expect("written");
}

fn has_every_rung(record: &Record, page: &str) {
    let names = fake::names(record);
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("<section class=\"rung\" id=\"{name}\"")), "{name}");
        assert!(page.contains(&format!("<a href=\"#{name}\">")), "a way to {name}");
    }
    for run in record.rungs.iter().filter(|r| r.rung.ends_with("_as_published")) {
        assert!(
            page.contains(&format!("id=\"{}-published\"", run.rung.trim_end_matches("_as_published"))),
            "{}",
            run.rung
        );
    }
}

/// Opening and closing tags match, and no two ids are equal.
fn is_well_formed(page: &str) {
    let void = ["!doctype", "meta", "link", "br"];
    let (mut open, mut ids): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for part in page.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect("a tag ends");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "after {ids:?}");
            continue;
        }
        let name = tag.split_whitespace().next().expect("a name");
        if !void.contains(&name) {
            open.push(name);
        }
        if let Some((_, id)) = tag.split_once(" id=\"") {
            let id = id.split('"').next().expect("an id");
            assert!(!ids.contains(&id), "{id} twice");
            ids.push(id);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for link in page.split("href=\"#").skip(1) {
        let target = link.split('"').next().expect("a target");
        assert!(ids.contains(&target), "nothing is called {target}");
    }
}

fn fetches_nothing(page: &str) {
    for word in ["http:", "https:", "src=", "url(", "@import", "<script"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn the_page_of_the_emulator_has_every_rung_and_fetches_nothing() {
    let record = emulated(1 << 12);
    let page = html(&record);
    keep("emulator.html", &page);
    has_every_rung(&record, &page);
    is_well_formed(&page);
    fetches_nothing(&page);
    assert!(page.contains("race on shared `data`"), "the emulator's own words");
    assert!(page.contains("<mark class=\"ln\" data-n=\"33\">"), "the line that the fault names");
    assert!(page.contains("At 2¹² elements a thread takes 2 of them; at 2²⁵, 128."), "the share of a thread of a6");
    assert!(!page.contains("FAILED") && !page.contains("NOT CAUGHT"));
}

#[test]
fn the_page_of_a_gpu_shows_bandwidth_yardsticks_and_failures() {
    let record = fake::gpu();
    let page = html(&record);
    keep("gpu.html", &page);
    has_every_rung(&record, &page);
    is_well_formed(&page);
    fetches_nothing(&page);
    assert!(page.contains("Imaginary &lt;GPU&gt; &amp; Co"));
    assert!(page.contains("a plain read: 4300 GB/s"));
    assert_eq!(page.matches("<b class=\"bad\">FAILED</b>").count(), 3, "a3 in the chart and both tables");
    assert!(page.contains("<p class=\"alarm\"><b>FAILED</b>"));
}

#[test]
fn a_fault_that_is_not_found_is_an_alarm() {
    let mut record = emulated(1 << 11);
    for run in record.rungs.iter_mut().filter(|r| r.rung == "a4_as_published") {
        run.verdict.faults.clear();
        run.verdict.passed = true;
    }
    assert!(html(&record).contains("NOT CAUGHT"));
}
