//! `warpfold bench`, without peers.

use crate::support::Dir;

#[test]
fn the_suites_and_their_cases_are_listed() {
    let dir = Dir::new();
    let suites = dir.run("bench --list");
    for name in ["full", "dtypes", "shapes", "ops", "small", "first", "smoke", "cpu"] {
        assert!(suites.ok().lines().any(|line| line.starts_with(name)), "{suites:?}");
    }
    let cases = dir.run("bench --list --suite shapes,full --filter 2^");
    cases.refused(&["2^", "--list"]);
    let cases = dir.run("bench --list --suite shapes,full --filter (16384,16384)");
    assert_eq!(cases.ok().lines().count(), 3, "{cases:?}");
    assert!(cases.out.contains("shapes: sum f32 (16384,16384) axis 0,1 f"), "{cases:?}");
}

#[test]
fn a_suite_of_ones_own_runs_and_leaves_a_record_and_tables() {
    let dir = Dir::new();
    let suite =
        "title = 'Mine'\n[[cases]]\nop = ['sum', 'argmax']\ndtype = 'f32'\nshape = [30, 40]\naxes = [[0], [1]]\n";
    std::fs::write(dir.join("mine.toml"), suite).expect("a file");
    let ran = dir.run("bench --suite mine.toml --peers none --samples 3 --device cpu --json r.json --markdown r.md");
    assert!(ran.ok().contains("Mine") && ran.out.contains("(30,40)"), "{ran:?}");
    assert!(ran.err.contains("argmax f32 (30,40) axis 1: warpfold"), "{ran:?}");
    let text = std::fs::read_to_string(dir.join("r.json")).expect("a record");
    let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record["command"], "warpfold bench --suite mine.toml --device cpu --peers none --samples 3");
    assert_eq!(record["cases"].as_array().map(Vec::len), Some(4));
    let ours = &record["cases"][0]["sides"]["warpfold"];
    assert_eq!(ours["samples_ns"].as_array().map(Vec::len), Some(3));
    assert_eq!(ours["verdict"]["passed"], true);
    assert!(std::fs::read_to_string(dir.join("r.md")).expect("tables").contains("| sum | f32 | (30,40) | 0 |"));
}

#[test]
fn a_peer_that_is_not_there_is_named_and_the_run_goes_on() {
    let ran =
        Dir::new().run("bench --suite smoke --filter argmin --samples 1 --device cpu --peers mine=./no/such/peer");
    assert!(ran.ok().contains("mine is absent: ./no/such/peer is not there"), "{ran:?}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let dir = Dir::new();
    dir.run("bench --suite nonesuch").refused(&["nonesuch", "smoke", ".toml"]);
    dir.run("bench --suite no/such.toml").refused(&["no/such.toml"]);
    std::fs::write(dir.join("bad.toml"), "title = 'x'\n\n[[cases]]\nop = 'sun'\ndtype = 'f32'\nelements = 3\n")
        .expect("a file");
    dir.run("bench --suite bad.toml").refused(&["bad.toml:4:", "did you mean `sum`"]);
    dir.run("bench --suite smoke --peers nobody").refused(&["nobody", "cub"]);
    dir.run("bench --suite smoke --filter xyz").refused(&["xyz"]);
    dir.run("bench --suite smoke --json no/such/folder/r.json").refused(&["no/such/folder"]);
    dir.run("bench --suite smoke --samples 0").refused(&["1..=1000"]);
    dir.run("bench --suite smoke --device gpu").refused(&["gpu"]);
}
