//! The text of a kernel for newer GPUs: what is a sequence of instructions on the oldest that are supported is one
//! instruction on those that have it, with the same bits. What is committed and checked for all GPUs is the sequence.

use std::fmt::Write as _;

/// How the sequence begins that rounds two f32 to bf16, none of them NaN: `Simt::f32_to_bf16_two` on hardware.
const ROUND: &str = "{ .reg .b32 low, high, odd; mov.b32 low, ";
/// The compute capability from which on that is an instruction, and how the header names GPUs.
const ROUNDS: ((u32, u32), &str) = ((8, 0), ".target sm_80");
const OLDEST: &str = ".target sm_75";
/// How the sequence begins that adds halves, and takes the greater or the lesser of these and of others:
/// `Simt::greatest_halves` and `Simt::least_halves` on hardware.
const HALVES: &str = "{ .reg .b32 word, by, other, low; mov.b32 word, ";
/// As above, of two instructions; what else the header says, on the oldest and on these.
const HALVED: ((u32, u32), &str) = ((9, 0), ".target sm_90");
const VERSIONS: [&str; 2] = [".version 7.4", ".version 8.0"];
/// What precedes the copy beside other work that newer GPUs have, behind a sequence that does the same.
const COPY: &str = " // cp.async";

/// The text for a GPU of this compute capability (`(9, 0)`).
#[must_use]
pub fn upgraded(text: String, capability: (u32, u32)) -> String {
    let rounds = capability >= ROUNDS.0 && (text.contains(ROUND) || text.contains(COPY));
    let is_newest = capability >= HALVED.0 && text.contains(HALVES);
    if !(rounds || is_newest) || !text.contains(OLDEST) {
        return text;
    }
    let mut found = String::with_capacity(text.len());
    let text = if is_newest {
        text.replacen(VERSIONS[0], VERSIONS[1], 1).replacen(OLDEST, HALVED.1, 1)
    } else {
        text.replacen(OLDEST, ROUNDS.1, 1)
    };
    for line in text.lines() {
        if let Some([to, low, high]) = round(line) {
            let _ = writeln!(found, "cvt.rn.bf16x2.f32 {to}, {high}, {low};");
        } else if let Some([which, to, word, by, other]) = halves(line).filter(|_| is_newest) {
            // `ptxas` makes one of both.
            let _ =
                writeln!(found, "{{ .reg .b32 sum; add.u16x2 sum, {word}, {by}; {which}.u16x2 {to}, sum, {other}; }}");
        } else {
            let line = line.find(COPY).map_or(line, |at| &line[at + " // ".len()..]);
            found.push_str(line);
            found.push('\n');
        }
    }
    found
}

/// Whether a sequence takes the greater halves or the lesser, and its registers: the result, the word, what is added,
/// the others.
fn halves(line: &str) -> Option<[&str; 5]> {
    let (word, rest) = line.trim_start().strip_prefix(HALVES)?.split_once(';')?;
    let (by, rest) = rest.strip_prefix(" mov.b32 by, ")?.split_once(';')?;
    let (other, rest) = rest.strip_prefix(" mov.b32 other, ")?.split_once(';')?;
    let (before, last) = rest.split_once("prmt.b32 ")?;
    let (to, _) = last.split_once(',')?;
    Some([if before.contains("max.u32") { "max" } else { "min" }, to, word, by, other])
}

/// The registers of a sequence that rounds: the result, and both numbers.
fn round(line: &str) -> Option<[&str; 3]> {
    let (low, rest) = line.trim_start().strip_prefix(ROUND)?.split_once(';')?;
    let (high, rest) = rest.strip_prefix(" mov.b32 high, ")?.split_once(';')?;
    let (_, last) = rest.split_once("prmt.b32 ")?;
    let (to, _) = last.split_once(',')?;
    Some([to, low, high])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sequence_is_another_instruction() {
        let round =
            format!("\t{ROUND}%r1; mov.b32 high, %r2; shr.u32 odd, low, 16; prmt.b32 %r3, low, high, 0x7632; }}\n");
        let text = [".version 7.4\n", OLDEST, "\nmov.u32 %r1, 5;\n", &round, "ret;\n"].concat();
        assert_eq!(upgraded(text.clone(), (7, 5)), text);
        let newer = ".version 7.4\n.target sm_80\nmov.u32 %r1, 5;\ncvt.rn.bf16x2.f32 %r3, %r2, %r1;\nret;\n";
        assert_eq!(upgraded(text, (9, 0)), newer);
        let copy =
            [OLDEST, "\n{ ld.global.b32 a, [%rd1]; } // cp.async.cg.shared.global [%r1], [%rd1], 16;\n"].concat();
        assert_eq!(upgraded(copy, (8, 6)), ".target sm_80\ncp.async.cg.shared.global [%r1], [%rd1], 16;\n");
        for which in ["max", "min"] {
            let halves = format!(
                "\t{HALVES}%r1; mov.b32 by, %r2; mov.b32 other, %r3; {which}.u32 word, word, other; \
                 prmt.b32 %r4, low, word, 0x7632; }}\n"
            );
            let text = [".version 7.4\n", OLDEST, "\n", &halves].concat();
            assert_eq!(upgraded(text.clone(), (8, 9)), text);
            let newest = format!(
                ".version 8.0\n.target sm_90\n\
                 {{ .reg .b32 sum; add.u16x2 sum, %r1, %r2; {which}.u16x2 %r4, sum, %r3; }}\n"
            );
            assert_eq!(upgraded(text, (9, 0)), newest);
        }
        let other = [OLDEST, "\nret;\n"].concat();
        assert_eq!(upgraded(other.clone(), (9, 0)), other);
    }
}
