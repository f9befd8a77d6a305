//! The harness from end to end, with peers that misbehave.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use warpfold::{DType, Op};
use warpfold_bench::case::{Case, Measure};
use warpfold_bench::cpu::Cpu;
use warpfold_bench::peer::Program;
use warpfold_bench::record::{Machine, Measured, OURS, PeerRecord, READ, Record, SideRecord};
use warpfold_bench::runner::{self, Plan, Watch};
use warpfold_bench::side::{Answer, Number, Positions, Prepared, Side};
use warpfold_bench::suite::{self, Suite};
use warpfold_bench::work::Work;
use warpfold_bench::{Error, random, render};

/// A watcher that prints nothing.
struct Quiet;

impl Watch for Quiet {
    fn peer(&mut self, _: &PeerRecord) {}
    fn next(&mut self, _: &Case) {}
    fn done(&mut self, _: &Record) -> Result<(), Error> {
        Ok(())
    }
}

fn run(suites: Vec<Suite>, peers: Vec<Program>) -> Record {
    runner::run(&plan(suites, peers), &mut Cpu::new(), &mut Quiet).expect("our own side works")
}

fn plan(suites: Vec<Suite>, peers: Vec<Program>) -> Plan {
    Plan {
        suites,
        samples: 2,
        budget: Duration::from_secs(10),
        limit: None,
        bits: true,
        before: None,
        command: "warpfold bench".into(),
        program: "tests".into(),
        machine: Machine::cpu(),
        device: "cpu".into(),
        peers,
    }
}

/// A case that the fake peer answers without computing: all elements are nonzero.
fn case(op: Op, shape: &[usize]) -> Case {
    let axes = (0..shape.len()).collect();
    Case { shape: shape.to_vec(), axes, threads: Some(1), ..Case::new(Work::Op(op), DType::F32) }
}

fn fake(wrong: &str) -> Program {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_peer.py");
    Program { name: "fake".into(), words: vec!["python3".into(), script.display().to_string(), wrong.into()] }
}

fn with_fake(wrong: &str) -> Record {
    let cases = vec![case(Op::CountNonzero, &[100]), case(Op::Max, &[10]), case(Op::CountNonzero, &[7, 3])];
    run(vec![Suite { name: "x".into(), title: "X".into(), cases }], vec![fake(wrong)])
}

fn of<'a>(case: &'a Measured, side: &str) -> &'a SideRecord {
    case.side(side).unwrap_or_else(|| panic!("{side} is not in {case:?}"))
}

#[test]
fn a_peer_takes_its_turns_and_is_checked() {
    let record = with_fake("nothing");
    assert_eq!(record.wrong(), [""; 0]);
    assert_eq!(record.peers[0].version.as_deref(), Some("1.2"));
    let first = of(&record.cases[0], "fake");
    assert_eq!((first.samples_ns.as_slice(), first.calls), ([1234, 1234].as_slice(), 3));
    assert!(first.verdict.as_ref().is_some_and(|v| v.passed));
    assert_eq!(of(&record.cases[0], OURS).samples_ns.len(), 2);
    assert_eq!(of(&record.cases[0], READ).samples_ns.len(), 2);
    assert_eq!(of(&record.cases[1], "fake").absent.as_deref(), Some("it does not like maxima"));
    let shown = render::text(&record);
    assert!(shown.contains("Skipped by fake: 1 case: it does not like maxima"), "{shown}");
    let again: Record = serde_json::from_str(&record.to_json()).unwrap();
    assert_eq!(again, record);
}

#[test]
fn wrong_values_are_caught() {
    for wrong in ["value", "nan", "infinity", "shape"] {
        let record = with_fake(wrong);
        assert_eq!(record.wrong().len(), 2, "{wrong}: {:?}", record.wrong());
        assert!(record.wrong()[0].contains("fake"), "{:?}", record.wrong());
        for shown in [render::text(&record), render::markdown(&record)] {
            assert!(shown.contains("(another result)") && shown.contains("WRONG: "), "{shown}");
        }
    }
}

#[test]
fn absent_peers_are_reported_with_the_reason() {
    let why = |wrong: &str| with_fake(wrong).peers[0].absent.clone().unwrap_or_default();
    assert_eq!(why("absent"), "it has no library");
    assert!(why("old").contains("protocol 1 instead of 3"), "{}", why("old"));
    assert!(why("dies").contains("a word before it ends"), "{}", why("dies"));
    let nowhere = Program { name: "cub".into(), words: vec!["no/such/cub".into()] };
    let record =
        run(vec![Suite { name: "x".into(), title: "X".into(), cases: vec![case(Op::Sum, &[9])] }], vec![nowhere]);
    let shown = render::text(&record);
    assert!(shown.contains("CUB is absent: no/such/cub is not there; bench/peers/build.sh"), "{shown}");
}

#[test]
fn a_peer_that_fails_in_the_middle_is_reported_and_started_again() {
    for (wrong, words) in [("crashes", "out of something"), ("babbles", "is not JSON")] {
        let record = with_fake(wrong);
        for case in [&record.cases[0], &record.cases[2]] {
            let side = of(case, "fake");
            let why = side.absent.as_deref().unwrap_or_default();
            assert!(why.starts_with("failed: ") && why.contains(words), "{wrong}: {why}");
            assert!(side.samples_ns.is_empty());
            assert_eq!(of(case, OURS).samples_ns.len(), 2);
        }
    }
}

#[test]
fn a_peer_whose_error_lasts_is_started_again() {
    let record = with_fake("breaks");
    assert_eq!(of(&record.cases[0], "fake").absent.as_deref(), Some("failed: an illegal memory access"));
    assert_eq!(of(&record.cases[2], "fake").samples_ns.len(), 2);
}

fn three() -> Vec<Suite> {
    let cases = vec![case(Op::Sum, &[9]), case(Op::Max, &[10]), case(Op::Sum, &[7, 3])];
    vec![Suite { name: "x".into(), title: "X".into(), cases }]
}

#[test]
fn a_run_goes_on_from_its_record_and_not_from_another() {
    let whole = run(three(), Vec::new());
    assert_eq!(whole.conditions.iter().map(|c| c.when.as_str()).collect::<Vec<_>>(), ["before x", "after x"]);
    let mut begun = whole.clone();
    begun.cases.truncate(1);
    begun.cases[0].sides.get_mut(OURS).unwrap().samples_ns = vec![77];
    let on = |before: Record| {
        runner::run(&Plan { before: Some(before), ..plan(three(), Vec::new()) }, &mut Cpu::new(), &mut Quiet)
    };
    let names = |record: &Record| record.cases.iter().map(|case| case.name.clone()).collect::<Vec<_>>();
    let record = on(begun.clone()).unwrap();
    assert_eq!(names(&record), names(&whole));
    assert_eq!(of(&record.cases[0], OURS).samples_ns, [77]);
    let why = on(Record { digest: Some("0".into()), ..begun.clone() }).unwrap_err().to_string();
    assert!(why.contains("another sources") && why.contains("--resume"), "{why}");
    assert!(on(Record { build: None, ..begun }).unwrap_err().to_string().contains("another build"));
}

#[test]
fn no_case_begins_after_the_limit() {
    let plan = Plan { limit: Some(Duration::ZERO), ..plan(three(), Vec::new()) };
    assert_eq!(runner::run(&plan, &mut Cpu::new(), &mut Quiet).unwrap().cases, []);
}

/// Latency samples of a side are taken in one block: a peer is asked for them once.
#[test]
fn latency_is_measured_without_turns() {
    let latency = Case { measure: Measure::Latency, ..case(Op::CountNonzero, &[100]) };
    let suite = |case: Case| vec![Suite { name: "x".into(), title: "X".into(), cases: vec![case] }];
    let record = run(suite(latency), vec![fake("counts")]);
    assert_eq!(of(&record.cases[0], "fake").samples_ns, [1, 1]);
    assert_eq!(of(&record.cases[0], OURS).samples_ns.len(), 2);
    assert!(record.cases[0].side(READ).is_none());
    let record = run(suite(case(Op::CountNonzero, &[100])), vec![fake("counts")]);
    assert_eq!(of(&record.cases[0], "fake").samples_ns, [2, 3]);
}

/// A side that computes once, and then returns the same memory each time.
struct Lazy(Cpu, Option<Answer>);

impl Side for Lazy {
    fn prepare(&mut self, case: &Case) -> Result<Prepared, String> {
        let prepared = self.0.prepare(case)?;
        self.0.sample()?;
        self.1 = Some(self.0.result(&Positions::All)?);
        Ok(prepared)
    }
    fn sample(&mut self) -> Result<u64, String> {
        Ok(1)
    }
    fn poison(&mut self) -> Result<(), String> {
        let values = self.1.iter_mut().flat_map(|answer| &mut answer.values);
        values.for_each(|value| *value = Number::Float(-1e30));
        Ok(())
    }
    fn result(&mut self, _: &Positions) -> Result<Answer, String> {
        self.1.clone().ok_or_else(|| "nothing".into())
    }
    fn labels(&mut self) -> Result<Vec<i32>, String> {
        Err("none".into())
    }
    fn release(&mut self) {}
}

#[test]
fn a_result_of_before_is_not_taken_for_a_new_one() {
    let record = runner::run(&plan(three(), Vec::new()), &mut Lazy(Cpu::new(), None), &mut Quiet).unwrap();
    assert_eq!(record.wrong().len(), 3, "{:?}", record.wrong());
}

#[test]
fn random_problems_are_right_and_have_a_summary() {
    let record = run(vec![random::suite(11, 40, 1 << 16)], Vec::new());
    assert_eq!(record.wrong(), [""; 0]);
    assert_eq!(record.cases.len(), 40);
    for shown in [render::text(&record), render::markdown(&record)] {
        assert!(shown.contains("Summary: shares of a plain read") && shown.contains("row-major"), "{shown}");
    }
}

/// The Python peers whose library is installed.
fn python_peers() -> Vec<Program> {
    let python = std::env::var("WARPFOLD_PYTHON").unwrap_or_else(|_| "python3".into());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/peers");
    let mut found = Vec::new();
    for name in ["numpy", "torch", "pandas", "polars"] {
        let has =
            Command::new(&python).args(["-c", &format!("import {name}")]).output().is_ok_and(|o| o.status.success());
        if !has {
            eprintln!("SKIPPED: the {name} peer: {python} has no {name}; WARPFOLD_PYTHON may name one that has");
            continue;
        }
        let file = if matches!(name, "pandas" | "polars") { "frames" } else { name };
        let script = folder.join(format!("{file}_peer.py")).display().to_string();
        let mut words = vec![python.clone(), script];
        words.extend((file == "frames").then(|| name.to_owned()));
        found.push(Program { name: name.into(), words });
    }
    found
}

#[test]
fn the_smoke_suite_runs_with_the_python_peers_that_are_there() {
    let peers = python_peers();
    let record = run(vec![suite::load("smoke").unwrap()], peers.clone());
    assert_eq!(record.wrong(), [""; 0]);
    for case in &record.cases {
        assert_eq!(of(case, OURS).samples_ns.len(), 2, "{}", case.name);
        assert!(case.skipped.is_none());
    }
    for peer in peers {
        let timed = record.cases.iter().filter(|case| of(case, &peer.name).median().is_some()).count();
        let failed = record.cases.iter().filter_map(|case| of(case, &peer.name).absent.as_deref());
        assert_eq!(failed.filter(|why| why.starts_with("failed")).collect::<Vec<_>>(), [""; 0], "{}", peer.name);
        let least = match peer.name.as_str() {
            "numpy" | "torch" => 70,
            _ => 6,
        };
        assert!(timed >= least, "{}: {timed}", peer.name);
    }
}
