//! Every option has its effect.

use crate::support::{Dir, count_up, f32s, npy};

#[test]
fn options_of_reductions_reach_the_library() {
    let dir = Dir::new();
    dir.write("x.npy", &npy(1, "'<f4'", false, "(4,)", &f32s(&[1.0, f32::NAN, 3.0, -4.0])));
    dir.write("mask.npy", &npy(1, "'|b1'", false, "(4,)", &[1, 0, 1, 0]));
    for (line, out) in [
        ("sum x.npy", "nan"),
        ("sum x.npy --skip-nan", "0"),
        ("sum x.npy --where mask.npy", "4"),
        ("sum x.npy --where mask.npy --initial 0.5", "4.5"),
        ("max x.npy --skip-nan --initial 10", "10"),
        ("min x.npy --skip-nan --initial -10", "-10"),
        ("argmax x.npy", "1"),
        ("argmax x.npy --skip-nan", "2"),
        ("var x.npy --where mask.npy", "1"),
        ("var x.npy --where mask.npy --ddof 1", "2"),
        ("std x.npy --where mask.npy --ddof 1 --dtype f64", "1.4142135623730951"),
        ("norm x.npy --skip-nan --ord 1", "8"),
        ("norm x.npy --skip-nan --ord inf", "4"),
        ("norm x.npy --where mask.npy --ord 2 --dtype f64", "3.1622776601683795"),
        ("count-nonzero x.npy", "4"),
        ("count_nonzero x.npy", "4"),
        ("SUM x.npy --skip-nan --device cpu", "0"),
        ("sum x.npy --skip-nan --threads 3 --device auto", "0"),
        ("sum x.npy --skip-nan --precision compensated", "0"),
        ("all x.npy", "true"),
    ] {
        assert_eq!(dir.run(&format!("reduce {line}")).ok(), format!("{out}\n"), "{line}");
    }
}

#[test]
fn axes_are_lists_from_either_end() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2, 3, 4]));
    for (axes, out) in [
        ("--axis 0,2", "[ 60.  92. 124.]"),
        ("--axis=-1,0", "[ 60.  92. 124.]"),
        ("--axis -3,-1", "[ 60.  92. 124.]"),
        ("--axis (0,2)", "[ 60.  92. 124.]"),
        ("--axes 0,1,2", "276"),
        ("--axis 0,1,2 --keepdims", "[[[276.]]]"),
        ("--axis 0,2 --keepdims", "[[[ 60.]\n  [ 92.]\n  [124.]]]"),
    ] {
        assert_eq!(dir.run(&format!("reduce sum x.npy {axes}")).ok(), format!("{out}\n"), "{axes}");
    }
}

#[test]
fn completions_and_the_man_page_are_generated() {
    let dir = Dir::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = dir.run(&format!("completions {shell}"));
        assert!(script.ok().contains("skip-nan"), "{shell}");
    }
    // Values: reductions, dtypes, devices, suites, rungs.
    for shell in ["bash", "zsh", "fish"] {
        let script = dir.run(&format!("completions {shell}"));
        for value in ["logsumexp", "bf16", "emulator", "smoke", "a4_as_published", "cuda"] {
            assert!(script.ok().contains(value), "{value} is not offered by {shell}");
        }
    }
    let man = dir.run("man");
    let man = man.ok();
    for words in [".TH warpfold 1", "skip\\-nan", "WARPFOLD REDUCE", "WARPFOLD DESCRIBE", "EXIT STATUS", ".SH EXAMPLES"]
    {
        assert!(man.contains(words), "{words} is not in {man}");
    }
    // There is one page.
    assert!(!man.contains("warpfold\\-reduce") && !man.contains("(1)"), "{man}");
    assert!(man.matches(".SS Examples").count() >= 13, "{man}");
    assert!(dir.run("--version").ok().starts_with("warpfold "));
    assert!(dir.run("reduce --help").ok().contains("--precision"));
    let commands = [
        "reduce",
        "describe",
        "segments",
        "group",
        "unique",
        "histogram",
        "kmeans",
        "softmax",
        "log-softmax",
        "normalize",
        "explain",
        "devices",
        "ladder",
        "bench",
        "completions",
        "man",
    ];
    for command in commands {
        let help = dir.run(&format!("{command} --help"));
        assert!(help.ok().contains(&format!("Examples:\n  warpfold {command}")), "{help:?}");
    }
}
