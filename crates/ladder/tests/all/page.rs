//! The learner's page.

use crate::fake;
use crate::generate::emulated::emulated;
use warpfold_ladder::record::Record;
use warpfold_ladder::render::sources::{self, Source};
use warpfold_ladder::render::{self, groups, html};

/// Writes the page to the target folder, for inspection.
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

/// Addresses stand in links to the sources, and nowhere else: the page loads nothing.
fn fetches_nothing(page: &str) {
    for word in ["http:", "src=", "url(", "@import", "<script", "<link rel=\"stylesheet"] {
        assert!(!page.contains(word), "{word}");
    }
    assert_eq!(page.matches("https:").count(), page.matches("<a href=\"https:").count());
}

/// What a reader sees of some HTML.
fn seen(html: &str) -> String {
    let parts = html.split('<').skip(1).map(|part| part.split_once('>').map_or("", |(_, text)| text));
    parts.collect::<Vec<_>>().concat()
}

/// From an id to the end of its section.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("a section {id}"));
    &page[start..start + page[start..].find("</section>").expect("its end")]
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
    let a6 = seen(section(&page, "a6"));
    assert!(a6.contains("At 2¹² elements a thread takes 2 of them; at 2²⁵, 128."), "the share of a thread of a6");
    assert!(!page.contains("FAILED") && !page.contains("NOT CAUGHT"));
    assert!(!page.contains("Times are medians"), "a footer about times");
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
    assert!(seen(&page).contains("a plain read: 4300 GB/s"));
    assert_eq!(page.matches("<b class=\"bad\">FAILED</b>").count(), 3, "a3 in the chart and both tables");
    assert!(page.contains("<p class=\"alarm\"><b>FAILED</b>"));
    assert!(page.contains("Times are medians"));
}

#[test]
fn published_figures_say_whose_they_are_and_speed_ups_over_what() {
    let page = html(&fake::gpu());
    let sources = section(&page, "sources");
    for family in ["a", "b", "c"] {
        let named: Vec<_> = sources::of(family).collect();
        assert!(named.iter().any(|source| source.url.is_some()), "{family}");
        for Source { title, url, .. } in named {
            assert!(
                seen(sources).contains(title) && url.is_none_or(|url| sources.contains(&format!("href=\"{url}\""))),
                "{title}"
            );
        }
    }
    let (results, a3) = (seen(section(&page, "results")), seen(section(&page, "a3")));
    for head in ["speed-up over a0", "published µs, A100 (source)", "published speed-up over a0", "speed-up over c1"] {
        assert!(results.contains(head), "{head}");
    }
    assert!(a3.contains("244.2 µspublished, A100 (source)") && a3.contains("as fast as a0"), "{a3}");
    let only_a = fake::gpu();
    let only_a = Record { rungs: only_a.rungs.into_iter().filter(|run| run.family == "a").collect(), ..only_a };
    assert!(!html(&only_a).contains("csdn"), "sources of families that are not there");
}

#[test]
fn a_speed_up_in_the_published_times_is_over_the_same_rung() {
    let mut record = fake::gpu();
    record.rungs.retain(|run| ["a4", "a6"].contains(&&*run.rung));
    let group = &groups(&record)[0];
    assert_eq!(group.baseline(), "a4");
    let speedup = group.published_speedup(group.runs[1]).expect("published");
    assert!((speedup - 167.10 / 105.47).abs() < 1e-9, "{speedup}");
}

#[test]
fn shared_passes_have_one_name_and_one_unit() {
    for record in [emulated(1 << 11), fake::gpu()] {
        let forms =
            [html(&record), render::svg(&record), render::markdown(&record)].map(|text| seen(&format!("<>{text}")));
        for text in &forms {
            let named = text.match_indices("shared pass").map(|(at, _)| &text[at..]);
            // The glossary explains the word, the answer uses it in a sentence.
            let odd: Vec<&str> = named.filter(|rest| !rest.starts_with("shared passes per element")).collect();
            assert!(
                odd.iter().all(|rest| rest.starts_with("shared passOne turn") || rest.starts_with("shared pass One")),
                "{odd:?}"
            );
            for other in ["waves/", "passes per request", "passes / 1000", "passes, 10"] {
                assert!(!text.contains(other), "{other}");
            }
        }
    }
}

#[test]
fn every_column_of_a_table_is_a_word_of_the_glossary_where_it_is_no_plain_one() {
    let page = html(&fake::gpu());
    let glossary = section(&page, "words");
    for word in [
        "lane",
        "request",
        "sector",
        "warp",
        "wavefront",
        "stride",
        "divergence",
        "branch efficiency",
        "bank conflict",
        "occupancy",
        "barrier",
        "shared pass",
        "published",
    ] {
        assert!(seen(glossary).contains(word), "{word}");
    }
    // Each word opens a popover that is there, and tells the same on hover.
    for part in page.split("<button class=\"word\" popovertarget=\"").skip(1) {
        let id = part.split('"').next().expect("a target");
        assert!(page.contains(&format!("<div popover class=\"meaning\" id=\"{id}\">")), "{id}");
        assert!(part[part.find('>').expect("a tag")..].starts_with("><abbr title=\""), "{id}");
    }
    let head = |word: &str| page.contains(&format!(">{word}</abbr></button>"));
    for word in
        ["barriers", "branch efficiency", "active lanes", "bank conflicts", "shared passes per element", "sectors"]
    {
        assert!(head(word), "{word}");
    }
}

#[test]
fn code_that_is_clipped_says_so_and_can_be_scrolled_by_keys() {
    let page = html(&emulated(1 << 11));
    let listings = page.matches("<pre class=\"code").count();
    assert!(listings > 30);
    assert_eq!(page.matches("\"><pre class=\"code").count() + page.matches("</p><pre class=\"code").count(), listings);
    for part in page.split("<pre class=\"code").skip(1) {
        let tag = part.split('>').next().expect("a tag");
        assert!(tag.contains("tabindex=\"0\" role=\"region\" aria-label=\""), "{tag}");
    }
    let cues: Vec<&str> = page.split("<p class=\"cue ").skip(1).filter_map(|part| part.split('"').next()).collect();
    assert_eq!(cues.len(), listings);
    assert!(cues.iter().all(|cue| page.contains(&format!(".{cue} {{ display: block; }}"))), "{cues:?}");
}

#[test]
fn a_page_of_any_rungs_has_no_link_that_leads_nowhere() {
    let all = emulated(1 << 11);
    let mut variant = all.rungs.iter().find(|run| run.rung == "b4").expect("b4").clone();
    variant.rung = "b4_x8".to_owned();
    for names in
        [&["a5"][..], &["a4_as_published"], &["b4_x8"], &["b3", "b4", "b4_x8"], &["c1", "c3_as_published"], &[]]
    {
        let runs = all.rungs.iter().chain([&variant]).filter(|run| names.contains(&&*run.rung));
        let page = html(&Record { rungs: runs.cloned().collect(), ..all.clone() });
        is_well_formed(&page);
        assert_eq!(page.contains("<section class=\"rung\" id=\"b4\""), names.contains(&"b4_x8"), "{names:?}");
    }
}

#[test]
fn the_last_rungs_show_the_production_kernels_parts() {
    let mut record = fake::gpu();
    record.rungs.retain(|run| ["a0", "a9", "c1", "c8"].contains(&&*run.rung));
    let page = html(&record);
    is_well_formed(&page);
    let (a9, c8) = (section(&page, "a9"), section(&page, "c8"));
    for (text, parts) in [
        (a9, &["rows_sum_f32", "shape/rows.rs", "shape/piece/ordered.rs", "fold/tree.rs", "pub struct Sums"][..]),
        (c8, &["kmeans_column_f32", "kmeans/column.rs", "kmeans/finish.rs"]),
    ] {
        for part in parts {
            assert!(seen(text).contains(part), "{part}");
        }
    }
    assert!(!seen(a9).contains("struct Norms"), "only the fold of a sum");
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
