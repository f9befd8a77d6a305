//! The compiled kernels: one self-contained PTX module per entry, compressed, as `cargo xtask ptx` wrote them.

use std::io::Read;

/// The kernels of a user's own crate, as `cargo warpfold-ptx` packed them: a first line, a line of `name offset length`
/// for each entry, and the deflated modules.
#[derive(Clone, Copy, Debug)]
pub struct Archive<'a> {
    index: &'a str,
    modules: &'a [u8],
}

impl<'a> Archive<'a> {
    /// Reads the index; none, if these are not the bytes of an archive.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let line = |from: usize| Some(from + bytes.get(from..)?.iter().position(|&b| b == b'\n')? + 1);
        let first = line(0)?;
        let head = str::from_utf8(&bytes[..first]).ok()?.trim_end();
        let count: usize = head.strip_prefix("warpfold-ptx 1 ")?.parse().ok()?;
        let end = (0..count).try_fold(first, |at, _| line(at))?;
        Some(Self { index: str::from_utf8(&bytes[first..end]).ok()?, modules: &bytes[end..] })
    }

    /// The names of all entries.
    pub fn entries(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.index.lines().filter_map(|line| line.split(' ').next())
    }

    /// The PTX module that has just this entry; `None` if there is no such entry, or its bytes are damaged.
    #[must_use]
    pub fn ptx(&self, entry: &str) -> Option<String> {
        let [offset, length] = numbers(self.index, entry)?;
        let packed = self.modules.get(offset..offset.checked_add(length)?)?;
        String::from_utf8(miniz_oxide::inflate::decompress_to_vec(packed).ok()?).ok()
    }
}

/// Lines of `name frame packed offset length`: the frame of zstd in `FRAMES` that has the entry's text, and where in it
/// that is.
const INDEX: &str = include_str!("../ptx/kernels.idx");
const FRAMES: &[u8] = include_bytes!("../ptx/kernels.bin");

/// The names of all entries.
pub fn entries() -> impl Iterator<Item = &'static str> {
    INDEX.lines().filter_map(|line| line.split(' ').next())
}

/// The PTX module that has just this entry, ready for the driver; `None` if there is no such entry.
pub fn ptx(entry: &str) -> Option<String> {
    let [frame, packed, offset, length] = numbers(INDEX, entry)?;
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(FRAMES.get(frame..frame.checked_add(packed)?)?).ok()?;
    let mut text = String::new();
    decoder.read_to_string(&mut text).ok()?;
    text.get(offset..offset.checked_add(length)?).map(str::to_owned)
}

/// What follows an entry's name in an index.
fn numbers<const N: usize>(index: &str, entry: &str) -> Option<[usize; N]> {
    let mut fields =
        index.lines().map(|line| line.split(' ')).find_map(|mut f| (f.next() == Some(entry)).then_some(f))?;
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = fields.next()?.parse().ok()?;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_entry_is_a_module_of_its_own() {
        assert!(crate::entries().count() > 80);
        for entry in crate::entries() {
            let text = crate::ptx(entry).expect(entry);
            assert!(text.contains(&format!(".visible .entry {entry}(")) && text.contains(".target sm_"));
            assert_eq!(text.matches(".entry").count(), 1, "{entry}");
        }
        assert_eq!(crate::ptx("no_such_kernel"), None);
    }
}
