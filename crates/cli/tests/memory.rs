//! The memory of the command on a mapped file is that of the output and less than 64 MiB, apart from the file's own
//! pages, which the system can reclaim.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const MIB: usize = 1 << 20;

/// A raw file of 256 MiB, in the page cache, where pages are mapped fastest.
fn input() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let block: Vec<u8> = (0..MIB as u32 / 4).flat_map(|i| ((i % 1000) as f32).to_le_bytes()).collect();
    (0..256).for_each(|_| file.write_all(&block).unwrap());
    file
}

/// The command, limited to this number of bytes of memory other than pages of files: its heap, and the stacks of its
/// threads.
fn limited(bytes: usize) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    // Each thread has a stack of 2 MiB, whether it is used or not.
    command.env("RAYON_NUM_THREADS", "4").stdout(Stdio::null());
    let limit = libc::rlimit { rlim_cur: bytes as u64, rlim_max: bytes as u64 };
    // SAFETY: between fork and exec, a call that is async-signal-safe.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_DATA, &limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    };
    command
}

#[test]
fn a_large_file_takes_little_memory() {
    let input = input();
    for (shape, options, output) in [
        ("8192,8192", "", 0),
        ("8192,8192", "--axis 0", 8192 * 4),
        ("8192,8192", "--axis 1", 8192 * 4),
        ("65536,1024", "--axis 0", 1024 * 4),
        ("1024,65536", "--axis 0", 65536 * 4),
        ("1024,65536", "--axis 0 --threads 1", 65536 * 4),
        ("256,512,512", "--axis 1", 256 * 512 * 4),
        ("16777216,4", "--axis 1 -o /dev/null", 16 * MIB * 4),
    ] {
        let ran = limited(output + 64 * MIB)
            .args(["reduce", "sum"])
            .arg(input.path())
            .args(["--raw", "f32", "--shape", shape])
            .args(options.split_whitespace())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{shape} {options}: {ran:?}");
    }
}

/// A copy of the input takes four times the memory that there is.
#[test]
fn memory_that_cannot_be_had_is_an_error_and_leaves_nothing() {
    let input = input();
    let dir = tempfile::tempdir().unwrap();
    for backtrace in ["0", "full"] {
        let ran = limited(64 * MIB)
            .args(["reduce", "sum", "--axis=", "--raw", "f32", "--shape", "67108864", "-o"])
            .arg(dir.path().join("out.npy"))
            .arg(input.path())
            .env("RUST_BACKTRACE", backtrace)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{message}");
        assert!(message.starts_with("error: ") && message.contains("memory"), "{message}");
        assert!(message.contains("268435456 bytes"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(dir.path().read_dir().unwrap().count(), 0, "a temporary file is left");
    }
}
