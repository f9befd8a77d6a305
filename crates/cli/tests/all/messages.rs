//! Refusals name the mistake and the option, and take neither time nor memory.

use crate::support::{Dir, count_up, f32s, f64s, floats, list, npy};

#[test]
fn offsets_labels_and_weights_that_do_not_fit() {
    let dir = Dir::new();
    dir.write("x.npy", &floats(&[1.0, 2.0, 4.0]));
    dir.write("minus.npy", &list(&[-1, 2]));
    dir.write("labels.npy", &list(&[0, -1, 0]));
    dir.write("weights.npy", &floats(&[1.0, 2.0]));
    let offsets = dir.run("segments sum x.npy --offsets minus.npy");
    offsets.refused(&["offset -1 (entry 0)", "give 0 or more"]);
    assert!(!offsets.err.contains("elements along axis 0"), "{offsets:?}");
    let labels = dir.run("group sum x.npy --by labels.npy --groups 0");
    labels.refused(&["label 0 (entry 0) is out of range", "give nothing but -1"]);
    let weights = dir.run("histogram x.npy --weights weights.npy");
    weights.refused(&["weights have shape [2]", "[3]"]);
    assert!(!weights.err.contains("label"), "{weights:?}");
}

#[test]
fn the_option_that_is_wrong_is_named() {
    let dir = Dir::new();
    dir.write("x.npy", &list(&[1, 2, 3]));
    dir.write("labels.npy", &list(&[2, 0, 0]));
    let fill = dir.run("group max x.npy --by labels.npy --fill nan");
    fill.refused(&["--fill", "the result is i64"]);
    assert!(!fill.err.contains("--initial"), "{fill:?}");
    dir.run("reduce sum x.npy --initial 0.5").refused(&["--initial 0.5"]);
    for line in ["reduce sum x.npy", "describe x.npy", "unique x.npy", "histogram x.npy", "kmeans x.npy -k 1"] {
        dir.run(&format!("{line} --threads -1")).refused(&["--threads", "1 to 4096"]);
        dir.run(&format!("{line} --threads 0")).refused(&["--threads", "1 to 4096"]);
        dir.run(&format!("{line} --threads 2 --device cuda")).refused(&["--threads is for a CPU"]);
    }
    dir.run("group size x.npy --by labels.npy --fill 1").refused(&["size does not take --fill"]);
    let precise = dir.run("group first x.npy --by labels.npy --precision compensated");
    precise.refused(&["first does not take --precision"]);
}

#[test]
fn only_what_is_near_is_suggested() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2]));
    for (op, meant) in [("summ", "sum"), ("average", "mean"), ("stdev", "std"), ("logsumexq", "logsumexp")] {
        dir.run(&format!("reduce {op} x.npy")).refused(&[&format!("did you mean `{meant}`?")]);
    }
    for op in ["foo", "median", "x"] {
        let said = dir.run(&format!("reduce {op} x.npy"));
        said.refused(&[&format!("unknown reduction `{op}`"), "one of sum, prod"]);
        assert!(!said.err.contains("did you mean"), "{said:?}");
    }
    // These commands have no -o.
    for line in ["kmeans x.npy -k 1 --labels no/such/x.npy", "ladder --rung a0 --device emulator --json no/such/x.json"]
    {
        let said = dir.run(line);
        said.refused(&["cannot create no/such/x"]);
        assert!(!said.err.contains("-o"), "{said:?}");
    }
}

#[test]
fn first_centroids_are_named_in_any_case_or_leave_nothing_to_chance() {
    let dir = Dir::new();
    dir.write("p.npy", &npy(1, "'<f4'", false, "(4, 1)", &f32s(&[0.0, 1.0, 10.0, 11.0])));
    dir.write("c.npy", &npy(1, "'<f4'", false, "(2, 1)", &f32s(&[0.0, 10.0])));
    let random = dir.run("kmeans p.npy -k 2 --init random --quiet");
    assert_eq!(dir.run("kmeans p.npy -k 2 --init Random --quiet").ok(), random.ok());
    dir.run("kmeans p.npy -k 2 --init c.npy --quiet").ok();
    dir.run("kmeans p.npy -k 2 --init c.npy --seed 3").refused(&["--seed has no effect"]);
    dir.run("kmeans p.npy -k 2 --init c.npy --n-init 2").refused(&["--n-init has no effect"]);
}

/// Each of these took gigabytes, some of them half a minute.
#[test]
fn results_out_of_proportion_are_refused_or_cost_what_they_hold() {
    let dir = Dir::new();
    dir.write("x.npy", &floats(&[1.0, 2.0, 4.0]));
    dir.write("far.npy", &list(&[0, 3_000_000, -1]));
    dir.run("histogram x.npy --bins 1000000000").refused(&["too narrow", "1000000000 bins"]);
    dir.run("group sum x.npy --by far.npy -o far_sums.npy").ok();
    let sums = std::fs::read(dir.join("far_sums.npy")).unwrap();
    assert!(sums.ends_with(&f32s(&[0.0, 2.0])) && sums.len() == 128 + 4 * 3_000_001, "{}", sums.len());
    // A header alone, of an array without elements but with more results than any memory holds.
    dir.write("none.npy", &npy(1, "'<f4'", false, "(1000000000000000, 0)", &[]));
    for line in ["reduce sum none.npy --axis 1", "describe none.npy --axis 1", "reduce mean none.npy --axis 1 -o m.npy"]
    {
        dir.run(line).refused(&["would take", "bytes"]);
    }
    assert_eq!(dir.files(), ["far.npy", "far_sums.npy", "none.npy", "x.npy"]);
}

#[test]
fn an_empty_axis_between_others_is_no_panic() {
    let dir = Dir::new();
    dir.write("none.npy", &npy(1, "'<f4'", false, "(3, 3, 0)", &[]));
    assert_eq!(dir.run("reduce sum none.npy --axis 0,2").ok(), "[0. 0. 0.]\n");
    dir.run("reduce max none.npy --axis 0,2").refused(&["max of no elements"]);
    for device in ["cpu", "cuda"] {
        let line = format!("explain var --shape 3,3,0 --dtype f32 --axis 0,2 --device {device}");
        assert!(dir.run(&line).ok().contains("3 outputs of 0 elements each"));
    }
}

#[test]
fn nothing_and_what_a_mask_leaves_are_described() {
    let dir = Dir::new();
    dir.write("none.npy", &npy(1, "'<f4'", false, "(0,)", &[]));
    let none = dir.run("describe none.npy");
    for line in ["count      0", "nan_count  0", "min        none", "mean       nan", "sum        0"] {
        assert!(none.ok().lines().any(|other| other == line), "{line:?} is not in {none:?}");
    }
    let json = dir.run("describe none.npy --json");
    assert!(json.ok().contains("\"count\": 0") && json.out.contains("\"min\": null"), "{json:?}");
    dir.write("x.npy", &floats(&[1.0, f32::NAN, 5.0, -7.0]));
    dir.write("mask.npy", &npy(1, "'|b1'", false, "(4,)", &[1, 1, 1, 0]));
    let masked = dir.run("describe x.npy --where mask.npy --skip-nan");
    for line in ["count      3", "nan_count  1", "min        1", "argmax     2", "mean       3", "sum        6"] {
        assert!(masked.ok().lines().any(|other| other == line), "{line:?} is not in {masked:?}");
    }
    assert_eq!(dir.run("describe x.npy --where mask.npy --skip-nan -o said.txt").ok(), "");
    assert_eq!(std::fs::read_to_string(dir.join("said.txt")).unwrap(), masked.out);
    // The mask leaves nothing of one of two slices, which then has no least element.
    dir.write("m.npy", &npy(1, "'<f8'", false, "(2, 2)", &f64s(&[1.0, 2.0, 3.0, 4.0])));
    dir.write("rows.npy", &npy(1, "'|b1'", false, "(2, 1)", &[1, 0]));
    dir.run("describe m.npy --axis 1 --where rows.npy").refused(&["min of no elements"]);
    let columns = dir.run("describe m.npy --axis 0 --where rows.npy --json");
    assert!(columns.ok().contains("\"count\": [1, 1]") && columns.out.contains("\"max\": [1, 2]"), "{columns:?}");
}

#[test]
fn numpys_names_of_dtypes_are_known() {
    let dir = Dir::new();
    let big: Vec<u8> = [1.0f32, 2.5].iter().flat_map(|x| x.to_be_bytes()).collect();
    dir.write("big", &big);
    dir.write("little", &f32s(&[1.0, 2.5]));
    for (raw, file) in [(">f4", "big"), ("<f4", "little"), ("f4", "little"), ("float32", "little"), ("f32", "little")] {
        assert_eq!(dir.args(["reduce", "sum", file, "--raw", raw, "--shape", "2"]).ok(), "3.5\n", "{raw}");
    }
    assert_eq!(dir.args(["reduce", "sum", "big", "--raw", ">i8", "--shape", "1"]).ok(), "4575657222484262912\n");
    assert_eq!(dir.args(["reduce", "sum", "big", "--raw", "i8", "--shape", "8"]).ok(), "31\n");
    assert_eq!(
        dir.args(["explain", "sum", "--shape", "2", "--dtype", "<f8"]).ok().lines().next(),
        Some("sum of f64 [2] over axes [0]")
    );
    dir.args(["reduce", "sum", "little", "--raw", "f4", "--shape", "2", "--dtype", ">f8"]).refused(&["unknown dtype"]);
    dir.args(["reduce", "sum", "little", "--raw", ">f5", "--shape", "2"]).refused(&["unknown dtype"]);
}
