//! `cargo xtask`: the chores of the repository.

mod blocks;
mod bundle;
mod code;
mod docs;
mod error;
mod house;
mod loops;
mod pack;
mod ptx;

use std::process::ExitCode;
use warpfold_ptx::ptxas::Gpus;

const USAGE: &str = "\
cargo xtask ptx            compile the kernels to PTX and write crates/kernels/ptx, and those of examples/mat2 (needs
                           ptxas for machine code); with WARPFOLD_ENTRIES=shallow_sum,_argmax_f32 those alone whose
                           names have one of these parts, and say how many registers they take
cargo xtask ptx --tune     the same, and ask ptxas how many blocks of each kernel fit a multiprocessor
cargo xtask ptx --check    compile them again; fail unless they are what is committed, and sound on the GPU that they
                           are tuned on (needs ptxas: on PATH, in $PTXAS, or `pip install nvidia-cuda-nvcc`)
cargo xtask ptx --check --all
                           the same, and assemble them for the oldest and the newest GPU, too
cargo xtask code           assemble the committed PTX of the kernels in crates/kernels/ptx/code.txt (needs ptxas), as
                           `cargo xtask ptx` does, too
cargo xtask docs           write docs/ladder.md from committed records, the emulator and the lecture's examples, and
                           docs/benchmarks from committed records; a page says if its record is one of other sources
cargo xtask docs --check   fail unless they are what would be written
cargo xtask docs --strict  the same, and fail if any record of docs/benchmarks is stale
cargo xtask loops [FILE]   read the machine code of the CPU's hottest loops, built alone by this workspace's release
                           profile and by cargo's default one, or that of a program with all of them; fail unless they
                           use vectors of each level and call nothing (needs objdump)
cargo xtask house          check the structure of the sources: floors, circles of imports, duplicates, long files, wide
                           lines; fail unless there are as many violations as xtask/src/house.rs still allows
cargo xtask house --list   the same, and list all violations
cargo xtask gpu-bundle     build GPU tests and measurements, and put them with their scripts into .carry, for a machine
                           that has a GPU and no cargo; `--only tests` or `--only bench` builds what one script needs";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["ptx"] => ptx::write(false),
        ["ptx", "--tune"] => ptx::write(true),
        ["ptx", "--check"] => ptx::check(Gpus::Tuned),
        ["ptx", "--check", "--all"] => ptx::check(Gpus::All),
        ["code"] => ptx::code(),
        ["house"] => house::check(false),
        ["house", "--list"] => house::check(true),
        ["loops"] => loops::check(None),
        ["loops", file] => loops::check(Some(file)),
        ["docs"] => docs::run(docs::Mode::Write),
        ["docs", "--check"] => docs::run(docs::Mode::Check),
        ["docs", "--strict"] => docs::run(docs::Mode::Strict),
        ["gpu-bundle"] => bundle::write(bundle::Part::All),
        ["gpu-bundle", "--only", "tests"] => bundle::write(bundle::Part::Tests),
        ["gpu-bundle", "--only", "bench"] => bundle::write(bundle::Part::Bench),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
