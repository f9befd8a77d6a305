//! The compiled kernels: one self-contained PTX module per entry, compressed, as `cargo xtask ptx` wrote them; and of
//! some the machine code, too.

use crate::text;
use crate::upgrade::upgraded;
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

/// Lines of `name frame packed offset length`: the frame of zstd in `FRAMES` that has the entry's module, encoded as
/// [`text`] says, and where in the frame that is.
const INDEX: &str = include_str!("../ptx/kernels.idx");
const FRAMES: &[u8] = include_bytes!("../ptx/kernels.bin");

/// Of the entries that most first uses need: lines of `entry.gpu frame packed offset length of`, as above; the last is
/// no matter here.
const CODE_INDEX: &str = include_str!("../ptx/code.idx");
const CODE: &[u8] = include_bytes!("../ptx/code.bin");

/// The names of all entries.
pub fn entries() -> impl Iterator<Item = &'static str> {
    INDEX.lines().filter_map(|line| line.split(' ').next())
}

/// The PTX module that has just this entry, ready for the driver; `None` if there is no such entry.
pub fn ptx(entry: &str) -> Option<String> {
    let [frame, packed, offset, length] = numbers(INDEX, entry)?;
    let frame = unpacked(FRAMES, [frame, packed])?;
    text::decode(&frame, frame.get(offset..offset.checked_add(length)?)?)
}

/// The same for a GPU of this compute capability (`(9, 0)`), with instructions of its own: see `upgrade.rs`.
pub fn ptx_for(entry: &str, capability: (u32, u32)) -> Option<String> {
    Some(upgraded(ptx(entry)?, capability))
}

/// Machine code of that entry for a GPU of this compute capability (`(9, 0)`), if it is one of those that most first
/// uses need. The driver may be too old for it, and has to compile the PTX then.
pub fn code(entry: &str, (major, minor): (u32, u32)) -> Option<Vec<u8>> {
    // Code for an earlier GPU of the same generation will do.
    let names = (0..=minor).rev().map(|minor| format!("{entry}.{major}{minor}"));
    let [frame, packed, offset, length] = names.into_iter().find_map(|name| numbers(CODE_INDEX, &name))?;
    Some(unpacked(CODE, [frame, packed])?.get(offset..offset.checked_add(length)?)?.to_vec())
}

/// The bytes of a frame of zstd, which is in `frames`: where it begins, and how many bytes it has there.
fn unpacked(frames: &[u8], [frame, packed]: [usize; 2]) -> Option<Vec<u8>> {
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(frames.get(frame..frame.checked_add(packed)?)?).ok()?;
    let mut bytes = Vec::new();
    decoder.read_to_end(&mut bytes).ok()?;
    Some(bytes)
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

    #[test]
    fn kernels_of_bf16_have_newer_instructions() {
        let [own, newer] = [(7, 5), (9, 0)].map(|gpu| super::ptx_for("rowwise_softmax_bf16", gpu).expect("the entry"));
        assert_eq!(crate::ptx("rowwise_softmax_bf16").as_ref(), Some(&own));
        assert!(!own.contains("cvt.rn.bf16x2") && newer.matches("cvt.rn.bf16x2.f32 %").count() >= 16);
        assert_eq!(newer.lines().count(), own.lines().count());
    }

    #[test]
    fn hopper_takes_two_halves_at_once() {
        for entry in crate::entries().filter(|entry| entry.ends_with("max_b2")) {
            let [own, newer] = [(8, 9), (9, 0)].map(|gpu| super::ptx_for(entry, gpu).expect(entry));
            let count = |text: &str, part: &str| text.matches(part).count();
            let sequences = count(&own, "{ .reg .b32 word, by, other, low;");
            assert_eq!(count(&newer, "add.u16x2 sum, %r"), sequences, "{entry}");
            assert_eq!(count(&newer, "x.u16x2 %r") + count(&newer, "n.u16x2 %r"), sequences, "{entry}");
            assert_eq!(newer.contains(".version 8.0\n.target sm_90\n"), sequences > 0, "{entry}");
            assert_eq!(newer.lines().count(), own.lines().count(), "{entry}");
        }
    }

    #[test]
    fn newer_gpus_copy_beside_other_work() {
        let copies = |text: &str| text.lines().filter(|line| line.trim_start().starts_with("cp.async.cg")).count();
        let behind = |text: &str| text.contains(" // cp.async");
        let [own, newer] = [(7, 5), (8, 0)].map(|gpu| super::ptx_for("tiled_sum_f32", gpu).expect("the entry"));
        assert!(behind(&own) && copies(&own) == 0 && !behind(&newer) && copies(&newer) > 0);
        for entry in crate::entries() {
            let text = crate::ptx(entry).expect(entry);
            assert!(!text.contains("wgmma") || !behind(&text), "{entry}");
        }
        assert!(copies(&crate::ptx("kmeans_hopper_64_f16").expect("the entry")) > 0);
    }

    #[test]
    fn machine_code_is_for_a_gpu_of_the_same_generation() {
        let code = |capability| crate::code("rows_sum_f32", capability);
        let hopper = code((9, 0)).expect("an image");
        assert!(hopper.starts_with(b"\x7fELF") && hopper.windows(12).any(|name| name == b"rows_sum_f32"));
        assert!(code((8, 0)).is_some() && code((8, 9)) == code((8, 0)) && code((8, 0)) != Some(hopper));
        assert!(code((7, 5)).is_none() && crate::code("no_such_kernel", (9, 0)).is_none());
        for (entry, gpu) in super::CODE_INDEX.lines().filter_map(|line| line.split(' ').next()?.split_once('.')) {
            let gpu: u32 = gpu.parse().expect("a number");
            assert!(crate::ptx(entry).is_some() && crate::code(entry, (gpu / 10, gpu % 10)).is_some(), "{entry}");
        }
    }
}
