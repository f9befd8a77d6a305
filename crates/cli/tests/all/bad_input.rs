//! Impossible requests are refused with status 2, a message that says what to do, and nothing written.

use zip::CompressionMethod::{Deflated, Stored};

use crate::support::{Dir, count_up, f32s, npy, npz, with_header};

/// Runs `reduce` with an output, and checks that it is refused and leaves no file.
#[track_caller]
fn refused(dir: &Dir, line: &str, words: &[&str]) {
    let before = dir.files();
    dir.run(&format!("reduce {line} -o out.npy")).refused(words);
    dir.run(&format!("reduce {line}")).refused(words);
    assert_eq!(dir.files(), before, "{line}");
}

#[test]
fn files_that_are_none() {
    let dir = Dir::new();
    refused(&dir, "sum missing.npy", &["missing.npy", "no such file"]);
    refused(&dir, "sum missing.npz:x", &["missing.npz", "no such file"]);
    refused(&dir, "sum .", &["directory"]);
    dir.write("empty.npy", b"");
    refused(&dir, "sum empty.npy", &["empty"]);
    dir.write("text.npy", b"1.0 2.0 3.0\n");
    refused(&dir, "sum text.npy", &["neither .npy nor .npz", "--raw"]);
    dir.piped("reduce sum -", b"1.0 2.0\n").refused(&["standard input", "neither .npy nor .npz"]);
    dir.piped("reduce sum -", b"").refused(&["standard input", "empty"]);
}

#[test]
fn files_of_another_length_than_their_header_says() {
    let dir = Dir::new();
    let whole = count_up(&[3, 4]);
    for len in 1..whole.len() {
        dir.write("cut.npy", &whole[..len]);
        let ran = dir.run("reduce sum cut.npy");
        ran.refused(&["cut.npy", "truncated"]);
        if len % 16 == 0 {
            dir.piped("reduce sum -", &whole[..len]).refused(&["truncated"]);
        }
    }
    let mut long = whole.clone();
    long.extend([0; 5]);
    dir.write("long.npy", &long);
    refused(&dir, "sum long.npy", &["has 5 more than the 48 bytes"]);
    dir.piped("reduce sum -", &long).refused(&["more than the 48 bytes"]);
    dir.write("lie.npy", &npy(1, "'<f4'", false, "(1000000000000,)", &[0; 64]));
    refused(&dir, "sum lie.npy", &["truncated", "4000000000000", "64 are there"]);
    dir.piped("reduce sum -", &npy(1, "'<f4'", false, "(1000000000000,)", &[0; 64])).refused(&["truncated"]);
    dir.write("overflow.npy", &npy(1, "'<f4'", false, "(4294967296, 4294967296)", &[0; 64]));
    refused(&dir, "sum overflow.npy", &["more elements than memory can address"]);
    dir.write("axes.npy", &npy(1, "'<f4'", false, &format!("({})", "1, ".repeat(17)), &[0; 4]));
    refused(&dir, "sum axes.npy", &["rank 17 is too high"]);
}

#[test]
fn headers_that_are_wrong() {
    let dir = Dir::new();
    for text in ["", "{}", "not a dictionary", "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"] {
        dir.write("bad.npy", &with_header(1, text, &[0; 8]));
        refused(&dir, "sum bad.npy", &["bad .npy header"]);
    }
    let mut version = count_up(&[3]);
    version[6] = 9;
    dir.write("version.npy", &version);
    refused(&dir, "sum version.npy", &["version 9.0"]);
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    dir.write("long.npy", &long);
    refused(&dir, "sum long.npy", &["4294967295 bytes long"]);
}

#[test]
fn dtypes_without_reductions() {
    let dir = Dir::new();
    for (descr, words) in [
        ("'|O'", "Python objects"),
        ("[('a', '<f4'), ('b', '<i4')]", "structured"),
        ("'<c8'", "complex"),
        ("'<c16'", "complex"),
        ("'<U4'", "strings"),
        ("'|S4'", "strings"),
        ("'<M8[s]'", "dates or durations"),
        ("'<m8[s]'", "dates or durations"),
        ("'|V8'", "void"),
        ("'|V2'", "void"),
        ("'<f16'", "only some machines"),
    ] {
        dir.write("x.npy", &npy(1, descr, false, "(3,)", &[0; 48]));
        refused(&dir, "sum x.npy", &["dtype", words, "save"]);
    }
}

#[test]
fn archives_that_are_wrong() {
    let dir = Dir::new();
    let x = count_up(&[100]);
    for method in [Stored, Deflated] {
        let whole = npz(&[("x.npy", &x), ("y.npy", &x)], method);
        dir.write("two.npz", &whole);
        refused(&dir, "sum two.npz", &["2 members", "x, y"]);
        refused(&dir, "sum two.npz:z", &["no member `z`", "x, y"]);
        dir.write("cut.npz", &whole[..whole.len() / 2]);
        refused(&dir, "sum cut.npz:x", &["damaged .npz"]);
        dir.write("text.npz", &npz(&[("x.txt", b"hello")], method));
        refused(&dir, "sum text.npz", &["neither .npy nor .npz"]);
        dir.write("short.npz", &npz(&[("x.npy", &x[..x.len() - 4])], method));
        refused(&dir, "sum short.npz", &["short.npz:x", "truncated"]);
        let long: Vec<u8> = x.iter().copied().chain([0; 4]).collect();
        dir.write("long.npz", &npz(&[("x.npy", &long)], method));
        refused(&dir, "sum long.npz", &["long.npz:x", "more than the 400 bytes"]);
    }
    dir.write("none.npz", &npz(&[], Stored));
    refused(&dir, "sum none.npz", &["no members"]);
    dir.write("x.npy", &x);
    std::fs::rename(dir.join("x.npy"), dir.join("x.npz")).unwrap();
    refused(&dir, "sum x.npz:x", &["no members", "leave out"]);
}

#[test]
fn damaged_archives_are_an_answer_not_a_panic() {
    let dir = Dir::new();
    for method in [Deflated, Stored] {
        let whole = npz(&[("x.npy", &count_up(&[6]))], method);
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            dir.write("x.npz", &damaged);
            let ran = dir.run("reduce sum x.npz");
            // Some bytes are not read, such as times.
            assert!(ran.code == Some(2) || ran.out == "15\n", "byte {at}: {ran:?}");
            assert!(!ran.err.contains("a bug in"), "byte {at}: {ran:?}");
        }
    }
}

#[test]
fn a_flipped_bit_in_a_stored_member_is_found() {
    let dir = Dir::new();
    // Long enough for several threads.
    let x = npy(1, "'<f4'", false, "(10000000,)", &vec![0; 40_000_000]);
    let whole = npz(&[("x.npy", &x), ("y.npy", &x)], Stored);
    dir.write("x.npz", &whole);
    assert_eq!(dir.run("reduce sum x.npz:y").ok(), "0\n");
    let start = whole.windows(6).position(|window| window == b"\x93NUMPY").unwrap();
    for at in [start + x.len() - 1, start + x.len() / 2, start + 128] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        dir.write("x.npz", &damaged);
        refused(&dir, "sum x.npz:x", &["x.npz:x", "damaged .npz", "checksum"]);
        // The other one is whole.
        assert_eq!(dir.run("reduce sum x.npz:y").ok(), "0\n");
    }
}

#[test]
fn archives_of_other_kinds_are_called_what_they_are() {
    let dir = Dir::new();
    let whole = npz(&[("x.npy", &count_up(&[6]))], Stored);
    let central = whole.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    // The fields of the entry's two headers: its flags, and two bytes further its method.
    let changed = |flag: u8, method: u8| {
        let mut file = whole.clone();
        for at in [6, central + 8] {
            file[at] |= flag;
            file[at + 2] = method;
        }
        file
    };
    for (flag, method, words) in [
        (1, 0, "is encrypted: write it again without a password"),
        (1, 8, "is encrypted"),
        (0, 9, "compressed with deflate64"),
        (0, 12, "compressed with bzip2, which is not read here: write it again with numpy.savez_compressed"),
        (0, 14, "compressed with lzma"),
        (0, 93, "compressed with zstd"),
        (0, 95, "compressed with xz"),
        (0, 77, "compressed with a method that is not known"),
    ] {
        dir.write("x.npz", &changed(flag, method));
        refused(&dir, "sum x.npz", &["x.npz:x", words]);
        assert!(!dir.run("reduce sum x.npz").err.contains("damaged"), "{words}");
    }
}

#[test]
fn axes_masks_and_empty_reductions() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2, 3]));
    refused(&dir, "sum x.npy --axis 2", &["axis 2 is out of range", "-2 to 1"]);
    refused(&dir, "sum x.npy --axis -3", &["axis -3 is out of range"]);
    refused(&dir, "sum x.npy --axis 0,-2", &["named twice"]);
    refused(&dir, "sum x.npy --axis zero", &["`zero` is not an axis"]);
    refused(&dir, "sum x.npy --axis 9223372036854775808", &["is not an axis"]);
    dir.write("four.npy", &npy(1, "'|b1'", false, "(4,)", &[1; 4]));
    refused(&dir, "sum x.npy --where four.npy", &["mask has shape [4]", "[2, 3]"]);
    refused(&dir, "sum x.npy --where x.npy", &["mask has dtype f32", "bool"]);
    refused(&dir, "sum x.npy --where missing.npy", &["missing.npy", "no such file"]);
    refused(&dir, "sum - --where -", &["cannot both be standard input"]);
    dir.write("none.npy", &npy(1, "'<f4'", false, "(0, 3)", &[]));
    refused(&dir, "min none.npy", &["min of no elements", "initial"]);
    refused(&dir, "argmax none.npy --axis 0", &["argmax of no elements"]);
    dir.write("nan.npy", &npy(1, "'<f4'", false, "(2,)", &f32s(&[f32::NAN, f32::NAN])));
    refused(&dir, "argmin nan.npy --skip-nan", &["only NaN"]);
    dir.run("describe x.npy --axis 5").refused(&["axis 5 is out of range"]);
}

#[test]
fn raw_data_of_another_length() {
    let dir = Dir::new();
    dir.write("raw", &[0; 24]);
    refused(&dir, "sum raw --raw f32 --shape 2,4", &["has 24 bytes", "--shape 2,4 of f32 needs 32"]);
    refused(&dir, "sum raw --raw f32 --shape 5", &["has 24 bytes", "needs 20"]);
    refused(&dir, "sum raw --raw f32 --shape 99999999999,99999999999", &["more elements than memory can address"]);
    refused(&dir, "sum raw --raw f32 --shape 99999999999999999999", &["is not a length"]);
    refused(&dir, "sum raw --raw f32 --shape -1,6", &["`-1` is not a length"]);
    refused(&dir, "sum raw --raw f32", &["--shape"]);
    refused(&dir, "sum raw --shape 6", &["--raw"]);
    dir.piped("reduce sum - --raw f32 --shape 2", &[0; 24]).refused(&["at least 9 bytes", "needs 8"]);
    dir.run("explain sum --dtype f32 --shape 99999999999,99999999999").refused(&["more elements than"]);
    dir.run("explain sum --dtype f64 --shape 4611686018427387904").refused(&["more elements than"]);
}

#[test]
fn words_that_mean_nothing_and_options_that_do_not_go_together() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2, 3]));
    dir.write("bytes.npy", &npy(1, "'|u1'", false, "(3,)", &[1, 2, 3]));
    for (line, words) in [
        ("summ x.npy", &["unknown reduction `summ`", "did you mean `sum`"][..]),
        ("argmaxx x.npy", &["did you mean `argmax`"]),
        ("sum x.npy --dtype f33", &["unknown dtype", "bf16"]),
        ("sum x.npy --dtype bool", &["bool"]),
        ("max x.npy --dtype f64", &["does not take dtype"]),
        ("mean x.npy --dtype i32", &["integer dtype"]),
        ("sum x.npy --device tpu", &["no device `tpu`", "cpu"]),
        ("sum x.npy --ddof 1", &["sum of f32 does not take ddof"]),
        ("var x.npy --ddof nan", &["ddof"]),
        ("sum x.npy --ord 1", &["only norm"]),
        ("norm x.npy --ord 3", &["give 1, 2 or inf"]),
        ("mean x.npy --initial 1", &["initial"]),
        ("sum x.npy --initial one", &["not a number"]),
        ("max bytes.npy --initial 300", &["the result is u8", "from 0 to 255"]),
        ("sum bytes.npy --initial 1.5", &["the result is u64", "integer"]),
        ("sum x.npy --precision exact", &["--precision"]),
        ("sum x.npy --threads 0", &["--threads"]),
        ("sum x.npy --nonsense", &["--nonsense"]),
        ("sum", &["INPUT"]),
    ] {
        refused(&dir, line, words);
    }
    dir.run("reduce sum x.npy --bits -o out.npy").refused(&["--bits", "--output"]);
    dir.run("describe").refused(&["INPUT"]);
    dir.run("completions csh").refused(&["csh"]);
}

/// No machine has this many GPUs.
#[test]
fn a_gpu_that_is_not_there() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2, 3]));
    let has_driver = dir.run("devices").ok().contains("cuda:0");
    let words: &[&str] = if has_driver { &["no device `cuda:4095`"] } else { &["NVIDIA driver", "`cpu`"] };
    refused(&dir, "sum x.npy --device cuda:4095", words);
    refused(&dir, "argmax x.npy --axis 0 --device cuda:4095 --explain --time", words);
    dir.run("describe x.npy --device cuda:4095").refused(words);
    if !has_driver {
        refused(&dir, "sum x.npy --device cuda", &["`cpu`"]);
    }
    assert_eq!(dir.run("reduce sum x.npy --device auto").ok(), "15\n");
    assert!(dir.run("describe x.npy --device auto").ok().contains("argmax     5"));
}
