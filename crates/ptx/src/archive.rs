//! The form in which a user's kernels travel: a line of text, a line of `name offset length` for each entry, and the
//! deflated modules end to end. `warpfold_kernels::Archive` reads it.

use crate::compile::Entry;
use crate::error::Error;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec;

/// What the first line begins with; the number of entries follows.
const MAGIC: &str = "warpfold-ptx 1 ";

/// Packs modules.
pub fn write(entries: &[Entry]) -> Vec<u8> {
    let (mut index, mut modules) = (format!("{MAGIC}{}\n", entries.len()), Vec::new());
    for entry in entries {
        let packed = compress_to_vec(entry.module.as_bytes(), 10);
        index += &format!("{} {} {}\n", entry.name, modules.len(), packed.len());
        modules.extend(packed);
    }
    let mut archive = index.into_bytes();
    archive.extend(modules);
    archive
}

/// Unpacks them.
///
/// # Errors
/// If these are not the bytes of an archive.
pub fn read(archive: &[u8]) -> Result<Vec<Entry>, Error> {
    let wrong = |why| move || Error::Archive { why };
    let mut rest = archive;
    let mut line = || {
        let end = rest.iter().position(|&b| b == b'\n').ok_or_else(wrong("it ends too early"))?;
        let text = std::str::from_utf8(&rest[..end]).map_err(|_| wrong("its index is no text")())?;
        rest = &rest[end + 1..];
        Ok::<&str, Error>(text)
    };
    let count = line()?.strip_prefix(MAGIC).and_then(|n| n.parse::<usize>().ok());
    let count = count.ok_or_else(wrong("its first line is another"))?;
    let lines = (0..count).map(|_| line()).collect::<Result<Vec<_>, _>>()?;
    let entry = |line: &str| {
        let mut fields = line.split(' ');
        let name = fields.next()?.to_owned();
        let mut number = || fields.next()?.parse::<usize>().ok();
        let (offset, length) = (number()?, number()?);
        let packed = rest.get(offset..offset.checked_add(length)?)?;
        Some(Entry { name, module: String::from_utf8(decompress_to_vec(packed).ok()?).ok()? })
    };
    lines.into_iter().map(|line| entry(line).ok_or_else(wrong("a module is broken"))).collect()
}

/// How packed modules differ from these, entry by entry. `again` is the command that packs them anew.
#[must_use]
pub fn differences(packed: &[Entry], entries: &[Entry], again: &str) -> Vec<String> {
    let named = |list: &[Entry], name: &str| list.iter().any(|e| e.name == name);
    let mut differences = Vec::new();
    for entry in entries {
        match packed.iter().find(|p| p.name == entry.name) {
            None => differences.push(format!("{} is not committed; run `{again}`", entry.name)),
            Some(p) if p.module != entry.module => {
                differences.push(format!("{} is not what its source compiles to; run `{again}`", entry.name));
            }
            Some(_) => {}
        }
    }
    let gone = packed.iter().filter(|p| !named(entries, &p.name));
    differences.extend(gone.map(|p| format!("{} is committed but has no source; run `{again}`", p.name)));
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_again_and_damage_is_an_error() {
        let entry =
            |name: &str| Entry { name: name.into(), module: format!(".visible .entry {name}()\n{{\n\tret;\n}}\n") };
        let entries = [entry("rows_a"), entry("rows_b")];
        let packed = write(&entries);
        let names = |list: &[Entry]| list.iter().map(|e| e.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&read(&packed).expect("an archive")), ["rows_a", "rows_b"]);
        assert!(differences(&read(&packed).expect("an archive"), &entries, "x").is_empty());
        assert_eq!(differences(&entries[..1], &entries, "x"), ["rows_b is not committed; run `x`"]);
        for end in 0..packed.len() {
            assert!(read(&packed[..end]).is_err(), "{end} of {} bytes", packed.len());
        }
        assert!(read(b"%PDF-1.7\n").is_err());
    }
}
