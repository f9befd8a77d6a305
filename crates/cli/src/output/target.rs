//! The target of a path: standard output, a device, or a file, which may not exist yet.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// The number of links that are followed before they count as a loop, as on Linux.
const LINKS: usize = 40;

/// The target of an output.
pub enum Target {
    /// Standard output, under any name.
    Standard,
    /// A device or a pipe. `mixes` is whether two outputs to it would mix; they do not on a device other than a
    /// terminal, such as /dev/null.
    Special { file: Option<FileId>, mixes: bool },
    /// A file, by a path without links.
    File { path: PathBuf, file: Option<FileId> },
}

/// The identity of a file.
#[derive(Clone, Copy, PartialEq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The identity of a file; `None` where the system does not provide one.
    pub fn of(metadata: &Metadata) -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some(Self { device: metadata.dev(), inode: metadata.ino() })
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            None
        }
    }
}

impl Target {
    /// The target of a path, with links followed.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Target::Standard);
        }
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Err(names_directory()),
            Ok(metadata) => {
                let file = FileId::of(&metadata);
                let mixes = !is_device(&metadata) || is_terminal(path);
                if mixes && file.is_some() && file == standard_output() {
                    return Ok(Target::Standard);
                }
                if !metadata.is_file() {
                    return Ok(Target::Special { file, mixes });
                }
                if metadata.permissions().readonly() {
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
                }
                Ok(Target::File { path: path.canonicalize()?, file })
            }
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                Ok(Target::File { path: end_of_links(path)?, file: None })
            }
            Err(why) => Err(why),
        }
    }

    /// Whether both are the same target.
    pub fn is_same(&self, other: &Target) -> bool {
        match (self, other) {
            (Target::Standard, Target::Standard) => true,
            (Target::Special { mixes: true, .. }, Target::Special { mixes: true, .. }) => self.file() == other.file(),
            (Target::File { path: a, .. }, Target::File { path: b, .. }) => {
                a == b || (self.file().is_some() && self.file() == other.file())
            }
            _ => false,
        }
    }

    /// Whether it is standard output.
    pub fn is_standard(&self) -> bool {
        matches!(self, Target::Standard)
    }

    /// The identity of an existing file.
    pub fn file(&self) -> Option<FileId> {
        match self {
            Target::Standard => None,
            Target::Special { file, .. } | Target::File { file, .. } => *file,
        }
    }
}

/// The path at the end of a chain of links, where no file exists.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = in_directory(path)?;
    for _ in 0..LINKS {
        match path.read_link() {
            Ok(next) => path = in_directory(&path.parent().unwrap_or(Path::new("/")).join(next))?,
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// A path whose directory has its links resolved.
fn in_directory(path: &Path) -> io::Result<PathBuf> {
    let text = path.as_os_str().as_encoded_bytes();
    let file_name = match text.last() {
        Some(&end) if std::path::is_separator(end.into()) => None,
        _ => path.file_name(),
    };
    let directory = path.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
    Ok(directory.canonicalize()?.join(file_name.ok_or_else(names_directory)?))
}

fn names_directory() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "it names a directory")
}

/// The identity of standard output's file.
fn standard_output() -> Option<FileId> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let file = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
        FileId::of(&file.metadata().ok()?)
    }
    #[cfg(not(unix))]
    None
}

fn is_device(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        metadata.file_type().is_char_device()
    }
    #[cfg(not(unix))]
    {
        !metadata.is_file()
    }
}

fn is_terminal(path: &Path) -> bool {
    use std::io::IsTerminal;
    File::options().write(true).open(path).is_ok_and(|file| file.is_terminal())
}

/// Gives a new file the permissions of an old one, and its owner and group, if this user may.
pub fn take_after(new: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let now = new.metadata()?;
        let owner_kept = now.uid() == old.uid() || fchown(new, Some(old.uid()), None).is_ok();
        let group_kept = now.gid() == old.gid() || fchown(new, None, Some(old.gid())).is_ok();
        // If the group could not be kept, its permissions are dropped, and if the owner could not be kept, so is
        // set-user-ID.
        let dropped = if owner_kept { 0 } else { 0o4000 } | if group_kept { 0 } else { 0o2070 };
        new.set_permissions(PermissionsExt::from_mode(old.mode() & 0o7777 & !dropped))
    }
    #[cfg(not(unix))]
    {
        let _ = (new, old);
        Ok(())
    }
}
