//! Targets of outputs, and outputs that appear together.

use crate::support::{Dir, count_up, f32s, i64s, npy};

/// A directory with twelve numbers, labels for them, and points.
fn data() -> Dir {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[12]));
    dir.write("labels.npy", &npy(1, "'<i8'", false, "(12,)", &i64s(&[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])));
    dir.write("points.npy", &npy(1, "'<f4'", false, "(4, 1)", &f32s(&[0.0, 0.5, 9.0, 9.5])));
    dir
}

/// Checks that the command is refused with these words, and that no file has appeared or changed.
#[track_caller]
fn refused(dir: &Dir, line: &str, words: &[&str]) {
    let all = || dir.files().into_iter().map(|name| std::fs::read(dir.join(&name)).ok()).collect::<Vec<_>>();
    let (files, before) = (dir.files(), all());
    dir.run(line).refused(words);
    assert_eq!(dir.files(), files, "{line}");
    assert!(all() == before, "{line}: a file has changed");
}

#[test]
fn two_outputs_to_one_file_are_refused() {
    let dir = data();
    std::fs::create_dir(dir.join("sub")).unwrap();
    let path = dir.join("u").display().to_string();
    for (line, words) in [
        ("unique x.npy -o u --counts u", ["-o u", "--counts u", "the same file"]),
        ("unique x.npy --counts u --inverse ./u", ["--counts u", "--inverse ./u", "the same file"]),
        ("unique x.npy -o sub/../u --counts u", ["-o sub/../u", "--counts u", "the same file"]),
        (&format!("unique x.npy -o u --counts {path}"), ["-o u", &path, "the same file"]),
        ("unique x.npy -o - --counts -", ["-o -", "--counts -", "the same file"]),
        ("kmeans points.npy -k 2 --labels l --centroids l", ["--labels l", "--centroids l", "the same file"]),
        ("ladder --rung a1 --device emulator -n 64 --csv l --svg ./l", ["--csv l", "--svg ./l", "the same file"]),
        ("bench --device cpu --peers none --json r --markdown r", ["--json r", "--markdown r", "the same file"]),
    ] {
        refused(&dir, line, &words);
    }
    dir.run("unique x.npy -o u --counts c --inverse i").ok();
    for (name, sum) in [("u", "66"), ("c", "12"), ("i", "66")] {
        assert_eq!(dir.run(&format!("reduce sum {name}")).ok(), format!("{sum}\n"));
    }
    // Both write nothing anywhere.
    dir.run("unique x.npy -o /dev/null --counts /dev/null").ok();
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let dir = data();
    dir.write("mask.npy", &npy(1, "'|b1'", false, "(12,)", &[1; 12]));
    for (line, words) in [
        ("reduce sum x.npy -o x.npy", ["-o x.npy", "is the input"]),
        ("reduce sum x.npy --where mask.npy -o ./mask.npy", ["-o ./mask.npy", "is the input"]),
        ("group sum x.npy --by labels.npy -o labels.npy", ["-o labels.npy", "is the input"]),
        ("unique x.npy --counts x.npy", ["--counts x.npy", "is the input"]),
        ("kmeans points.npy -k 2 --labels points.npy", ["--labels points.npy", "is the input"]),
        ("kmeans points.npy -k 4 --init x.npy --labels x.npy", ["--labels x.npy", "is the input"]),
    ] {
        refused(&dir, line, &words);
    }
}

#[test]
fn an_array_and_a_text_do_not_share_standard_output() {
    let dir = data();
    for line in [
        "reduce sum x.npy -o -",
        "group sum x.npy --by labels.npy -o -",
        "unique x.npy -o -",
        "unique x.npy --inverse - -o u",
        "histogram x.npy -o -",
        "kmeans points.npy -k 2 -q --labels -",
    ] {
        assert!(dir.run(line).bytes.starts_with(b"\x93NUMPY"), "{line}");
        let _ = std::fs::remove_file(dir.join("u"));
        refused(&dir, &format!("{line} --json"), &["--json", "standard output"]);
    }
}

#[test]
fn names_that_are_no_npy_files_are_refused() {
    let dir = data();
    for name in ["out.npz", "out.NPZ"] {
        refused(&dir, &format!("reduce sum x.npy -o {name}"), &["-o", name, "no archive", ".npy"]);
        refused(&dir, &format!("unique x.npy --counts {name}"), &["--counts", name]);
    }
    for name in ["newdir/", "newdir//", "newdir/.."] {
        refused(&dir, &format!("reduce sum x.npy -o {name}"), &["cannot create newdir/", "directory"]);
    }
    refused(&dir, "reduce sum x.npy -o x.npy/", &["cannot create x.npy/"]);
    refused(&dir, "reduce sum x.npy -o .", &["cannot create .", "directory"]);
    refused(&dir, "ladder --rung a1 --device emulator -n 64 --csv newdir/", &["cannot create newdir/"]);
}

#[cfg(target_os = "linux")]
#[test]
fn if_one_output_cannot_be_written_none_appears() {
    let dir = data();
    dir.write("old", b"old");
    for line in ["unique x.npy -o u --counts /dev/full --inverse old", "unique x.npy -o /dev/full --counts old"] {
        let ran = dir.run(line);
        assert_eq!(ran.code, Some(1), "{line}: {ran:?}");
        assert!(ran.err.contains("cannot write /dev/full"), "{ran:?}");
        assert_eq!(dir.files(), ["labels.npy", "old", "points.npy", "x.npy"], "{line}");
        assert_eq!(std::fs::read(dir.join("old")).unwrap(), b"old");
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Stdio;

    use super::{data, refused};
    use crate::support::{Dir, command};
    use crate::unix::{large, signal, until};

    fn mode(dir: &Dir, name: &str) -> u32 {
        dir.join(name).metadata().unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn one_file_under_two_names_is_refused() {
        let dir = data();
        dir.write("u", b"old");
        std::fs::hard_link(dir.join("u"), dir.join("hard")).unwrap();
        symlink("u", dir.join("soft")).unwrap();
        symlink("not-there", dir.join("dangling")).unwrap();
        std::fs::hard_link(dir.join("x.npy"), dir.join("y.npy")).unwrap();
        symlink("x.npy", dir.join("z.npy")).unwrap();
        for other in ["hard", "soft"] {
            refused(&dir, &format!("unique x.npy -o u --counts {other}"), &["-o u", other, "the same file"]);
        }
        refused(&dir, "unique x.npy -o not-there --counts dangling", &["not-there", "dangling", "the same file"]);
        for input in ["y.npy", "z.npy"] {
            refused(&dir, &format!("reduce sum x.npy -o {input}"), &[input, "is the input"]);
            refused(&dir, &format!("reduce sum {input} -o x.npy"), &["x.npy", "is the input"]);
        }
        let stdin = std::fs::File::open(dir.join("x.npy")).unwrap();
        let ran = command(dir.path()).args(["reduce", "sum", "-", "-o", "x.npy"]).stdin(stdin).output().unwrap();
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    }

    #[test]
    fn a_file_that_is_replaced_keeps_its_permissions_and_its_owner() {
        let dir = data();
        for wanted in [0o600, 0o640, 0o666, 0o755] {
            dir.write("out.npy", b"old");
            std::fs::set_permissions(dir.join("out.npy"), PermissionsExt::from_mode(wanted)).unwrap();
            dir.run("reduce sum x.npy -o out.npy").ok();
            assert_eq!(mode(&dir, "out.npy"), wanted, "{wanted:o}");
            assert_eq!(dir.run("reduce sum out.npy").ok(), "66\n");
        }
        if std::os::unix::fs::chown(dir.join("out.npy"), Some(12345), Some(54321)).is_ok() {
            dir.run("reduce sum x.npy -o out.npy").ok();
            let metadata = dir.join("out.npy").metadata().unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (12345, 54321));
        } else {
            println!("another owner was not tried: only root may give files away");
        }
    }

    #[test]
    fn what_is_being_written_can_be_read_by_nobody_else() {
        let dir = Dir::new();
        large(&dir, "x.npy", [1024, 65536]);
        dir.write("out.npy", b"old");
        std::fs::set_permissions(dir.join("out.npy"), PermissionsExt::from_mode(0o600)).unwrap();
        let mut child = command(dir.path())
            .args(["reduce", "logsumexp", "x.npy", "--axis", "0", "--threads", "1", "-o", "out.npy"])
            .spawn()
            .unwrap();
        let mode = || {
            let part = dir.files().into_iter().find(|name| name.ends_with(".part"))?;
            Some(dir.join(&part).metadata().ok()?.permissions().mode() & 0o777)
        };
        until("a temporary file", || mode().is_some());
        // The file is created and then gets its mode; the first byte is written when everything is computed.
        until("its permissions", || mode().is_none_or(|mode| mode == 0o600));
        assert_eq!(mode(), Some(0o600), "the command was done too soon to be looked at");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_symbolic_link_stays_and_what_it_names_is_written() {
        let dir = data();
        std::fs::create_dir(dir.join("sub")).unwrap();
        for (link, target) in [("there", "sub/there.npy"), ("dangling", "sub/new.npy")] {
            symlink(target, dir.join(link)).unwrap();
            // A chain, relative to the directory of each link.
            symlink(format!("../{link}"), dir.join(&format!("sub/{link}-chain"))).unwrap();
        }
        dir.write("sub/there.npy", b"old");
        for (link, target) in [("sub/there-chain", "sub/there.npy"), ("sub/dangling-chain", "sub/new.npy")] {
            dir.run(&format!("reduce sum x.npy -o {link}")).ok();
            assert!(dir.join(link).symlink_metadata().unwrap().is_symlink(), "{link}");
            assert!(dir.join(target).symlink_metadata().unwrap().is_file(), "{target}");
            assert_eq!(dir.run(&format!("reduce sum {target}")).ok(), "66\n");
        }
        symlink("no/such/folder.npy", dir.join("nowhere")).unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        symlink("newdir/", dir.join("folder")).unwrap();
        for link in ["nowhere", "loop", "folder"] {
            refused(&dir, &format!("reduce sum x.npy -o {link}"), &[&format!("cannot create {link}")]);
            assert!(dir.join(link).symlink_metadata().unwrap().is_symlink(), "{link}");
        }
    }

    #[test]
    fn standard_output_by_another_name_is_standard_output() {
        let dir = data();
        for line in ["unique x.npy -o - --counts /dev/stdout", "reduce sum x.npy -o /dev/stdout --json"] {
            dir.run(line).refused(&["/dev/stdout"]);
        }
        assert!(dir.run("reduce sum x.npy -o /dev/stdout").bytes.starts_with(b"\x93NUMPY"));
        // Standard output is redirected to the file that -o names.
        let to = std::fs::File::create(dir.join("out.npy")).unwrap();
        let ran = command(dir.path()).args(["reduce", "sum", "x.npy", "-o", "out.npy"]).stdout(to).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        assert_eq!(dir.run("reduce sum out.npy").ok(), "66\n");
    }

    /// All three files appear, or none, and no others.
    #[test]
    fn a_signal_leaves_all_of_several_outputs_or_none() {
        let dir = Dir::new();
        large(&dir, "x.npy", [1024, 1024]);
        let (mut before, mut after) = (0, 0);
        for i in 0..24u64 {
            let child = command(dir.path())
                .args(["unique", "x.npy", "-o", "u", "--counts", "c", "--inverse", "i"])
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let written = || {
                let parts = dir.files().into_iter().filter(|name| name.ends_with(".part"));
                parts.filter_map(|name| dir.join(&name).metadata().ok()).any(|metadata| metadata.len() > 0)
            };
            until("bytes in a temporary file", || written() || dir.join("u").exists());
            std::thread::sleep(std::time::Duration::from_micros(700 * i));
            signal(&child, libc::SIGINT);
            let output = child.wait_with_output().unwrap();
            match dir.files().as_slice() {
                [x] if x == "x.npy" => {
                    before += 1;
                    assert_eq!(output.status.code(), Some(130), "{output:?}");
                }
                files => {
                    after += 1;
                    assert_eq!(files, ["c", "i", "u", "x.npy"], "{output:?}");
                    ["c", "i", "u"].iter().for_each(|name| std::fs::remove_file(dir.join(name)).unwrap());
                }
            }
        }
        println!("{before} signals came before the outputs had their names, {after} after it");
    }
}
