//! What `objdump` says of machine code: functions, their instructions, their loops.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;

/// One instruction.
struct Instruction {
    at: u64,
    mnemonic: String,
    operands: String,
    /// What a call calls, if that has a name.
    callee: Option<String>,
}

/// A function's machine code.
#[derive(Default)]
pub struct Function {
    instructions: Vec<Instruction>,
}

impl Function {
    /// What it calls.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        self.instructions.iter().filter_map(|i| i.callee.as_deref())
    }

    /// What its loops call.
    pub fn calls_in_loops(&self) -> impl Iterator<Item = &str> {
        let inside = self.inside();
        self.instructions.iter().zip(inside).filter(|(_, inside)| *inside).filter_map(|(i, _)| i.callee.as_deref())
    }

    /// Whether a loop has one of these packed instructions on such a register. AVX puts a `v` in front of the name.
    pub fn has_in_loop(&self, packed: &[&str], register: &str) -> bool {
        let is = |i: &Instruction| {
            packed.iter().any(|p| i.mnemonic.strip_prefix('v').unwrap_or(&i.mnemonic) == *p)
                && i.operands.contains(register)
        };
        self.instructions.iter().zip(self.inside()).any(|(i, inside)| inside && is(i))
    }

    /// Of each instruction, whether it is in a loop: between the target of a jump backwards and the jump.
    fn inside(&self) -> Vec<bool> {
        let mut depth = vec![0i64; self.instructions.len() + 1];
        let index = |at: u64| self.instructions.partition_point(|i| i.at < at);
        for (end, i) in self.instructions.iter().enumerate().filter(|(_, i)| i.mnemonic.starts_with('j')) {
            let target = i.operands.split_whitespace().next().and_then(|at| u64::from_str_radix(at, 16).ok());
            if let Some(start) = target.filter(|&to| to <= i.at).map(index) {
                depth[start] += 1;
                depth[end + 1] -= 1;
            }
        }
        let mut open = 0;
        depth[..self.instructions.len()]
            .iter()
            .map(|change| {
                open += change;
                open > 0
            })
            .collect()
    }
}

/// The functions of a program.
pub fn functions(file: &Path) -> Result<BTreeMap<String, Function>, Error> {
    let mut objdump = Command::new("objdump")
        .args(["--disassemble", "--no-show-raw-insn", "--wide"])
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("objdump (of binutils) could not be started: {e}"))?;
    let mut parser = Parser::default();
    for line in BufReader::new(objdump.stdout.take().ok_or("no output")?).lines() {
        parser.line(&line?);
    }
    if !objdump.wait()?.success() {
        return Err(format!("objdump cannot read {}", file.display()).into());
    }
    Ok(parser.functions)
}

/// The same of text that `objdump` has printed.
#[cfg(test)]
pub fn parse(text: &str) -> BTreeMap<String, Function> {
    let mut parser = Parser::default();
    text.lines().for_each(|line| parser.line(line));
    parser.functions
}

#[derive(Default)]
struct Parser {
    functions: BTreeMap<String, Function>,
    /// The function that the lines belong to, if it is one of ours.
    current: Option<String>,
}

impl Parser {
    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_suffix(">:").and_then(|l| l.split_once(" <")).map(|(_, name)| name) {
            let name = plain(name);
            self.current = name.contains("warpfold_cpu").then_some(name);
            return;
        }
        let Some(current) = &self.current else { return };
        let Some((at, text)) = line.split_once(":\t") else { return };
        let Ok(at) = u64::from_str_radix(at.trim(), 16) else { return };
        let function = self.functions.entry(current.clone()).or_default();
        let (mnemonic, operands) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        if !mnemonic.is_empty() {
            let (mnemonic, operands) = (mnemonic.to_owned(), operands.trim().to_owned());
            function.instructions.push(Instruction { at, mnemonic, operands, callee: None });
        }
        // A call in the end is a jump to another function's start.
        let leaves =
            |i: &Instruction| i.mnemonic.starts_with("call") || (i.mnemonic == "jmp" && !i.operands.contains('+'));
        if let Some(instruction) = function.instructions.last_mut().filter(|i| leaves(i)) {
            // What goes through a pointer is a function of another library, such as memcpy.
            let direct = (!instruction.operands.starts_with('*')).then_some(&instruction.operands);
            let named = direct.and_then(|to| to.split_once('<')).and_then(|(_, name)| name.strip_suffix('>'));
            instruction.callee = named.map(plain);
        }
    }
}

/// A symbol as a path, with its hash: `_ZN12warpfold_cpu4simd4avx217h0123E` is `warpfold_cpu::simd::avx2::h0123`.
fn plain(symbol: &str) -> String {
    let symbol = symbol.split(['+', '-', '@']).next().unwrap_or(symbol);
    let Some(mut rest) = symbol.strip_prefix("_ZN") else { return symbol.to_owned() };
    let mut parts = Vec::new();
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&n| n > 0) {
        let Some(part) = rest[..digits].parse().ok().and_then(|len: usize| rest.get(digits..digits + len)) else {
            break;
        };
        rest = &rest[digits + part.len()..];
        parts.push(part);
    }
    parts.join("::")
}
