//! `-o`: the whole file, or none.

use crate::support::{Dir, count_up, f32s, npy};

#[test]
fn the_output_is_a_npy_file_that_reads_back() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2, 3, 4]));
    assert_eq!(dir.run("reduce sum x.npy --axis 1 -o out.npy").ok(), "");
    let expected = f32s(&[12.0, 15.0, 18.0, 21.0, 48.0, 51.0, 54.0, 57.0]);
    assert_eq!(std::fs::read(dir.join("out.npy")).unwrap(), npy(1, "'<f4'", false, "(2, 4)", &expected));
    assert_eq!(dir.run("reduce sum out.npy").ok(), "276\n");
    assert_eq!(dir.files(), ["out.npy", "x.npy"]);
    let piped = dir.run("reduce sum x.npy --axis 1 -o -");
    assert_eq!(piped.bytes, std::fs::read(dir.join("out.npy")).unwrap());
}

#[test]
fn every_dtype_is_written_as_numpy_writes_it() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2, 3]));
    dir.write("i.npy", &npy(1, "'|i1'", false, "(2, 3)", &[0, 1, 2, 3, 4, 5]));
    for (line, descr, data) in [
        ("argmax x.npy --axis 1", "'<i8'", &[2u64.to_le_bytes(), 2u64.to_le_bytes()].concat()[..]),
        ("any x.npy --axis 1", "'|b1'", &[1, 1]),
        ("sum i.npy --axis 1 --dtype i8", "'|i1'", &[3, 12]),
        ("sum i.npy --axis 1 --dtype u16", "'<u2'", &[3, 0, 12, 0]),
        ("sum x.npy --axis 1 --dtype f16", "'<f2'", &[0, 0x42, 0, 0x4a]),
        ("sum x.npy --axis 1 --dtype bf16", "'<V2'", &[0x40, 0x40, 0x40, 0x41]),
    ] {
        dir.run(&format!("reduce {line} -o out.npy")).ok();
        assert_eq!(std::fs::read(dir.join("out.npy")).unwrap(), npy(1, descr, false, "(2,)", data), "{line}");
    }
    dir.run("reduce sum x.npy -o out.npy").ok();
    assert_eq!(std::fs::read(dir.join("out.npy")).unwrap(), npy(1, "'<f4'", false, "()", &f32s(&[15.0])));
    dir.run("reduce minmax x.npy --axis 1 -o out.npy").ok();
    let pairs = f32s(&[0.0, 2.0, 3.0, 5.0]);
    assert_eq!(std::fs::read(dir.join("out.npy")).unwrap(), npy(1, "'<f4'", false, "(2, 2)", &pairs));
}

#[test]
fn an_output_that_cannot_be_created_is_refused_before_the_work() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2, 3]));
    for (out, words) in
        [("missing/out.npy", "cannot create missing/out.npy"), (".", "cannot create ."), ("x.npy/y", "x.npy")]
    {
        let ran = dir.run(&format!("reduce sum x.npy -o {out}"));
        ran.refused(&[words]);
    }
    assert_eq!(dir.files(), ["x.npy"]);
}

#[test]
fn a_failed_reduction_leaves_the_old_output_alone() {
    let dir = Dir::new();
    dir.write("none.npy", &npy(1, "'<f4'", false, "(0,)", &[]));
    dir.write("out.npy", b"old");
    dir.run("reduce max none.npy -o out.npy").refused(&["no elements"]);
    assert_eq!(std::fs::read(dir.join("out.npy")).unwrap(), b"old");
    assert_eq!(dir.files(), ["none.npy", "out.npy"]);
}
