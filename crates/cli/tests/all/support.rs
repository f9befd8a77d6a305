//! Runs the command, and makes the files that it reads.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The outcome of a run of the command.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub bytes: Vec<u8>,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            bytes: output.stdout,
        }
    }
}

impl Ran {
    /// The standard output of a run that succeeded.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        &self.out
    }

    /// Checks a refusal: status 2, nothing on standard output, and a message with these words.
    #[track_caller]
    pub fn refused(&self, words: &[&str]) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(self.err.starts_with("error: "), "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {:?}", self.err);
        }
    }
}

/// The command itself, in a directory.
pub fn command(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command.current_dir(dir).stdin(Stdio::null());
    command
}

/// A directory of its own for each test.
pub struct Dir(tempfile::TempDir);

impl Dir {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Runs `warpfold` with the words of `line`.
    pub fn run(&self, line: &str) -> Ran {
        self.args(line.split_whitespace())
    }

    pub fn args<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        command(self.path()).args(args).output().unwrap().into()
    }

    /// The same with something on standard input, by a pipe.
    pub fn piped(&self, line: &str, input: &[u8]) -> Ran {
        let mut child = command(self.path())
            .args(line.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // The command may stop to read before the end.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ran = child.wait_with_output().unwrap().into();
        writer.join().unwrap();
        ran
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.join(name), bytes).unwrap();
    }

    /// The names of the files in it.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A .npy file, written independently of the command's own writer.
pub fn npy(version: u8, descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    with_header(version, &format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"), data)
}

/// A .npy file of any header text.
pub fn with_header(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
    let field = if version == 1 { 2 } else { 4 };
    let padding = 63 - (8 + field + text.len()) % 64;
    let text = format!("{text}{}\n", " ".repeat(padding));
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    file.extend(&(text.len() as u32).to_le_bytes()[..field]);
    file.extend(text.as_bytes());
    file.extend(data);
    file
}

/// Little-endian bytes.
pub fn f32s(x: &[f32]) -> Vec<u8> {
    x.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn f64s(x: &[f64]) -> Vec<u8> {
    x.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn i64s(x: &[i64]) -> Vec<u8> {
    x.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A .npy file of integers along one axis.
pub fn list(x: &[i64]) -> Vec<u8> {
    npy(1, "'<i8'", false, &tuple(&[x.len()]), &i64s(x))
}

/// A .npy file of floats along one axis.
pub fn floats(x: &[f32]) -> Vec<u8> {
    npy(1, "'<f4'", false, &tuple(&[x.len()]), &f32s(x))
}

/// 0, 1, 2 … as f32, of this shape.
pub fn count_up(shape: &[usize]) -> Vec<u8> {
    let x: Vec<f32> = (0..shape.iter().product::<usize>()).map(|i| i as f32).collect();
    npy(1, "'<f4'", false, &tuple(shape), &f32s(&x))
}

/// A shape as Python writes it.
pub fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        many => format!("({})", many.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A .npz file.
pub fn npz(members: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in members {
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
