//! `cargo warpfold-ptx`: the kernels of a crate, as a file to embed.

use std::path::PathBuf;
use std::process::ExitCode;
use warpfold_ptx::{Crate, Error, Toolchain, archive, faults, ptxas};

const USAGE: &str = "\
Compiles a crate that calls warpfold_kernels::export_reducer! for NVIDIA GPUs.

cargo warpfold-ptx [-o FILE | --check FILE | --text FILE] [--manifest-path Cargo.toml] [-p PACKAGE]
                   [--features FEATURES] [--target-dir FOLDER]

-o FILE               write the kernels, compressed, for include_bytes! (default: kernels.ptxz beside Cargo.toml)
--check FILE          compile them again, and fail unless they are what the file holds
--text FILE           write them as one PTX module, for people and ptxas
--manifest-path FILE  whose kernels (default: Cargo.toml here)
-p PACKAGE            which package of a workspace
--features FEATURES   features of the package, instead of its default ones
--target-dir FOLDER   where cargo builds (default: target/ptx beside Cargo.toml)

Kernels with a panic path or an array in local memory are refused; if ptxas is on PATH, in $PTXAS, or installed by
`pip install nvidia-cuda-nvcc`, so are those that spill, on any supported GPU.";

/// What to do with the kernels.
enum Task {
    Write(PathBuf),
    Check(PathBuf),
    Text(PathBuf),
}

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).skip_while(|word| word == "warpfold-ptx");
    let done = match parse(arguments) {
        Ok(Some((this, task))) => run(&this, task).map_err(|error| error.to_string()),
        Ok(None) => {
            println!("{USAGE}");
            Ok(())
        }
        Err(wrong) => {
            eprintln!("{wrong}; `cargo warpfold-ptx --help` says what there is");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The crate and the task; none for `--help`.
fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<(Crate, Task)>, String> {
    let mut manifest = PathBuf::from("Cargo.toml");
    let (mut package, mut features, mut target, mut task) = (None, None, None, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match &word[..] {
            "-h" | "--help" => return Ok(None),
            "-o" => task = Some(Task::Write(value()?.into())),
            "--check" => task = Some(Task::Check(value()?.into())),
            "--text" => task = Some(Task::Text(value()?.into())),
            "--manifest-path" => manifest = value()?.into(),
            "-p" | "--package" => package = Some(value()?),
            "--features" => features = Some(value()?),
            "--target-dir" => target = Some(PathBuf::from(value()?)),
            _ => return Err(format!("unknown argument `{word}`")),
        }
    }
    let target = target.unwrap_or_else(|| manifest.with_file_name("target").join("ptx"));
    let task = task.unwrap_or_else(|| Task::Write(manifest.with_file_name("kernels.ptxz")));
    let locked = matches!(task, Task::Check(_));
    Ok(Some((Crate { manifest, package, features, target, locked }, task)))
}

fn run(this: &Crate, task: Task) -> Result<(), Error> {
    let toolchain = Toolchain::find()?;
    println!("compiling with {}", toolchain.version);
    let entries = this.compile(&toolchain)?;
    let mut wrong: Vec<String> = entries.iter().flat_map(faults).collect();
    match ptxas::check(&entries, ptxas::Gpus::All, |_| false) {
        Ok(found) => wrong.extend(found),
        Err(Error::NoPtxas) => println!("not assembled, so spills would not show: {}", Error::NoPtxas),
        Err(error) => return Err(error),
    }
    let write = |path: PathBuf, bytes: &[u8]| {
        std::fs::write(&path, bytes).map_err(|source| Error::File { path: path.clone(), source })?;
        println!("{}: {} entries, {} bytes", path.display(), entries.len(), bytes.len());
        Ok(())
    };
    match task {
        _ if !wrong.is_empty() => Err(Error::Unsound { faults: wrong }),
        Task::Write(path) => write(path, &archive::write(&entries)),
        Task::Text(path) => write(path, ptxas::text(&entries).as_bytes()),
        Task::Check(path) => {
            let packed = std::fs::read(&path).map_err(|source| Error::File { path: path.clone(), source })?;
            let again = format!("cargo warpfold-ptx -o {}", path.display());
            let differences = archive::differences(&archive::read(&packed)?, &entries, &again);
            if differences.is_empty() {
                println!("{} holds what the source compiles to", path.display());
                return Ok(());
            }
            Err(Error::Unsound { faults: differences })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn words(line: &str) -> impl Iterator<Item = String> {
        line.split_whitespace().map(str::to_owned)
    }

    #[test]
    fn arguments_have_defaults_and_mistakes_are_named() {
        let (this, task) = parse(words("--manifest-path a/Cargo.toml -p b")).expect("fine").expect("a task");
        assert_eq!((this.target, this.package), ("a/target/ptx".into(), Some("b".to_owned())));
        assert!(matches!(task, Task::Write(path) if path.as_path() == Path::new("a/kernels.ptxz")));
        assert!(matches!(parse(words("--check x")), Ok(Some((Crate { locked: true, .. }, Task::Check(_))))));
        assert_eq!(parse(words("-o")).err(), Some("-o needs a value".into()));
        assert_eq!(parse(words("--bogus")).err(), Some("unknown argument `--bogus`".into()));
        assert!(matches!(parse(words("--help")), Ok(None)));
    }
}
