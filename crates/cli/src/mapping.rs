//! Files in memory: mapped where they lie, or spooled into an unnamed temporary file and mapped there.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;

use memmap2::{Mmap, MmapOptions};

/// The number of bytes that one thread releases.
#[cfg(unix)]
const SHARE: usize = 64 << 20;

/// The bytes of a file, read only when they are touched.
pub struct Mapping {
    map: Mmap,
    /// The used part, such as a member of an archive.
    part: Range<usize>,
}

impl Mapping {
    /// Maps a regular file from `offset` on.
    pub fn new(file: &File, offset: u64) -> io::Result<Self> {
        let len = usize::try_from(file.metadata()?.len().saturating_sub(offset)).map_err(io::Error::other)?;
        // SAFETY: a shared mapping that is only read. Should another program write the file meanwhile, we compute with
        // whatever numbers it leaves, since every bit pattern is a value; should it cut the file short, the signal
        // handler ends this process.
        let map = unsafe { MmapOptions::new().offset(offset).len(len).map(file)? };
        Ok(Self { map, part: 0..len })
    }

    /// The same mapping, narrowed to a part of it.
    pub fn part(self, part: Range<usize>) -> Self {
        let (start, end) = (self.part.start + part.start, self.part.start + part.end);
        assert!(start <= end && end <= self.part.end, "a part of the mapping");
        Self { part: start..end, ..self }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map[self.part.clone()]
    }

    /// Unmaps the pages from this process, by several threads if there are many. For 1 GiB in pages of 4 KiB one thread
    /// takes 49 ms and two take 27 ms; the end of a process uses one. Bytes that are read again come back from the
    /// file.
    pub fn release(&self) {
        #[cfg(unix)]
        {
            let threads = std::thread::available_parallelism().map_or(1, usize::from).min(self.map.len() / SHARE);
            if threads < 2 {
                return;
            }
            let share = self.map.len().div_ceil(threads).next_multiple_of(SHARE);
            std::thread::scope(|scope| {
                for from in (0..self.map.len()).step_by(share) {
                    let len = share.min(self.map.len() - from);
                    let advice = memmap2::UncheckedAdvice::DontNeed;
                    // SAFETY: the mapping is shared, file-backed and never written: a page that comes back is the same
                    // page.
                    scope.spawn(move || unsafe { self.map.unchecked_advise_range(advice, from, len) });
                }
            });
        }
    }
}

/// The side of a copy that failed.
pub enum CopyError {
    /// The source.
    Read(io::Error),
    /// The temporary file.
    Write(io::Error),
}

/// Copies at most `limit` bytes of `from`, after `before`, into an unnamed temporary file, and maps that.
pub fn spool(before: &[u8], from: &mut dyn Read, limit: u64) -> Result<Mapping, CopyError> {
    let mut file = tempfile::tempfile().map_err(CopyError::Write)?;
    file.write_all(before).map_err(CopyError::Write)?;
    let mut buffer = vec![0; 1 << 18];
    let mut left = limit;
    while left > 0 {
        let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let n = match from.read(&mut buffer[..room]) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(CopyError::Read(e)),
        };
        file.write_all(&buffer[..n]).map_err(CopyError::Write)?;
        left -= n as u64;
    }
    Mapping::new(&file, 0).map_err(CopyError::Write)
}

/// Fills `buffer`, or less if the input ends.
pub fn read_up_to(from: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match from.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}
