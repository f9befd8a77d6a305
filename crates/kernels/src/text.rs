//! The text of kernels in the form that is compressed: half the bytes of the compressed text itself.
//!
//! A line of PTX is a pattern, in which registers have no numbers, and these numbers. Kernels have few patterns. The
//! number of a register is given as its rank among the registers of its class by their last use: most are low. A
//! compressor sees neither in the text.
//!
//! A frame of a few modules begins with their patterns: how many bytes these have, as a little-endian u32, and a line
//! for each, with a zero byte where a number was. A module has the length of its first part, as such a number; that
//! part, for each line of the text the number of its pattern; and all ranks. Numbers and ranks have seven bits in a
//! byte, the low ones first, and the eighth says that more follow.

use std::fmt::Write as _;

/// The text of a module of a frame; none if they are damaged.
pub fn decode(frame: &[u8], module: &[u8]) -> Option<String> {
    let (patterns, _) = counted(frame)?;
    let (mut lines, mut ranks) = counted(module)?;
    let patterns: Vec<&str> = str::from_utf8(patterns).ok()?.lines().collect();
    let (mut recent, mut text) = (Recent::default(), String::new());
    while !lines.is_empty() {
        let mut parts = patterns.get(number(&mut lines)?)?.split('\0');
        let mut before = parts.next()?;
        text.push_str(before);
        for part in parts {
            let class = before.rsplit('%').next()?;
            write!(text, "{}", recent.at(class, number(&mut ranks)?)).ok()?;
            text.push_str(part);
            before = part;
        }
        text.push('\n');
    }
    Some(text)
}

/// So many bytes as the first four say, and what follows.
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// Takes a number of up to 14 bits.
fn number(bytes: &mut &[u8]) -> Option<usize> {
    let (&low, rest) = bytes.split_first()?;
    *bytes = rest;
    if low < 0x80 {
        return Some(usize::from(low));
    }
    let (&high, rest) = bytes.split_first()?;
    *bytes = rest;
    (high < 0x80).then_some(usize::from(low & 0x7f) | usize::from(high) << 7)
}

/// The numbers of the registers of each class: the last used first, then, in their order, those that were not used yet.
#[derive(Default)]
pub struct Recent(Vec<(Box<str>, Vec<u16>)>);

impl Recent {
    /// The register of a rank, which is the last used from now on.
    pub fn at(&mut self, class: &str, rank: usize) -> u16 {
        let registers = self.more_than(class, rank);
        registers[..=rank].rotate_right(1);
        registers[0]
    }

    /// At least one more register of a class than so many.
    pub fn more_than(&mut self, class: &str, many: usize) -> &mut [u16] {
        let known = self.0.iter().position(|(name, _)| **name == *class).unwrap_or_else(|| {
            self.0.push((class.into(), Vec::new()));
            self.0.len() - 1
        });
        let registers = &mut self.0[known].1;
        registers.extend(registers.len() as u16..=many as u16);
        registers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_ranks_by_their_last_use() {
        let counted = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
        let frame = counted(b"add %r\0, %r\0, %rd\0;\nret;\n");
        let module = |lines: &[u8], ranks: &[u8]| [&counted(lines), ranks].concat();
        let bytes = module(&[0, 0, 1], &[1, 1, 0, 2, 0, 0x81, 1]);
        let text = "add %r1, %r0, %rd0;\nadd %r2, %r2, %rd129;\nret;\n";
        assert_eq!(decode(&frame, &bytes).as_deref(), Some(text));
        for damaged in [&module(&[2], &[]), &module(&[0], &[1, 1]), &bytes[..bytes.len() - 1], &[0, 1, 2]] {
            assert_eq!(decode(&frame, damaged), None, "{damaged:?}");
        }
        assert_eq!(decode(&frame[..9], &bytes), None);
    }
}
