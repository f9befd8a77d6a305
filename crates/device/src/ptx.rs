//! The compiled kernels: one self-contained PTX module per entry, compressed, as `cargo xtask ptx` wrote them.

/// Lines of `name offset length`: where in `MODULES` the entry's compressed text is.
const INDEX: &str = include_str!("../ptx/kernels.idx");
const MODULES: &[u8] = include_bytes!("../ptx/kernels.bin");

/// The names of all entries.
pub fn entries() -> impl Iterator<Item = &'static str> {
    INDEX.lines().filter_map(|line| line.split(' ').next())
}

/// The PTX module that has just this entry, ready for the driver; `None` if there is no such entry.
pub fn ptx(entry: &str) -> Option<String> {
    let mut fields =
        INDEX.lines().map(|line| line.split(' ')).find_map(|mut f| (f.next() == Some(entry)).then_some(f))?;
    let mut number = || fields.next()?.parse::<usize>().ok();
    let (offset, length) = (number()?, number()?);
    let text = miniz_oxide::inflate::decompress_to_vec(MODULES.get(offset..offset + length)?).ok()?;
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
