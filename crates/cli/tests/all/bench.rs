//! `warpfold bench`, without peers.

use crate::support::{Dir, Ran};

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

#[test]
fn random_problems_are_the_same_each_time_and_a_run_goes_on_from_its_record() {
    let dir = Dir::new();
    let list = |words: &str| dir.run(&format!("bench --list --random {words}"));
    let cases = list("7 --cases 5");
    assert_eq!(cases.ok().lines().count(), 5, "{cases:?}");
    assert_eq!(cases.out, list("7 --cases 5").out);
    assert_ne!(cases.out, list("8 --cases 5").out);
    assert!(cases.out.starts_with("random-7-256MiB: "), "{cases:?}");

    let run = "bench --random 3 --bytes 64KiB --peers none --samples 1 --device cpu --json r.json --cases";
    let first = dir.run(&format!("{run} 4"));
    assert!(first.ok().contains("Random problems of seed 3, 64KiB each"), "{first:?}");
    assert!(first.err.contains("random-3-64KiB (4 cases) on cpu, beside no peers: about "), "{first:?}");
    let again = dir.run(&format!("{run} 4 --resume"));
    assert!(again.ok().contains("Random problems") && again.err.contains("4 cases were measured before"), "{again:?}");
    let text = std::fs::read_to_string(dir.join("r.json")).expect("a record");
    let mut record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record["cases"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        record["command"],
        "warpfold bench --random 3 --cases 4 --bytes 64KiB --device cpu --peers none --samples 1"
    );
    assert_eq!(record["digest"].as_str().map(str::len), Some(16));

    record["digest"] = "0".into();
    std::fs::write(dir.join("r.json"), record.to_string()).expect("a file");
    dir.run(&format!("{run} 4 --resume")).refused(&["r.json", "another sources", "--resume"]);
    dir.run("bench --random 3 --suite smoke").refused(&["--suite"]);
    dir.run("bench --cases 3").refused(&["--random"]);
    dir.run("bench --suite smoke --resume").refused(&["--json"]);
    dir.run("bench --random 3 --bytes 256MB").refused(&["256MiB"]);
    dir.run("bench --random 3 --limit soon").refused(&["seconds"]);
}

/// A folder `bench/peers` in the current folder is not trusted: a program in cargo's target folder takes the peers of
/// its sources, and a program elsewhere takes none, unless a folder is given.
#[test]
fn peers_of_the_current_folder_are_not_run_unasked() {
    let dir = Dir::new();
    let peers = dir.join("bench/peers");
    std::fs::create_dir_all(&peers).expect("a folder");
    std::fs::write(peers.join("numpy_peer.py"), "open('ran', 'w')\n").expect("a file");
    let words = "bench --suite smoke --filter argmin --samples 1 --device cpu --peers numpy";
    dir.run(words).ok();
    assert!(!dir.join("ran").exists());

    std::fs::create_dir(dir.join("bin")).expect("a folder");
    let program = dir.join("bin/warpfold");
    let built = env!("CARGO_BIN_EXE_warpfold");
    if std::fs::hard_link(built, &program).is_err() {
        std::fs::copy(built, &program).expect("a copy");
    }
    let elsewhere = |words: &str| {
        let mut command = std::process::Command::new(&program);
        let command = command.current_dir(dir.join("")).args(words.split(' ')).env_remove("WARPFOLD_PEERS");
        Ran::from(command.output().expect("it runs"))
    };
    elsewhere(words).refused(&["numpy", "--peers-from", "WARPFOLD_PEERS"]);
    assert!(!dir.join("ran").exists());
    elsewhere(&format!("{words} --peers-from bench/peers")).ok();
    assert!(dir.join("ran").exists());
}
