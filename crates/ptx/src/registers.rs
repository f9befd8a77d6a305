//! Few names for registers, so that modules pack to half of the bytes. The driver makes the same of them: it takes
//! every assignment for a value of its own.
//!
//! LLVM names each value anew. Those that are assigned and used in one stretch of the text, without a label or a branch
//! in between, take names that are free again; all others are numbered in the order in which they appear.

use std::collections::HashMap;

/// What is known of a register.
struct Register {
    /// The stretch that it is in; none, if there are several, or if it is not assigned first.
    stretch: Option<usize>,
    /// The last line that names it.
    last: usize,
}

/// Names that are given out, of one kind of register.
#[derive(Default)]
struct Names {
    given: usize,
    /// In descending order.
    free: Vec<usize>,
}

impl Names {
    fn take(&mut self, again: bool) -> usize {
        if let Some(number) = self.free.pop_if(|_| again) {
            return number;
        }
        self.given += 1;
        self.given
    }

    fn give_back(&mut self, number: usize) {
        let at = self.free.partition_point(|&other| other > number);
        self.free.insert(at, number);
    }
}

/// The same module with few names.
#[must_use]
pub fn renamed(module: &str) -> String {
    let registers = registers(module);
    let mut names: HashMap<&str, Names> = HashMap::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut body = Vec::new();
    for (i, line) in module.lines().enumerate() {
        let mut text = String::with_capacity(line.len());
        let mut from = 0;
        let found: Vec<(usize, &str)> = if is_declaration(line) { Vec::new() } else { registers_of(line).collect() };
        for &(at, name) in &found {
            let kind = kind(name);
            let again = registers[name].stretch.is_some();
            let number = *numbers.entry(name).or_insert_with(|| names.entry(kind).or_default().take(again));
            text += &line[from..at];
            text += &format!("{kind}{number}");
            from = at + name.len();
        }
        text += &line[from..];
        body.push(text);
        for (_, name) in found {
            let own = &registers[name];
            if own.stretch.is_some() && own.last == i {
                // A line may name it twice.
                if let Some(number) = numbers.remove(name) {
                    names.entry(kind(name)).or_default().give_back(number);
                }
            }
        }
    }
    let declared = |line: String| {
        let Some((start, kind)) = declaration(&line) else { return line };
        let given = names.get(kind).map_or(0, |names| names.given);
        format!("{start}{kind}<{}>;", given + 1)
    };
    body.into_iter().map(|line| declared(line) + "\n").collect()
}

/// All registers of a module.
fn registers(module: &str) -> HashMap<&str, Register> {
    let mut all: HashMap<&str, Register> = HashMap::new();
    let mut stretch = 0;
    for (i, line) in module.lines().enumerate() {
        if is_declaration(line) {
            continue;
        }
        let text = line.trim_start();
        stretch += text.ends_with(':') as usize;
        let assigned = assigned(line);
        for (at, name) in registers_of(line) {
            let own = all.entry(name).or_insert_with(|| {
                // What an instruction both assigns and reads had a value before.
                let is_new = at < assigned && registers_of(line).all(|(at, other)| at < assigned || other != name);
                Register { stretch: is_new.then_some(stretch), last: i }
            });
            own.stretch = own.stretch.filter(|&first| first == stretch);
            own.last = i;
        }
        let leaves = |word: &str| ["bra", "brx", "ret", "exit"].iter().any(|start| word.starts_with(start));
        stretch += text.split_whitespace().any(leaves) as usize;
    }
    all
}

/// Where the registers that a line's instruction assigns end; the line's start, if it may assign none, or not always.
fn assigned(line: &str) -> usize {
    let text = line.trim_start();
    let opcode = text.split([' ', '\t']).next().unwrap_or_default();
    let reads = ["@", ".", "st", "red", "bar", "br", "wgmma", "{"];
    if reads.iter().any(|start| opcode.starts_with(start)) {
        return 0;
    }
    let first = line.find(',').unwrap_or(0);
    let end = if line[..first].contains('{') { line.find('}').unwrap_or(0) } else { first };
    if line[..end].contains('[') { 0 } else { end }
}

/// `.reg .b32 %r<5>;`: what comes before the kind of register, and the kind, with its sign.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let sign = line.find('%').filter(|_| is_declaration(line))?;
    let end = line.find('<')?;
    Some((&line[..sign], &line[sign..end]))
}

/// Whether that is all of a line: one of inline assembly may go on with instructions.
fn is_declaration(line: &str) -> bool {
    line.trim_start().starts_with(".reg") && line.trim_end().ends_with(">;")
}

/// The kind of a register, with its sign.
fn kind(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Where LLVM's registers are in a line: a sign, letters, and digits up to the end of the word.
fn registers_of(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.match_indices('%').filter_map(|(at, _)| {
        let word = &line[at + 1..];
        let letters = word.find(|c: char| !c.is_ascii_lowercase())?;
        let digits = word[letters..].find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len() - letters);
        let after = word[letters + digits..].chars().next();
        let is_whole = after.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_');
        (letters > 0 && digits > 0 && is_whole).then(|| (at, &line[at..at + 1 + letters + digits]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_in_one_stretch_takes_a_name_that_is_free_and_all_else_keeps_its_own() {
        let text = "\t.reg .pred \t%p<9>;\n\t.reg .b32 \t%r<9>;\n\tmov.u32 \t%r7, %tid.x;\n\tadd.s32 \t%r5, %r7, 1;\n\
                    \tadd.s32 \t%r8, %r5, %r5;\n\tsetp.eq.b32 \t%p4, %r8, 1;\n\t@%p4 bra \t$L__BB_1;\n\
                    \tst.global.b32 \t[%rd3], %r7;\n\tadd.s32 \t%r6, %r7, 2;\n\t@%p4 mov.b32 \t%r6, 0;\n$L__BB_1:\n\
                    \tmov.b64 \t{%r2, %r3}, %rd3;\n\tadd.s32 \t%r4, %r2, %r3;\n\tadd.s32 \t%r1, %r1, %r4;\n";
        let fewer = "\t.reg .pred \t%p<2>;\n\t.reg .b32 \t%r<6>;\n\tmov.u32 \t%r1, %tid.x;\n\tadd.s32 \t%r2, %r1, 1;\n\
                     \tadd.s32 \t%r3, %r2, %r2;\n\tsetp.eq.b32 \t%p1, %r3, 1;\n\t@%p1 bra \t$L__BB_1;\n\
                     \tst.global.b32 \t[%rd1], %r1;\n\tadd.s32 \t%r2, %r1, 2;\n\t@%p1 mov.b32 \t%r2, 0;\n$L__BB_1:\n\
                     \tmov.b64 \t{%r2, %r3}, %rd1;\n\tadd.s32 \t%r4, %r2, %r3;\n\tadd.s32 \t%r5, %r5, %r4;\n";
        assert_eq!(renamed(text), fewer);
        assert_eq!(renamed(fewer), fewer);
    }

    #[test]
    fn only_what_an_instruction_always_assigns_is_new() {
        for (line, end) in [
            ("\tadd.s32 \t%r1, %r2, 3;", "\tadd.s32 \t%r1"),
            ("\tmov.b64 \t{%r1, %r2}, %rd1;", "\tmov.b64 \t{%r1, %r2"),
            ("\tmov.b64 \t%rd1, {%r1, %r2};", "\tmov.b64 \t%rd1"),
            ("\t@%p1 mov.b32 \t%r1, 0;", ""),
            ("\tst.shared.b32 \t[%r1], %r2;", ""),
            ("\tprefetch.global.L2 \t[%rd1], 0;", ""),
            ("\tbar.sync \t%r1, 32;", ""),
            ("\tbrx.idx \t%r1, $L_brx_0;", ""),
            ("\t{ mov.b32 %r1, 0; }", ""),
            ("\t.reg .b32 t; mov.b32 t, %r1;", ""),
        ] {
            assert_eq!(&line[..assigned(line)], end, "{line}");
        }
    }
}
