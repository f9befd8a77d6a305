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
    dir.run("ladder --device emulator --rung z9").refused(&["no rung"]);
    dir.run("ladder --device emulator --family a --json x --csv x").refused(&["x", "twice"]);
    dir.run("ladder --device emulator --family a --json no/such/folder/x").refused(&["no/such/folder"]);
    dir.run("ladder --device cpu").refused(&["emulator"]);
    dir.run("ladder -n 0").refused(&["2^22"]);
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
