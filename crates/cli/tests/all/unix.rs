//! Signals, pipes, redirection and memory.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Dir, command, count_up, with_header};

/// A .npy file of f32 numbers, without holding them in memory.
pub fn large(dir: &Dir, name: &str, shape: [usize; 2]) {
    let mut file = File::create(dir.join(name)).unwrap();
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", shape[0], shape[1]);
    file.write_all(&with_header(1, &header, &[])).unwrap();
    let block: Vec<u8> = (0..1u32 << 18).flat_map(|i| ((i % 1000) as f32).to_le_bytes()).collect();
    let bytes = 4 * shape[0] * shape[1];
    assert_eq!(bytes % block.len(), 0);
    for _ in 0..bytes / block.len() {
        file.write_all(&block).unwrap();
    }
}

pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn signal(child: &Child, signal: i32) {
    // SAFETY: the child has not been waited for, so that its id is still its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn a_signal_in_the_middle_leaves_nothing_behind() {
    let dir = Dir::new();
    large(&dir, "x.npy", [1024, 65536]);
    std::fs::write(dir.join("out.npy"), b"old").unwrap();
    let mut hits = 0;
    for (i, number) in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().cycle().take(12).enumerate() {
        let child = command(dir.path())
            .args(["reduce", "logsumexp", "x.npy", "--axis", "0", "--threads", "1", "-o", "out.npy"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until("a temporary file", || dir.files().len() == 3);
        std::thread::sleep(Duration::from_millis(7 * i as u64 % 50));
        signal(&child, number);
        let output = child.wait_with_output().unwrap();
        assert_eq!(dir.files(), ["out.npy", "x.npy"], "{output:?}");
        if output.status.code() == Some(128 + number) {
            hits += 1;
            assert_eq!(std::fs::read(dir.join("out.npy")).unwrap(), b"old");
        } else {
            // The command ended before the signal.
            assert!(output.status.success(), "{output:?}");
            std::fs::write(dir.join("out.npy"), b"old").unwrap();
        }
    }
    assert!(hits > 0, "no signal came in time");
}

#[test]
fn a_signal_while_a_large_output_is_written_leaves_all_or_nothing() {
    let dir = Dir::new();
    large(&dir, "x.npy", [1024, 16384]);
    let (mut before, mut after) = (0, 0);
    for i in 0..16 {
        let _ = std::fs::remove_file(dir.join("out.npy"));
        let child = command(dir.path()).args(["reduce", "sum", "x.npy", "--axis=", "-o", "out.npy"]).spawn().unwrap();
        let size = || {
            let part = dir.files().into_iter().find(|name| name.ends_with(".part"));
            part.and_then(|name| dir.join(&name).metadata().ok()).map_or(0, |m| m.len())
        };
        until("bytes in the temporary file", || size() > 0 || dir.join("out.npy").exists());
        std::thread::sleep(Duration::from_micros(500 * i));
        signal(&child, libc::SIGINT);
        let status = child.wait_with_output().unwrap().status;
        if dir.join("out.npy").exists() {
            after += 1;
            assert_eq!(dir.join("out.npy").metadata().unwrap().len(), dir.join("x.npy").metadata().unwrap().len());
            assert_eq!(dir.files(), ["out.npy", "x.npy"]);
        } else {
            before += 1;
            assert_eq!(status.code(), Some(130));
            assert_eq!(dir.files(), ["x.npy"]);
        }
    }
    // On a busy machine every signal may come too late. Both outcomes are right; a half-written or left-over file is
    // not.
    println!("{before} signals came before the end of the write, {after} after it");
}

#[test]
fn a_closed_pipe_ends_the_command_without_a_word() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[500, 500]));
    for args in
        [&["reduce", "sum", "x.npy", "--axis=", "--json"][..], &["reduce", "sum", "x.npy", "--axis=", "-o", "-"]]
    {
        let mut child = command(dir.path()).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let output = child.wait_with_output().unwrap();
        // As if SIGPIPE had ended it.
        assert_eq!((output.status.code(), &*output.stderr), (Some(128 + 13), &b""[..]), "{output:?}");
    }
}

/// Runs the command by a shell, with a redirection.
fn shell(dir: &Dir, line: &str) -> (Option<i32>, String) {
    let warpfold = env!("CARGO_BIN_EXE_warpfold");
    let script = format!("'{warpfold}' {line}");
    let output = std::process::Command::new("sh").current_dir(dir.path()).args(["-c", &script]).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_closed_standard_output_is_no_success() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[3]));
    for line in [
        "reduce sum x.npy >&-",
        "reduce sum x.npy --json >&-",
        "reduce sum x.npy -o - >&-",
        "describe x.npy >&-",
        "unique x.npy >&-",
        "completions bash >&-",
        "devices >&-",
        "--help >&-",
        "--version >&-",
        "reduce --help >&-",
    ] {
        let (code, err) = shell(&dir, line);
        assert_eq!(code, Some(1), "{line}: {err}");
        assert!(err.contains("cannot write standard output: it is closed"), "{line}: {err}");
    }
    // A command without standard output succeeds, and so does one whose standard output is /dev/null.
    for line in ["reduce sum x.npy -o out.npy >&-", "reduce sum x.npy >/dev/null", "reduce sum x.npy 1<>/dev/null"] {
        assert_eq!(shell(&dir, line), (Some(0), String::new()), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_no_success() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[3]));
    for line in ["reduce sum x.npy", "reduce sum x.npy -o -", "devices", "man", "--help", "--version"] {
        let (code, err) = shell(&dir, &format!("{line} >/dev/full"));
        assert_eq!(code, Some(1), "{line}: {err}");
        assert!(err.contains("cannot write standard output: No space left"), "{line}: {err}");
    }
}

#[test]
fn a_redirected_file_is_mapped_from_where_it_stands() {
    let dir = Dir::new();
    let mut file = b"before".to_vec();
    file.extend(count_up(&[3, 4]));
    dir.write("x", &file);
    let mut x = File::open(dir.join("x")).unwrap();
    let run = |x: &File| {
        let output = command(dir.path()).args(["reduce", "sum", "-"]).stdin(x.try_clone().unwrap()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(&x), "");
    std::io::Seek::seek(&mut x, std::io::SeekFrom::Start(6)).unwrap();
    assert_eq!(run(&x), "66\n");
}

#[test]
fn outputs_follow_the_umask_links_and_devices() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[3]));
    dir.write("plain", b"");
    dir.run("reduce sum x.npy -o out.npy").ok();
    let mode = |name: &str| dir.join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("out.npy"), mode("plain"));
    symlink("out.npy", dir.join("link.npy")).unwrap();
    dir.run("reduce max x.npy -o link.npy").ok();
    assert!(dir.join("link.npy").symlink_metadata().unwrap().is_symlink());
    assert_eq!(dir.run("reduce sum out.npy").ok(), "2\n");
    dir.run("reduce max x.npy -o /dev/null").ok();
    dir.run("reduce sum /dev/null").refused(&["empty"]);
    assert_eq!(dir.run("reduce max x.npy -o /dev/full").code, Some(1));
}

#[test]
fn an_input_that_shrinks_ends_the_command_with_a_message() {
    let dir = Dir::new();
    large(&dir, "x.npy", [16384, 1024]);
    for i in 0..10 {
        let out = ["reduce", "logsumexp", "x.npy", "--threads", "1", "-o", "out.npy"];
        let child = command(dir.path()).args(out).stderr(Stdio::piped()).spawn().unwrap();
        until("a temporary file", || dir.files().len() > 1);
        std::thread::sleep(Duration::from_millis(i));
        File::options().write(true).open(dir.join("x.npy")).unwrap().set_len(4096).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), None, "{output:?}");
        if output.status.code() == Some(1) {
            assert!(String::from_utf8_lossy(&output.stderr).contains("cut short"), "{output:?}");
            assert_eq!(dir.files(), ["x.npy"]);
            return;
        }
        std::fs::remove_file(dir.join("out.npy")).unwrap();
        large(&dir, "x.npy", [16384, 1024]);
    }
    panic!("the file was always read before it shrank");
}
