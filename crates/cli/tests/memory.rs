//! Peak memory of the command on a mapped file: the output, and less than 64 MiB.
#![cfg(unix)]

use std::fs::File;
use std::io::Write;
use std::process::Command;

const MIB: usize = 1 << 20;

/// A raw file of 256 MiB, in the page cache, where pages come from fastest.
fn input() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let block: Vec<u8> = (0..MIB as u32 / 4).flat_map(|i| ((i % 1000) as f32).to_le_bytes()).collect();
    (0..256).for_each(|_| file.write_all(&block).unwrap());
    file
}

/// The greatest resident size of a run, in bytes.
fn peak(input: &tempfile::NamedTempFile, shape: &str, options: &str) -> usize {
    #[allow(clippy::zombie_processes)]
    let child = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(["reduce", "sum"])
        .arg(input.path())
        .args(["--raw", "f32", "--shape", shape])
        .args(options.split_whitespace())
        .stdout(File::create("/dev/null").unwrap())
        .spawn()
        .unwrap();
    let mut status = 0;
    // SAFETY: zero is a value of the structure; our own child, waited for here and nowhere else.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(child.id() as i32, &mut status, 0, &mut usage), child.id() as i32);
        usage
    };
    assert_eq!(status, 0, "{shape} {options}");
    usage.ru_maxrss as usize * if cfg!(target_os = "macos") { 1 } else { 1024 }
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
        let peak = peak(&input, shape, options);
        println!("{shape} {options}: {} MiB", peak / MIB);
        assert!(peak < output + 64 * MIB, "{shape} {options}: {} MiB", peak / MIB);
    }
}
