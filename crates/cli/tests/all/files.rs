//! Every kind of input gives the same array.

use zip::CompressionMethod::{Deflated, Stored};

use crate::support::{Dir, count_up, f32s, f64s, i64s, npy, npz};

#[test]
fn every_version_order_and_byte_order_of_npy_is_read() {
    let dir = Dir::new();
    let x: Vec<f64> = (0..6).map(f64::from).collect();
    let big: Vec<u8> = x.iter().flat_map(|v| v.to_be_bytes()).collect();
    for version in [1, 2, 3] {
        dir.write("c.npy", &npy(version, "'<f8'", false, "(2, 3)", &f64s(&x)));
        assert_eq!(dir.run("reduce sum c.npy --axis 1").ok(), "[ 3. 12.]\n");
        dir.write("fortran.npy", &npy(version, "'<f8'", true, "(3, 2)", &f64s(&x)));
        assert_eq!(dir.run("reduce sum fortran.npy --axis 0").ok(), "[ 3. 12.]\n");
        dir.write("big.npy", &npy(version, "'>f8'", false, "(2, 3)", &big));
        assert_eq!(dir.run("reduce sum big.npy --axis 1").ok(), "[ 3. 12.]\n");
        dir.write("both.npy", &npy(version, "'>f8'", true, "(3, 2)", &big));
        assert_eq!(dir.run("reduce argmax both.npy --axis 0").ok(), "[2 2]\n");
    }
}

#[test]
fn every_dtype_is_read() {
    let dir = Dir::new();
    let cases: [(&str, &[u8], &str); 14] = [
        ("'|b1'", &[1, 0, 1], "2"),
        ("'|i1'", &[255, 1, 5], "5"),
        ("'|u1'", &[255, 1, 5], "261"),
        ("'<i2'", &[255, 255, 1, 0, 5, 0], "5"),
        ("'>i2'", &[255, 255, 0, 1, 0, 5], "5"),
        ("'<u2'", &[255, 255, 1, 0, 5, 0], "65541"),
        ("'<i4'", &[1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255], "2"),
        ("'<u4'", &[1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255], "4294967298"),
        ("'<i8'", &i64s(&[1, 2, -9]), "-6"),
        ("'<u8'", &i64s(&[1, 2, -9]), "18446744073709551610"),
        ("'<f2'", &[0, 0x3c, 0, 0x40, 0, 0xc0], "1"),
        ("'<f4'", &f32s(&[0.5, 0.25, -1.0]), "-0.25"),
        // As ml_dtypes.bfloat16 is saved.
        ("'<V2'", &[0x80, 0x3f, 0, 0x40, 0, 0xc0], "1"),
        ("'bfloat16'", &[0x80, 0x3f, 0, 0x40, 0, 0xc0], "1"),
    ];
    for (descr, data, sum) in cases {
        dir.write("x.npy", &npy(1, descr, false, "(3,)", data));
        assert_eq!(dir.run("reduce sum x.npy").ok(), format!("{sum}\n"), "{descr}");
    }
}

#[test]
fn a_single_element_without_axes_and_an_empty_array_are_read() {
    let dir = Dir::new();
    dir.write("one.npy", &npy(1, "'<f4'", false, "()", &f32s(&[2.5])));
    assert_eq!(dir.run("reduce sum one.npy").ok(), "2.5\n");
    dir.write("none.npy", &npy(1, "'<f4'", false, "(0, 3)", &[]));
    assert_eq!(dir.run("reduce sum none.npy --axis 0").ok(), "[0. 0. 0.]\n");
    assert_eq!(dir.run("reduce sum none.npy --axis 1").ok(), "[]\n");
    assert_eq!(dir.run("reduce max none.npy --initial -inf").ok(), "-inf\n");
}

#[test]
fn members_of_archives_are_read_stored_and_deflated() {
    let dir = Dir::new();
    let (x, y) = (count_up(&[3, 4]), count_up(&[5]));
    for method in [Stored, Deflated] {
        dir.write("two.npz", &npz(&[("x.npy", &x), ("y.npy", &y)], method));
        assert_eq!(dir.run("reduce sum two.npz:x").ok(), "66\n");
        assert_eq!(dir.run("reduce sum two.npz:x.npy --axis 0").ok(), "[12. 15. 18. 21.]\n");
        assert_eq!(dir.run("reduce sum two.npz:y").ok(), "10\n");
        dir.write("one.npz", &npz(&[("y.npy", &y)], method));
        assert_eq!(dir.run("reduce sum one.npz").ok(), "10\n");
        assert_eq!(dir.piped("reduce sum -", &npz(&[("y.npy", &y)], method)).ok(), "10\n");
    }
    // A colon in a file's own name does not name a member.
    dir.write("odd.npz:x", &y);
    assert_eq!(dir.run("reduce sum odd.npz:x").ok(), "10\n");
}

#[test]
fn raw_numbers_are_read() {
    let dir = Dir::new();
    dir.write("raw", &f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(dir.run("reduce sum raw --raw f32 --shape 2,3 --axis 1").ok(), "[ 6. 15.]\n");
    assert_eq!(dir.run("reduce sum raw --raw float32 --shape 6").ok(), "21\n");
    assert_eq!(dir.piped("reduce max - --raw bf16 --shape 2", &[0x80, 0x3f, 0, 0x40]).ok(), "2\n");
    assert_eq!(dir.run("describe raw --raw u8 --shape 24 --json").code, Some(0));
}

#[test]
fn standard_input_is_read_from_a_pipe() {
    let dir = Dir::new();
    let x = count_up(&[1000, 100]);
    dir.write("x.npy", &x);
    assert_eq!(dir.piped("reduce sum - --bits", &x).ok(), dir.run("reduce sum x.npy --bits").ok());
    assert_eq!(dir.piped("reduce argmax -", &x).ok(), "99999\n");
    dir.write("mask.npy", &npy(1, "'|b1'", false, "(4,)", &[1, 0, 0, 1]));
    assert_eq!(dir.piped("reduce sum - --where mask.npy", &count_up(&[4])).ok(), "3\n");
}

#[test]
fn the_example_data_are_what_their_readme_says() {
    let dir = Dir::new();
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/digits.npy");
    assert_eq!(dir.args(["reduce", "sum", digits]).ok(), "561718\n");
    assert_eq!(dir.args(["reduce", "minmax", digits]).ok(), "0 16\n");
    assert!(dir.args(["reduce", "mean", digits, "--json"]).ok().contains("\"shape\": [1797, 8, 8]"));
}
