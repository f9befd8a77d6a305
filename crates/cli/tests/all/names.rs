//! Names of files that are not text, and names that would control a terminal.

use crate::support::{Dir, count_up, npz};

/// Checks that no character is a control character, other than line feeds.
#[track_caller]
fn is_harmless(err: &str, lines: usize) {
    assert!(!err.chars().any(|c| c.is_control() && c != '\n'), "{err:?}");
    assert!(err.lines().count() <= lines, "{err:?}");
}

#[test]
fn control_characters_are_escaped_in_messages() {
    let dir = Dir::new();
    let evil = "a\x1b[2J\nerror: b";
    dir.write("x.npy", &count_up(&[3]));
    dir.write("evil.npz", &npz(&[(evil, b"text"), ("y.npy", &count_up(&[3]))], zip::CompressionMethod::Stored));
    let member = format!("evil.npz:{evil}");
    let missing = format!("evil.npz:c{evil}");
    let output = format!("no/{evil}");
    for args in [
        &["reduce", "sum", evil][..],
        &["reduce", "sum", "x.npy", "--where", evil],
        &["reduce", "sum", &member],
        &["reduce", "sum", &missing],
        &["reduce", "sum", "evil.npz"],
        &["reduce", "sum", "x.npy", "-o", &output],
        &["unique", "x.npy", "-o", "/dev/full", "--counts", evil, "--inverse", evil],
    ] {
        let ran = dir.args(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        is_harmless(&ran.err, 1);
        assert!(ran.err.contains("a\\u{1b}[2J\\nerror: b"), "{args:?}: {ran:?}");
    }
    for args in [
        &["reduce", evil, "x.npy"][..],
        &["reduce", "sum", "x.npy", "--axis", evil],
        &["reduce", "sum", "x.npy", evil],
        &["reduce", "sum", "x.npy", &format!("--dtype={evil}")],
        &["reduce", "sum", "x.npy", &format!("--{evil}")],
        &[evil],
    ] {
        let ran = dir.args(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        is_harmless(&ran.err, 12);
        assert!(!ran.err.contains("\nerror: b"), "{args:?}: {ran:?}");
        assert!(ran.err.contains("u{1b}"), "{args:?}: {ran:?}");
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_work() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;

    use crate::support::{f32s, i64s, npy};

    let dir = Dir::new();
    let name = |name: &[u8]| OsStr::from_bytes(name).to_os_string();
    let write = |file: &OsString, bytes: &[u8]| std::fs::write(dir.path().join(file), bytes).unwrap();
    let [x, labels, mask, points] = [&b"x\xff.npy"[..], b"l\xfe", b"m\xfd.npy", b"p\xfc.npy"].map(name);
    let (archive, out, first) = (name(b"a\xff.npz"), name(b"out\xc3"), name(b"f\xff.npy"));
    write(&x, &count_up(&[4]));
    write(&labels, &npy(1, "'<i8'", false, "(4,)", &i64s(&[0, 1, 0, 1])));
    write(&mask, &npy(1, "'|b1'", false, "(4,)", &[1, 0, 0, 1]));
    write(&points, &npy(1, "'<f4'", false, "(4, 1)", &f32s(&[0.0, 0.5, 9.0, 9.5])));
    write(&first, &npy(1, "'<f4'", false, "(2, 1)", &f32s(&[0.0, 9.0])));
    write(&archive, &npz(&[("y.npy", &count_up(&[3]))], zip::CompressionMethod::Stored));
    let run = |words: &[&dyn AsRef<OsStr>]| dir.args(words.iter().map(|word| word.as_ref()));
    assert_eq!(run(&[&"reduce", &"sum", &x]).ok(), "6\n");
    assert_eq!(run(&[&"reduce", &"sum", &x, &"--where", &mask]).ok(), "3\n");
    assert_eq!(run(&[&"group", &"sum", &x, &"--by", &labels]).ok(), "[2. 4.]\n");
    assert_eq!(run(&[&"segments", &"sum", &x, &"--offsets", &labels]).code, Some(2));
    assert!(run(&[&"histogram", &x, &"--weights", &x]).ok().ends_with("3\n"));
    assert!(run(&[&"kmeans", &points, &"-k", &"2", &"-q", &"--init", &first]).ok().starts_with("inertia 0.25"));
    let mut member = archive.clone();
    assert_eq!(run(&[&"reduce", &"sum", &archive]).ok(), "3\n");
    member.push(":y");
    assert_eq!(run(&[&"reduce", &"sum", &member]).ok(), "3\n");
    run(&[&"reduce", &"sum", &x, &"-o", &out]).ok();
    assert_eq!(run(&[&"reduce", &"sum", &out]).ok(), "6\n");
    let missing = name(b"missing\xff.npy");
    run(&[&"reduce", &"sum", &missing]).refused(&["missing\\xff.npy: no such file"]);
}
