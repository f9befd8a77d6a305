use std::collections::BTreeSet;
use std::path::Path;

use super::duplicates::Sources;
use super::finding::{Finding, Rule};
use super::floors::{Member, Root};
use super::{floors, imports, lines};

/// The findings of a rule in a small library, given its files.
fn findings(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }
    let root = Root { library: Some("small".into()), file: folder.path().join("lib.rs") };
    let member = Member { name: "small".into(), roots: vec![root], dependencies: Vec::new() };
    let found = imports::check(folder.path(), &[member]).expect("sources that can be read");
    found.into_iter().filter(|finding| finding.rule == rule).map(|finding| finding.text).collect()
}

/// The files that are in circles.
fn circular(files: &[(&str, &str)]) -> BTreeSet<String> {
    let found = findings(Rule::Circles, files);
    found.iter().filter_map(|text| text.split(' ').nth(2).map(str::to_owned)).collect()
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn a_circle_is_found_and_a_file_beside_it_is_not() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "use super::a::{self}; pub struct B(*const a::A);"),
        ("c.rs", "use crate::a::A; pub struct C(A);"),
    ];
    assert_eq!(circular(&files), names(["a.rs", "b.rs"]));
}

#[test]
fn a_path_in_code_and_in_a_macro_is_an_import() {
    let b = [
        "pub fn b() { crate::a::a() }",
        "macro_rules! b { () => { $crate::a::a() }; }",
        "fn b() { m!(crate::a::a()) }",
    ];
    for b in b {
        let a = "pub fn a() { use crate::b; b::b() }";
        assert_eq!(circular(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", b)]), names(["a.rs", "b.rs"]));
    }
}

#[test]
fn a_reexport_is_followed_to_the_file_that_defines_the_name_and_is_no_import() {
    let files = [
        ("lib.rs", "mod room; mod user;"),
        ("room/mod.rs", "mod one; mod two; pub use one::{One, First as Renamed}; pub use two::*; pub struct Own;"),
        ("room/one.rs", "use super::Two; pub struct One(Two); pub struct First;"),
        ("room/two.rs", "pub struct Two;"),
        ("user.rs", "use crate::room::{Renamed, Two};"),
    ];
    assert_eq!(circular(&files), names([]));
    let mut files = files;
    // Through both kinds of re-export.
    files[3].1 = "use super::Renamed; pub struct Two(Renamed);";
    assert_eq!(circular(&files), names(["room/one.rs", "room/two.rs"]));
    files[3].1 = "use super::Own; pub struct Two(Own);";
    assert_eq!(circular(&files), names([]));
}

#[test]
fn an_import_of_a_child_that_imports_its_parent_is_a_circle() {
    let files = [
        ("lib.rs", "mod parent;"),
        ("parent.rs", "mod child; pub struct Parent(child::Child);"),
        ("parent/child.rs", "use super::Parent; pub struct Child(*const Parent);"),
    ];
    assert_eq!(circular(&files), names(["parent.rs", "parent/child.rs"]));
}

#[test]
fn tests_do_not_count() {
    let of_tests = [
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "#[cfg(all(test, feature = \"x\"))] use crate::b::B;",
        "#[cfg(test)] mod tests;",
        "#[cfg(test)] fn b() -> crate::b::B { crate::b::B }",
    ];
    for text in of_tests {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", &*format!("pub struct A; {text}")),
            ("b.rs", "use crate::a::A; pub struct B(A);"),
        ];
        assert_eq!(circular(&files), names([]), "{text}");
    }
    let not_of_tests = "#[cfg(not(test))] use crate::b::B; pub struct A;";
    let files = [("lib.rs", "mod a; mod b;"), ("a.rs", not_of_tests), ("b.rs", "use crate::a::A; pub struct B(A);")];
    assert_eq!(circular(&files), names(["a.rs", "b.rs"]));
}

#[test]
fn a_climb_is_found() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use a::A; pub struct Own; #[macro_export] macro_rules! own { () => {} }"),
        ("a.rs", "pub struct A; pub struct More;"),
        (
            "b.rs",
            "macro_rules! b { () => { $crate::A }; } use crate::A; use super::A as Again; use crate::a::More;
             use crate::Own; fn b() { crate::own!() }",
        ),
    ];
    let found = findings(Rule::Climbs, &files);
    assert_eq!(found, ["b.rs:1: `crate::A` is `crate::a::A`", "b.rs:1: `super::A` is `crate::a::A`"]);
}

#[test]
fn a_dependency_goes_down() {
    let member = |name: &str, dependency: &str| Member {
        name: name.into(),
        roots: Vec::new(),
        dependencies: vec![dependency.into()],
    };
    let up = ["warpfold-core", "warpfold-cpu", "warpfold-cpu", "warpfold"].map(str::to_owned);
    let to = ["warpfold-array", "warpfold-simt", "warpfold-cpu", "xtask"];
    for (name, dependency) in up.iter().zip(to) {
        assert_eq!(floors::check(&[member(name, dependency)]).len(), 1, "{name} to {dependency}");
    }
    assert!(floors::check(&[member("warpfold-cli", "warpfold"), member("xtask", "warpfold")]).is_empty());
    let [Finding { text, .. }] = &floors::check(&[member("warpfold-new", "warpfold-core")])[..] else {
        panic!("a member without a floor is an error")
    };
    assert!(text.contains("warpfold-new stands on no floor"), "{text}");
}

#[test]
fn long_files_and_wide_lines_are_counted() {
    let count = |rule, text: &str| lines::check("a.rs", text).iter().filter(|found| found.rule == rule).count();
    assert_eq!(count(Rule::LongFiles, &"\n".repeat(400)), 0);
    assert_eq!(count(Rule::LongFiles, &"\n".repeat(401)), 1);
    assert_eq!(count(Rule::WideLines, &format!("// {}", "é".repeat(117))), 0);
    assert_eq!(count(Rule::WideLines, &format!("// {}", "é".repeat(118))), 1);
    assert_eq!(count(Rule::Positions, "    queue_at([1, 2])\n// queue_at( in words\npub fn queue_at(at: u32) {"), 1);
}

#[test]
fn every_crate_of_the_workspace_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder");
    let members = floors::members(root).expect("cargo metadata");
    let core = members.iter().find(|member| member.name == "warpfold-core").expect("a member");
    assert_eq!(core.roots[0].library.as_deref(), Some("warpfold_core"));
    let array = members.iter().find(|member| member.name == "warpfold-array").expect("a member");
    assert_eq!(array.dependencies, ["warpfold-core"]);
}

/// The duplicates in files that are named `a.rs`, `b.rs` and so on.
fn duplicates(texts: &[&str]) -> Vec<String> {
    let mut sources = Sources::default();
    for (name, text) in ('a'..).zip(texts) {
        sources.add(&format!("{name}.rs"), text).expect("tokens");
    }
    sources.check().into_iter().map(|finding| finding.text).collect()
}

/// A function whose body has a number of lines that are all different.
fn function(name: &str, lines: usize) -> String {
    let body = (0..lines).map(|line| format!("    let x{line} = {}y{line};\n", "-".repeat(line)));
    format!("fn {name}() {{\n{}}}\n", body.collect::<String>())
}

#[test]
fn six_equal_lines_are_a_duplicate_and_five_are_none() {
    assert_eq!(duplicates(&[&function("one", 6), &function("two", 6)]), ["a.rs:2-7 ~ b.rs:2-7: 6 lines, equal"]);
    assert!(duplicates(&[&function("one", 5), &function("two", 5)]).is_empty());
    // In one file, and longer.
    let both = function("one", 9) + &function("two", 9);
    assert_eq!(duplicates(&[&both]), ["a.rs:2-10 ~ a.rs:13-21: 9 lines, equal"]);
}

#[test]
fn comments_imports_and_white_space_make_no_difference() {
    let changed = format!("//! Words.\n\npub use b::{{\n    C,\n}};\n{}", function("two", 6));
    let changed = changed.replace(" = ", "=").replace("let x3", "\n// A comment.\nlet x3");
    assert_eq!(duplicates(&[&function("one", 6), &changed]), ["a.rs:2-7 ~ b.rs:7-14: 6 lines, equal"]);
    let imports = (0..9).map(|n| format!("use a::b{n};\n")).collect::<String>();
    assert!(duplicates(&[&imports, &imports]).is_empty());
}

#[test]
fn a_long_run_of_the_same_shape_is_a_duplicate() {
    let (one, two) = (function("one", 20), function("two", 20).replace('y', "other"));
    assert_eq!(duplicates(&[&one, &two]), ["a.rs:1-21 ~ b.rs:1-21: 21 lines, the same shape"]);
    assert!(duplicates(&[&function("one", 6), &function("two", 6).replace('y', "other")]).is_empty());
}

#[test]
fn what_stands_in_many_places_is_an_idiom() {
    let texts: Vec<String> = (0..9).map(|n| function(&format!("f{n}"), 6)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(duplicates(&texts[..8]).len(), 28);
    assert!(duplicates(&texts).is_empty());
}
