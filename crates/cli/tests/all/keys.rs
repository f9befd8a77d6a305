//! Segments, groups, distinct values, histograms and k-means, as a user runs them.

use crate::support::{Dir, count_up, f32s, f64s, floats, list, npy};

#[test]
fn segments_and_groups() {
    let dir = Dir::new();
    dir.write("x.npy", &floats(&[1.0, 2.0, 4.0, 8.0, 16.0]));
    dir.write("offsets.npy", &list(&[0, 2, 2, 5]));
    dir.write("labels.npy", &list(&[2, 0, -1, 2, 0]));
    assert_eq!(dir.run("segments sum x.npy --offsets offsets.npy").ok(), "[ 3.  0. 28.]\n");
    assert_eq!(dir.run("segments max x.npy --offsets offsets.npy --fill -1").ok(), "[ 2. -1. 16.]\n");
    assert_eq!(dir.run("group sum x.npy --by labels.npy").ok(), "[18.  0.  9.]\n");
    assert_eq!(dir.run("group argmax x.npy --by labels.npy --fill -1").ok(), "[ 4 -1  3]\n");
    assert_eq!(dir.run("group size x.npy --by labels.npy --groups 4").ok(), "[2 0 2 0]\n");
    let json = dir.run("group first x.npy --by labels.npy --fill nan --json");
    assert!(json.ok().ends_with("\"shape\": [3], \"values\": [2, \"nan\", 1]}\n"), "{json:?}");
    dir.run("group sum x.npy --by labels.npy -o out.npy").ok();
    assert_eq!(std::fs::read(dir.join("out.npy")).unwrap(), floats(&[18.0, 0.0, 9.0]));
    dir.run("segments max x.npy --offsets offsets.npy").refused(&["max of segment 1 finds no elements", "fill"]);
    dir.run("group sum x.npy --by offsets.npy").refused(&["4 labels for values of shape [5]"]);
    dir.run("group sum x.npy --by labels.npy --groups 2").refused(&["label 2 (entry 0) is out of range"]);
    dir.run("group first x.npy --by labels.npy --skip-nan").refused(&["first does not take --skip-nan"]);
    for op in ["sum", "size", "last"] {
        dir.run(&format!("group {op} x.npy --by labels.npy --device cuda:4095")).refused(&["error: no "]);
    }
    dir.run("segments sum - --offsets -").refused(&["cannot both be standard input"]);
    dir.run("segments sum x.npy --offsets x.npy").refused(&["offsets must be integers"]);
}

#[test]
fn distinct_values_and_histograms() {
    let dir = Dir::new();
    dir.write("x.npy", &floats(&[3.0, 1.0, f32::NAN, 3.0, 0.5]));
    assert_eq!(dir.run("unique x.npy --first").ok(), "0.5 1 4\n1 1 1\n3 2 0\nnan 1 2\n");
    assert_eq!(dir.run("unique x.npy -o v.npy --counts n.npy --inverse i.npy").ok(), "");
    assert_eq!(std::fs::read(dir.join("n.npy")).unwrap(), list(&[1, 1, 2, 1]));
    assert_eq!(std::fs::read(dir.join("i.npy")).unwrap(), list(&[2, 1, 3, 2, 0]));
    assert_eq!(dir.files(), ["i.npy", "n.npy", "v.npy", "x.npy"]);
    assert_eq!(dir.run("histogram x.npy --bins 2 --range 0,3").ok(), "0 1.5 2\n1.5 3 2\n");
    dir.write("edges.npy", &npy(1, "'<f8'", false, "(3,)", &f64s(&[0.0, 1.0, 3.0])));
    let json = dir.run("histogram x.npy --edges edges.npy --json");
    assert!(json.ok().ends_with("\"edges\": [0, 1, 3], \"dtype\": \"i64\", \"counts\": [1, 3]}\n"), "{json:?}");
    dir.run("unique x.npy --device cuda:4095").refused(&["error: no "]);
    assert_eq!(dir.run("unique x.npy --device cpu -o v.npy").ok(), "");
    dir.run("histogram x.npy").refused(&["is not finite"]);
    dir.run("histogram x.npy --range 1").refused(&["two numbers"]);
}

#[test]
fn clusters() {
    let dir = Dir::new();
    let points = npy(1, "'<f4'", false, "(4, 2)", &f32s(&[0.0, 0.0, 9.0, 9.0, 0.0, 1.0, 9.0, 8.0]));
    dir.write("x.npy", &points);
    dir.write("first.npy", &npy(1, "'<f4'", false, "(2, 2)", &f32s(&[0.0, 0.0, 9.0, 9.0])));
    let ran = dir.run("kmeans x.npy -k 2 --init first.npy --labels l.npy --centroids c.npy");
    assert_eq!(ran.ok(), "inertia 1 after 2 iterations, converged\n0 2 0 0.5\n1 2 9 8.5\n");
    assert_eq!(ran.err, "iteration 1 inertia 2\niteration 2 inertia 1\n");
    let labels: Vec<u8> = [0i32, 1, 0, 1].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(std::fs::read(dir.join("l.npy")).unwrap(), npy(1, "'<i4'", false, "(4,)", &labels));
    let centroids = npy(1, "'<f4'", false, "(2, 2)", &f32s(&[0.0, 0.5, 9.0, 8.5]));
    assert_eq!(std::fs::read(dir.join("c.npy")).unwrap(), centroids);
    let json = dir.run("kmeans x.npy -k 2 --quiet --json --n-init 3 --seed 5");
    assert!(json.ok().contains("\"inertia\": 1, ") && json.err.is_empty(), "{json:?}");
    assert_eq!(dir.files(), ["c.npy", "first.npy", "l.npy", "x.npy"]);
    dir.run("kmeans x.npy -k 5 --labels never.npy").refused(&["4 points cannot be 5 clusters"]);
    dir.run("kmeans x.npy -k 2 --init x.npy").refused(&["must be [2, 2]"]);
    dir.run("kmeans x.npy -k 2 --device cuda:4095").refused(&["error: no "]);
    dir.write("i.npy", &npy(1, "'|i1'", false, "(2, 2)", &[0, 1, 2, 3]));
    dir.run("kmeans i.npy -k 2").refused(&["must be floats"]);
    dir.write("count.npy", &count_up(&[3, 2, 2]));
    dir.run("kmeans count.npy -k 2").refused(&["not of shape [3, 2, 2]"]);
    assert!(!dir.files().contains(&"never.npy".to_string()));
}
