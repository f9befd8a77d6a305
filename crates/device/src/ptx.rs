//! The compiled kernels: one self-contained PTX module per entry, compressed, as `cargo xtask ptx` wrote them.

/// The kernels of a user's own crate, as `cargo warpfold-ptx` packed them: a first line, a line of `name offset length` for
/// each entry, and the deflated modules.
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
        find(self.index, self.modules, entry)
    }
}

/// Lines of `name offset length`: where in `MODULES` the entry's compressed text is.
const INDEX: &str = include_str!("../ptx/kernels.idx");
const MODULES: &[u8] = include_bytes!("../ptx/kernels.bin");

/// The names of all entries.
pub fn entries() -> impl Iterator<Item = &'static str> {
    INDEX.lines().filter_map(|line| line.split(' ').next())
}

/// The PTX module that has just this entry, ready for the driver; `None` if there is no such entry.
pub fn ptx(entry: &str) -> Option<String> {
    find(INDEX, MODULES, entry)
}

fn find(index: &str, modules: &[u8], entry: &str) -> Option<String> {
    let mut fields =
        index.lines().map(|line| line.split(' ')).find_map(|mut f| (f.next() == Some(entry)).then_some(f))?;
    let mut number = || fields.next()?.parse::<usize>().ok();
    let (offset, length) = (number()?, number()?);
    let text = miniz_oxide::inflate::decompress_to_vec(modules.get(offset..offset.checked_add(length)?)?).ok()?;
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_entry_is_a_module_of_its_own() {
        assert!(super::entries().count() > 80);
        for entry in super::entries() {
            let text = super::ptx(entry).expect(entry);
            assert!(text.contains(&format!(".visible .entry {entry}(")) && text.contains(".target sm_"));
            assert_eq!(text.matches(".entry").count(), 1, "{entry}");
        }
        assert_eq!(super::ptx("no_such_kernel"), None);
    }
}
