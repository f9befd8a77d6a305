//! `warpfold ladder`, in the emulator.

use crate::support::Dir;

#[test]
fn the_ladder_runs_in_the_emulator_and_writes_every_form() {
    let dir = Dir::new();
    let ran =
        dir.run("ladder --device emulator -n 2^11 --json r.json --csv r.csv --markdown r.md --svg r.svg --html r.html");
    let table = ran.ok();
    for rung in ["a0", "a8", "b4", "c7", "c8", "a4_as_published"] {
        assert!(table.contains(rung), "{rung} is not in {table}");
    }
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).expect(name);
    let record: serde_json::Value = serde_json::from_str(&read("r.json")).expect("JSON");
    assert_eq!(record["version"], 1);
    assert_eq!(record["command"], "warpfold ladder --device emulator -n 2048");
    let rungs = record["rungs"].as_array().expect("a list");
    assert!(rungs.len() >= 30 && rungs.iter().all(|r| r["counters"].is_object()));
    let faults = |name: &str| {
        let row = rungs.iter().find(|r| r["rung"] == name).expect("a row");
        row["verdict"]["faults"].as_array().expect("a list").len()
    };
    assert!(faults("a4_as_published") > 0 && faults("a5_as_published") > 0 && faults("a4") == 0);
    for (name, start) in [("r.svg", "<svg"), ("r.html", "<!"), ("r.csv", "device,")] {
        assert!(read(name).to_lowercase().contains(start), "{name}");
    }
    assert!(read("r.md").contains("a8"));
}

#[test]
fn a_form_can_take_the_place_of_the_table() {
    let ran = Dir::new().run("ladder --device emulator --rung a0,a1 -n 1000 --dtype i32 --json -");
    let record: serde_json::Value = serde_json::from_str(ran.ok()).expect("nothing but JSON");
    let names: Vec<&str> =
        record["rungs"].as_array().expect("a list").iter().filter_map(|r| r["rung"].as_str()).collect();
    assert_eq!(names, ["a0", "a1"]);
    assert_eq!(record["rungs"][0]["dtype"], "i32");
}

#[test]
fn what_the_ladder_cannot_do_is_refused() {
    let dir = Dir::new();
    dir.run("ladder --device emulator --rung c3 --block 64").refused(&["c3", "64", "128"]);
    dir.run("ladder --device cpu").refused(&["emulator"]);
    for wrong in ["0", "-1", "2^41", "1.5", ""] {
        dir.args(["ladder", "-n", wrong]).refused(&["2^22"]);
    }
    dir.run("ladder --block 100").refused(&["64", "128", "256", "512", "1024"]);
}

#[test]
fn a_rung_that_does_not_exist_is_told_which_do() {
    let dir = Dir::new();
    let all = ["a0", "a9", "a7_as_published", "b4_x8", "c8", "c7_as_published"];
    dir.run("ladder --rung nope").refused(&all);
    dir.run("ladder --rung a0,a33").refused(&[&all[..], &["`a33`: did you mean a3?"]].concat());
    dir.run("ladder --rung read").refused(&all);
    dir.args(["ladder", "--rung", ""]).refused(&all);
    let ran = dir.args(["ladder", "--rung", "a\x1b[2J"]);
    ran.refused(&["`a\\u{1b}[2J`"]);
    assert!(!ran.err.contains('\x1b'), "{ran:?}");
    let ran = dir.run("ladder --device emulator --rung A3,b4_x4 -n 100 --csv -");
    assert_eq!(ran.ok().lines().count(), 3, "{ran:?}");
    let script = dir.run("completions bash");
    assert!(script.ok().contains("b4_x8") && script.ok().contains("a4_as_published"), "completions offer rungs");
}

#[test]
fn an_option_without_an_effect_is_refused() {
    let dir = Dir::new();
    dir.run("ladder --device emulator --elements 2^40").refused(&["--elements 1099511627776", "2^20"]);
    dir.run("ladder --device emulator --family c --dtype i32").refused(&["--dtype i32", "f32", "family a"]);
    dir.run("ladder --device emulator --family a --clusters 4").refused(&["--clusters", "family c"]);
    dir.run("ladder --device emulator --rung a0,b1 --coords 4").refused(&["--coords", "family c"]);
    dir.run("ladder --device emulator --rung a9 --block 128").refused(&["--block", "library"]);
    dir.run("ladder --device emulator --samples 4").refused(&["--samples", "no times"]);
    dir.run("ladder --device emulator --rung a4_as_published -n 100").refused(&["--elements", "4093"]);
    dir.run("ladder --device emulator --family c -n 2^20 --coords 100").refused(&["166111 points"]);
}

#[test]
fn files_that_cannot_be_written_are_refused_before_anything_runs() {
    let dir = Dir::new();
    std::fs::create_dir(dir.join("folder")).expect("a folder");
    let run = |files: &str| dir.run(&format!("ladder --device emulator --rung a0 -n 100 {files}"));
    for (files, words) in [
        ("--json x --csv x", &["--json", "--csv", "a file of its own"][..]),
        ("--json x --html ./x", &["--json", "--html", "a file of its own"]),
        ("--json x --html folder/../x", &["--html", "a file of its own"]),
        ("--json - --html -", &["--html", "a file of its own"]),
        ("--json no/such/folder/x", &["no/such/folder"]),
        ("--html folder", &["folder"]),
        ("--html folder/", &["folder"]),
    ] {
        let ran = run(files);
        ran.refused(words);
        assert!(!ran.err.contains(" -o"), "{ran:?}");
    }
    dir.args(["ladder", "--device", "emulator", "--rung", "a0", "-n", "1", "--html", ""]).refused(&[]);
    assert_eq!(dir.files(), ["folder"]);
    let ran = run("--json - --html x.html");
    let record: serde_json::Value = serde_json::from_str(ran.ok()).expect("nothing but JSON");
    assert_eq!(record["rungs"][0]["rung"], "a0");
    assert_eq!(dir.files(), ["folder", "x.html"]);
}

#[test]
fn messages_fit_a_terminal() {
    let dir = Dir::new();
    for line in [
        "ladder --rung nope",
        "ladder --device emulator -n 2^40",
        "ladder --device emulator --rung c3,c4,c5,c6,c7 --block 64",
        "ladder --device emulator --family c --dtype i32",
        "ladder --device emulator --rung c1,c8 --clusters 32 --coords 2048 -n 64 --csv x",
        "ladder --rung a0 -n 100 --csv x",
    ] {
        let ran = dir.run(line);
        assert!(!ran.err.is_empty() || ran.code == Some(0), "{ran:?}");
        assert!(ran.err.lines().all(|line| line.chars().count() <= 80), "{line}: {}", ran.err);
    }
}

#[test]
fn auto_without_a_gpu_says_that_it_is_the_emulator() {
    let dir = Dir::new();
    if dir.run("devices").ok().contains("cuda:") {
        return;
    }
    let ran = dir.run("ladder --rung a0 -n 100");
    assert!(ran.ok().contains("a0") && ran.err.contains("emulator"), "{ran:?}");
    dir.run("ladder --device cuda:5 --rung a0").refused(&["cpu"]);
}
