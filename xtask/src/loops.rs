//! `cargo xtask loops`: reads the machine code of the CPU's hottest loops.
//!
//! 1. The functions of `warpfold_cpu::hot` name the loops. Their calls lead to the instances of each level of vector
//!    instructions: `simd::avx512` and `simd::avx2`. (The baseline of x86-64 has no loops of kernels.)
//! 2. In each instance some loop must have packed instructions of the level's width ([`LOOPS`] says which).
//!    In a program that a linker has robbed of these names, as many instances must have such loops.
//! 3. No loop of any instance, hot or not, may call anything but memcpy and its kin, the allocator, and what never
//!    returns. A closure that was not inlined is such a call: it runs the baseline's instructions once for each
//!    element.

mod disassembly;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use self::disassembly::{Function, functions};
use crate::error::Error;

/// Each hot loop, and the packed instructions one of which it must have: without the `v` and the width.
const LOOPS: [(&str, &[&str]); 19] = [
    ("sum_f32", &["addps"]),
    ("sum_f64", &["addpd"]),
    ("sum_f16", &["addps"]),
    ("sum_bf16", &["addps"]),
    ("sum_i32", &["paddq", "paddd"]),
    ("sum_i8", &["paddw", "paddb", "paddd"]),
    ("max_f32", &["pmaxsd", "pcmpgtd"]),
    ("max_f64", &["pmaxsq", "pcmpgtq", "pcmpgtd", "maxpd"]),
    ("max_i8", &["pmaxsb", "pcmpgtb"]),
    ("argmax_f32", &["pmaxsd", "pcmpgtd"]),
    ("var_f32", &["addps"]),
    ("logsumexp_f32", &["mulps"]),
    ("columns_sum_f32", &["addps"]),
    ("columns_sum_f64", &["addpd"]),
    ("columns_max_f32", &["pmaxsd", "pcmpgtd"]),
    ("columns_var_f32", &["addps"]),
    ("rows_sum_f32", &["addps"]),
    ("rows_var_f32", &["addps"]),
    ("rows_sum_i32", &["paddq"]),
];

/// The levels: the function that is compiled for it, and its registers.
const LEVELS: [(&str, &str); 2] = [("avx2", "%ymm"), ("avx512", "%zmm")];

/// What a loop may call: the rest of these names are the results of single outputs, and the ways of what is not finite,
/// or not ordinary.
const MAY: &[&str] = &[
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "panic",
    "fail",
    "expect",
    "unwrap",
    "alloc",
    "reserve",
    "grow",
    "drop_in_place",
    "Unwind",
    "handle_error",
    "not_finite",
    "not_ordinary",
    "Reducer$GT$::finish",
];

/// Checks a program, or, without one, the hot loops alone, as this workspace's release profile and cargo's default one
/// compile them.
pub fn check(file: Option<&str>) -> Result<(), Error> {
    let mut wrong = Vec::new();
    if let Some(file) = file {
        wrong = told(file, look(&functions(Path::new(file))?));
    } else {
        let default = ["opt-level=3", "lto=false", "codegen-units=16"];
        let default = default.map(|value| format!("--config=profile.release.{value}"));
        // Where both profiles say the same, the second finds what the first has built.
        for (name, profile) in [("release", &[][..]), ("release, by cargo's defaults", &default)] {
            wrong.extend(told(name, look(&functions(&hot(profile)?)?)));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Says what was looked at, and returns what is wrong.
fn told(name: &str, found: Found) -> Vec<String> {
    let (loops, levels) = (LOOPS.len(), LEVELS.len());
    println!("{name}: {loops} loops at {levels} levels, {} instances of vector code", found.instances);
    found.wrong.into_iter().map(|what| format!("{name}: {what}")).collect()
}

/// Builds the hot loops alone, which takes seconds.
fn hot(profile: &[String]) -> Result<PathBuf, Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask lies in no folder")?;
    let said = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["build", "--release", "-p", "warpfold-hot"])
        .args(["--message-format", "json-render-diagnostics"])
        .args(profile)
        .stderr(std::process::Stdio::inherit())
        .output()?;
    if !said.status.success() {
        return Err("the hot loops of warpfold-cpu were not built".into());
    }
    let text = String::from_utf8_lossy(&said.stdout);
    let program = text.rsplit_once("\"executable\":\"").and_then(|(_, rest)| rest.split('"').next());
    Ok(PathBuf::from(program.ok_or("cargo named no program")?))
}

/// What was found in a file.
struct Found {
    instances: usize,
    wrong: Vec<String>,
}

fn look(functions: &BTreeMap<String, Function>) -> Found {
    let is_instance = |name: &str| name.contains("simd::avx512") || name.contains("simd::avx2");
    let mut wrong = Vec::new();
    let mut instances = 0;
    for (name, function) in functions.iter().filter(|(name, _)| is_instance(name)) {
        instances += 1;
        let calls: BTreeSet<&str> =
            function.calls_in_loops().filter(|callee| !MAY.iter().any(|may| callee.contains(may))).collect();
        for callee in calls {
            wrong.push(format!("a loop of {name} calls {callee}: inline it (`inline(always)`, or `array!`)"));
        }
    }
    if instances == 0 {
        wrong.push("no vector code was found: was it stripped?".into());
    }
    if !functions.keys().any(|name| name.contains("warpfold_cpu::hot::")) {
        wrong.extend(missing(functions));
        return Found { instances, wrong };
    }
    for (hot, packed) in LOOPS {
        let anchor = format!("warpfold_cpu::hot::{hot}::");
        let Some((name, _)) = functions.iter().find(|(name, _)| format!("{name}::").contains(&anchor)) else {
            wrong.push(format!("hot::{hot} was not found"));
            continue;
        };
        for (level, register) in LEVELS {
            if !reached(functions, name, level).iter().any(|f| f.has_in_loop(packed, register)) {
                wrong.push(format!("hot::{hot} has no loop with {} of {register} at {level}", packed.join(" or ")));
            }
        }
    }
    Found { instances, wrong }
}

/// What a program without the names lacks: for each packed instruction, as many instances of each level as there are
/// hot loops.
fn missing(functions: &BTreeMap<String, Function>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (level, register) in &LEVELS {
        let instances =
            || functions.iter().filter(|(name, _)| name.contains(&format!("simd::{level}"))).map(|(_, f)| f);
        for (_, packed) in LOOPS {
            let least = LOOPS.iter().filter(|(_, other)| *other == packed).count();
            let found = instances().filter(|f| f.has_in_loop(packed, register)).count();
            if found < least {
                let packed = packed.join(" or ");
                wrong.push(format!("{found} instances have loops with {packed} of {register} at {level}, not {least}"));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    wrong
}

/// The instances of a level that a hot loop leads to.
fn reached<'a>(functions: &'a BTreeMap<String, Function>, from: &str, level: &str) -> Vec<&'a Function> {
    let (mut seen, mut next, mut found) = (BTreeSet::new(), vec![(from.to_owned(), 0)], Vec::new());
    while let Some((name, depth)) = next.pop() {
        let Some(function) = functions.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
        let at = LEVELS.iter().rev().find(|(level, _)| name.contains(&format!("simd::{level}"))).map(|l| l.0);
        if at == Some(level) {
            found.push(function);
        }
        if depth < 6 && at.is_none_or(|at| at == level) {
            next.extend(function.calls().map(|callee| (callee.to_owned(), depth + 1)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::disassembly::parse;
    use super::look;

    /// Machine code of every hot loop, where the body of the loops is the given one for each register.
    fn program(body: impl Fn(&str, &str) -> String) -> String {
        let mut text = String::new();
        for (i, (hot, packed)) in super::LOOPS.iter().enumerate() {
            text += &format!("0000000000000000 <warpfold_cpu::hot::{hot}::h0>:\n");
            for level in ["avx2", "avx512"] {
                text += &format!("   9:\tcall   20 <warpfold_cpu::simd::{level}::h{i}>\n");
            }
            for (level, register) in [("avx2", "%ymm"), ("avx512", "%zmm")] {
                text += &format!("0000000000000000 <warpfold_cpu::simd::{level}::h{i}>:\n");
                text += &body(packed[0], register);
            }
        }
        text
    }

    fn packed(instruction: &str, register: &str) -> String {
        format!(
            "   0:\tmov    %rax,%rbx\n   2:\tv{instruction} {register}1,{register}2,{register}3\n   6:\tjne    0 <x>\n"
        )
    }

    #[test]
    fn packed_loops_without_calls_are_sound() {
        let found = look(&parse(&program(packed)));
        assert_eq!(found.wrong, Vec::<String>::new());
        assert_eq!(found.instances, 2 * super::LOOPS.len());
    }

    #[test]
    fn a_call_in_a_loop_is_found() {
        let call = "   4:\tcall   40 <core::ops::try_trait::Wrapped::call_mut::h1>\n   6:\tjne";
        let found = look(&parse(&program(|i, r| packed(i, r).replace("   6:\tjne", call))));
        assert!(found.wrong.iter().any(|what| what.contains("call_mut")), "{:?}", found.wrong);
    }

    #[test]
    fn a_call_after_the_loop_and_a_copy_in_it_are_no_matter() {
        let copy = "   4:\tcall   40 <memcpy@plt>\n   6:\tjne    0 <x>\n   8:\tcall   40 <core::option::Option::map>\n";
        let found = look(&parse(&program(|i, r| packed(i, r).replace("   6:\tjne    0 <x>\n", copy))));
        assert_eq!(found.wrong, Vec::<String>::new());
    }

    #[test]
    fn narrow_registers_scalars_and_straight_code_are_found() {
        for body in [
            |i: &str, _: &str| packed(i, "%xmm"),
            |_: &str, r: &str| packed("addss", r),
            |i: &str, r: &str| packed(i, r).replace("jne    0", "jne    90"),
        ] {
            let found = look(&parse(&program(body)));
            assert!(found.wrong.iter().any(|what| what.contains("sum_f32 has no loop")), "{:?}", found.wrong);
        }
    }

    #[test]
    fn a_program_without_the_loops_is_not_sound() {
        let found = look(&parse("0000000000000000 <main>:\n   0:\tret\n"));
        assert!(found.wrong.len() > 10, "{:?}", found.wrong);
        let unnamed =
            |body: fn(&str, &str) -> String| look(&parse(&program(body).replace("cpu::hot::", "cpu::cold::")));
        assert_eq!(unnamed(packed).wrong, Vec::<String>::new());
        assert!(!unnamed(|_, r| packed("addss", r)).wrong.is_empty());
    }
}
