//! Outputs: files appear whole and together, or not at all.
//!
//! Each file is written under a temporary name in its own directory and synchronised to the disk. When all are written,
//! they are renamed. An existing file is replaced, and keeps its permissions as far as the system allows. A symbolic
//! link is kept, and its target is replaced or created.

mod target;

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use tempfile::NamedTempFile;
use warpfold::Array;

use crate::error::Failure;
use crate::names::shown;
use crate::source::Source;
use crate::{npy, signals, stdio};
pub use target::FileId;
use target::Target;

/// The outputs of a command, which have been checked to be writable.
pub struct Outputs {
    all: Vec<Output>,
}

/// One output.
struct Output {
    /// The option that named it.
    option: &'static str,
    /// The name as given.
    name: String,
    /// The identity of the target, which may not be written twice.
    target: Target,
    to: To,
}

enum To {
    /// Standard output.
    Standard,
    /// A device or a named pipe, written in place.
    Special(File),
    /// A temporary file in the same directory, then renamed.
    Renamed(Temporary),
}

/// An option, and the file that it names.
pub type Named<'a> = (&'static str, Option<&'a Path>);

impl Outputs {
    /// Checks that arrays can be written, before any work is done. No file of these names appears yet.
    ///
    /// No output may be the same file as another, or as an input. `json` says whether a text goes to standard output,
    /// too.
    pub fn arrays(named: &[Named<'_>], inputs: &[&Source], json: bool) -> Result<Self, Failure> {
        for (option, path) in given(named) {
            if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz")) {
                return Err(Failure::Usage(format!(
                    "{option} {}: what is written is one array, a .npy file, no archive: name it .npy",
                    shown(path)
                )));
            }
        }
        let outputs = Self::texts(named, inputs)?;
        for output in &outputs.all {
            let Output { option, ref name, ref target, .. } = *output;
            if target.is_standard() && json {
                return Err(Failure::Usage(format!(
                    "{option} {name} and --json would both write to standard output: give {option} a file, or leave \
                     out --json"
                )));
            }
            if output.is_terminal() {
                return Err(Failure::Usage(format!(
                    "{option} {name} would write a binary file to the terminal: name a file, or redirect standard \
                     output"
                )));
            }
        }
        Ok(outputs)
    }

    /// The same for texts.
    pub fn texts(named: &[Named<'_>], inputs: &[&Source]) -> Result<Self, Failure> {
        let mut all: Vec<Output> = Vec::new();
        for (option, path) in given(named) {
            let output = Output::prepare(option, path)?;
            if let Some(other) = all.iter().find(|other| other.target.is_same(&output.target)) {
                return Err(Failure::Usage(format!(
                    "{} {} and {option} {} are the same file: give each a file of its own",
                    other.option, other.name, output.name
                )));
            }
            if inputs.iter().any(|source| source.file.is_some_and(|file| output.target.file() == Some(file))) {
                return Err(Failure::Usage(format!(
                    "{option} {} is the input, which would be lost: write to another file",
                    output.name
                )));
            }
            all.push(output);
        }
        Ok(Self { all })
    }

    /// Whether there are no outputs.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether one output is standard output.
    pub fn has_standard(&self) -> bool {
        self.all.iter().any(|output| output.target.is_standard())
    }

    /// Writes the array of each option. After a failure no file has appeared or changed.
    pub fn write(self, arrays: &[(&str, &Array)]) -> Result<(), Failure> {
        let header = |array: &Array| npy::header(array.dtype(), &array.shape);
        let headers: Vec<_> = arrays.iter().map(|(option, array)| (*option, array, header(array))).collect();
        let parts = headers.iter().map(|(option, array, header)| (*option, [&header[..], array.values.as_bytes()]));
        self.put(&parts.collect::<Vec<_>>())
    }

    /// Writes the text of each option. After a failure no file has appeared or changed.
    pub fn write_texts(self, texts: &[(&str, String)]) -> Result<(), Failure> {
        let parts = texts.iter().map(|(option, text)| (*option, [text.as_bytes(), b""]));
        self.put(&parts.collect::<Vec<_>>())
    }

    fn put(mut self, contents: &[(&str, [&[u8]; 2])]) -> Result<(), Failure> {
        // Writes that cannot be undone come last.
        self.all.sort_by_key(|output| !matches!(output.to, To::Renamed(_)));
        for output in &mut self.all {
            let parts = contents.iter().find(|(option, _)| *option == output.option);
            let (_, parts) = parts.expect("every output that was prepared is written");
            output.put(parts).map_err(|why| output.failure(why))?;
        }
        signals::uninterrupted(|| self.all.into_iter().try_for_each(Output::rename))
    }
}

fn given<'a>(named: &[Named<'a>]) -> impl Iterator<Item = (&'static str, &'a Path)> {
    named.iter().filter_map(|&(option, path)| Some((option, path?)))
}

impl Output {
    fn prepare(option: &'static str, path: &Path) -> Result<Self, Failure> {
        let failure = |why| Failure::Create { path: path.into(), why };
        let target = Target::of(path).map_err(failure)?;
        let to = match &target {
            Target::Standard => {
                stdio::check_output().map_err(Failure::stdout)?;
                To::Standard
            }
            Target::Special { .. } => To::Special(OpenOptions::new().write(true).open(path).map_err(failure)?),
            Target::File { path, .. } => To::Renamed(Temporary::beside(path).map_err(failure)?),
        };
        Ok(Self { option, name: shown(path), target, to })
    }

    fn is_terminal(&self) -> bool {
        match &self.to {
            To::Standard => io::stdout().is_terminal(),
            To::Special(file) => file.is_terminal(),
            To::Renamed(_) => false,
        }
    }

    fn put(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let put = |to: &mut dyn Write| {
            parts.iter().try_for_each(|part| to.write_all(part))?;
            to.flush()
        };
        match &mut self.to {
            To::Standard => put(&mut io::stdout().lock()),
            To::Special(file) => put(file),
            To::Renamed(file) => {
                let file = file.file();
                put(file)?;
                file.sync_all()
            }
        }
    }

    fn rename(self) -> Result<(), Failure> {
        match (self.to, self.target) {
            (To::Renamed(file), Target::File { path, .. }) => {
                file.rename(&path).map_err(|why| Failure::Write { to: self.name, why })
            }
            _ => Ok(()),
        }
    }

    fn failure(&self, why: io::Error) -> Failure {
        match self.to {
            To::Standard => Failure::stdout(why),
            _ => Failure::Write { to: self.name.clone(), why },
        }
    }
}

/// A file that is removed when it is dropped, or when a signal ends the process.
struct Temporary(Option<NamedTempFile<File>>);

impl Temporary {
    /// A temporary file in the target's directory, with the permissions that the target has, or will have.
    fn beside(target: &Path) -> io::Result<Self> {
        let directory = target.parent().unwrap_or(Path::new("."));
        let file_name = target.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{}.", file_name.chars().take(40).collect::<String>());
        let file = tempfile::Builder::new().prefix(&prefix).suffix(".part").make_in(directory, |path| {
            signals::remove_on_exit(path);
            OpenOptions::new().write(true).create_new(true).open(path).inspect_err(|_| signals::keep(path))
        })?;
        let file = Self(Some(file));
        if let (Some(new), Ok(old)) = (&file.0, target.metadata()) {
            target::take_after(new.as_file(), &old)?;
        }
        Ok(file)
    }

    fn file(&mut self) -> &mut File {
        self.0.as_mut().expect("it is not renamed").as_file_mut()
    }

    fn rename(mut self, target: &Path) -> io::Result<()> {
        let file = self.0.take().expect("it is renamed once");
        let name = file.path().to_path_buf();
        let done = file.persist(target);
        signals::keep(&name);
        done.map(drop).map_err(|e| e.error)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let name = file.path().to_path_buf();
            drop(file);
            signals::keep(&name);
        }
    }
}
