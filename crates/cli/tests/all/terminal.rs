//! Progress lines on a terminal.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use crate::support::{Dir, command, count_up, f32s, npy};
use crate::unix::signal;

/// A terminal of this width: the test's end, and the command's.
fn terminal(columns: u16) -> (File, File) {
    let (mut ours, mut theirs) = (0, 0);
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let null = std::ptr::null_mut();
    // SAFETY: the call writes two new descriptors, which nothing else owns.
    unsafe {
        assert_eq!(libc::openpty(&mut ours, &mut theirs, null, null.cast(), &size), 0);
        // The command must not inherit the test's end.
        libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(theirs, libc::F_SETFD, libc::FD_CLOEXEC);
        (File::from_raw_fd(ours), File::from_raw_fd(theirs))
    }
}

/// Reads on until `enough`, or the end.
fn read_until(from: &mut File, seen: &mut String, enough: impl Fn(&str) -> bool) {
    let mut buffer = [0; 4096];
    while !enough(seen) {
        // The end is an error: there is no writer any more.
        match from.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(n) => seen.push_str(&String::from_utf8_lossy(&buffer[..n])),
        }
    }
}

#[test]
fn a_binary_file_is_not_written_to_a_terminal() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[3]));
    for args in [&["reduce", "sum", "x.npy", "-o", "-"][..], &["unique", "x.npy", "--counts", "/dev/stdout"]] {
        let (mut ours, theirs) = terminal(80);
        let child = command(dir.path()).args(args).stdout(theirs).stderr(Stdio::piped()).spawn().unwrap();
        let mut seen = String::new();
        read_until(&mut ours, &mut seen, |_| false);
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("binary file to the terminal"), "{message}");
        assert_eq!(seen, "");
    }
}

/// Begins a fit that takes much longer than a second before its first iteration.
fn fitting(dir: &Dir, stderr: impl Into<Stdio>) -> Child {
    let numbers: Vec<f32> = (0..1u32 << 22).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32).collect();
    dir.write("x.npy", &npy(1, "'<f4'", false, "(65536, 64)", &f32s(&numbers)));
    let args = ["kmeans", "x.npy", "-k", "16384", "--threads", "1", "--device", "cpu"];
    let mut command = command(dir.path());
    // A shell that runs the tests in the background has them ignore Ctrl-C, and so their children.
    // SAFETY: the call may be made between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        })
    };
    command.args(args).stdout(Stdio::null()).stderr(stderr).spawn().unwrap()
}

#[test]
fn kmeans_says_how_far_it_is_and_ctrl_c_leaves_a_clean_line() {
    for columns in [80, 30] {
        let dir = Dir::new();
        let (mut ours, theirs) = terminal(columns);
        let mut child = fitting(&dir, theirs);
        let mut seen = String::new();
        read_until(&mut ours, &mut seen, |seen| seen.matches("\x1b[K").count() >= 5);
        signal(&child, libc::SIGINT);
        read_until(&mut ours, &mut seen, |_| false);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{seen:?}");
        assert!(seen.contains("run 1: ") && seen.contains(" of 163"), "{seen:?}");
        assert!(!seen.contains("inertia"), "{seen:?}");
        assert!(seen.ends_with("\x1b[K\r\x1b[K"), "{seen:?}");
        for line in seen.split("\x1b[K") {
            let line = line.trim_start_matches('\r');
            assert!(line.chars().count() < usize::from(columns), "{line:?}");
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}

/// Without a terminal there is no line.
#[test]
fn progress_is_for_terminals() {
    let dir = Dir::new();
    let child = fitting(&dir, Stdio::piped());
    std::thread::sleep(std::time::Duration::from_millis(1500));
    signal(&child, libc::SIGTERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(143), &b""[..]));
}
