//! All sides take turns on every case, and every result is checked.

use crate::case::{Case, Measure};
use crate::check::{Order, Reference, Verdict, same_bits};
use crate::conditions::Conditions;
use crate::cpu::Cpu;
use crate::error::Error;
use crate::exact::known::Known;
use crate::peer::{Peer, Program};
use crate::record::{Machine, Measured, OURS, PeerRecord, READ, Record, SideRecord};
use crate::seat::{Seat, failed};
use crate::side::{Moved, Prepared, Side};
use crate::suite::Suite;
use crate::work::Work;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// The greatest input, in bytes, for which a result of another device is compared with the CPU's bit for bit. With
/// `bits` every result is.
const HOST_BYTES: u64 = 64 << 20;
/// The greatest number of multiplications of a k-means iteration whose bits are compared.
const PRODUCTS: usize = 1 << 38;
/// The least number of samples of a side, however slow. One sample is enough if it alone takes ten times the budget.
const LEAST_SAMPLES: usize = 3;

/// What to run.
pub struct Plan {
    /// The suites, with the cases that passed the filter.
    pub suites: Vec<Suite>,
    /// The number of samples of each side per case.
    pub samples: usize,
    /// The time for the samples of one side and case. After three samples, a side that has used it up takes no more.
    pub budget: Duration,
    /// The time after which no case begins.
    pub limit: Option<Duration>,
    /// Whether the bits of all cases are compared: a GPU's with the CPU's, and the CPU's with those of one thread.
    pub bits: bool,
    /// The command, for the record.
    pub command: String,
    /// The program and what it calls, for the record.
    pub program: String,
    /// The machine.
    pub machine: Machine,
    /// The device's name, as peers get it: `cpu`, `cuda:0`.
    pub device: String,
    /// The other sides.
    pub peers: Vec<Program>,
    /// The record of an earlier run that this run resumes.
    pub before: Option<Record>,
}

impl Plan {
    /// The number of cases.
    pub fn len(&self) -> usize {
        self.suites.iter().map(|suite| suite.cases.len()).sum()
    }

    /// Whether there are no cases.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An estimate of the duration at usual speeds: 20 GB/s on a CPU, 2 TB/s on a GPU, and peers at an eighth of that.
    pub fn estimate(&self) -> Duration {
        let is_cpu = self.machine.kind == "cpu";
        let (rate, making) = if is_cpu { (20e9, 3e-9) } else { (2e12, 0.4e-9) };
        let cases = || self.suites.iter().flat_map(|suite| &suite.cases);
        let mut seconds = 3.0;
        let mut last = None;
        for case in cases() {
            let bytes = case.bytes() as f64;
            let side = |slower: f64| {
                let sample = (slower * bytes / rate).max(1e-3);
                let samples = (self.samples as f64 + 1.0).min((self.budget.as_secs_f64() / sample).max(3.0));
                (samples + 4.0) * sample * if sample < 0.02 { 1.5 } else { 1.0 }
            };
            seconds += 3.0 * side(1.0) + self.peers.len() as f64 * side(8.0) + if is_cpu { 0.1 } else { 0.4 };
            let memory = case.memory();
            if last.as_ref() != Some(&memory) {
                seconds += making * bytes * (1.0 + self.peers.len() as f64);
                last = Some(memory);
            }
        }
        Duration::from_secs_f64(seconds)
    }

    /// Whether the record that it goes on from is of the same run.
    ///
    /// # Errors
    /// If it is of another one.
    pub fn check(&self) -> Result<(), Error> {
        self.begin().map(drop).map_err(|why| Error::OtherRun { path: "the record".into(), why })
    }

    /// The record to continue: the earlier one, if it is of the same run, or a new one.
    fn begin(&self) -> Result<Record, String> {
        let mut record = Record::new(&self.command, &self.program, &self.machine);
        let Some(before) = &self.before else { return Ok(record) };
        let others = [
            ("version", before.version != record.version),
            ("sources", before.digest != record.digest),
            ("build", before.build != record.build),
            ("machine", before.machine != record.machine),
        ];
        if let Some((what, _)) = others.iter().find(|(_, is_other)| *is_other) {
            return Err(format!("it has another {what}"));
        }
        record.cases.clone_from(&before.cases);
        record.conditions.clone_from(&before.conditions);
        Ok(record)
    }
}

/// Follows a run.
pub trait Watch {
    /// A peer is present or absent.
    fn peer(&mut self, peer: &PeerRecord);
    /// A case begins.
    fn next(&mut self, case: &Case);
    /// A case is done; it is the record's last.
    ///
    /// # Errors
    /// If the record cannot be kept; then the run ends.
    fn done(&mut self, record: &Record) -> Result<(), Error>;
    /// The first cases were measured by an earlier run.
    fn skip(&mut self, _cases: usize) {}
}

/// Our own side, and the references that results are compared with.
struct Own<'a> {
    side: &'a mut dyn Side,
    known: Known,
    /// The CPU's side, which keeps its memory from one case to the next.
    cpu: Cpu,
}

/// Runs everything.
///
/// # Errors
/// If the record cannot be kept, or is of another run. What goes wrong with a side is in the record.
pub fn run(plan: &Plan, ours: &mut dyn Side, watch: &mut dyn Watch) -> Result<Record, Error> {
    let start = Instant::now();
    plan.check()?;
    let mut record = plan.begin().map_err(Error::Device)?;
    let mut seats = Vec::new();
    // All peers start at once: some take seconds to load their libraries.
    let started: Vec<Result<Peer, String>> = std::thread::scope(|scope| {
        let start = |program| scope.spawn(move || Peer::start(program, &plan.device));
        let threads: Vec<_> = plan.peers.iter().map(start).collect();
        let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|_| Err("it was not started".into()));
        threads.into_iter().map(join).collect()
    });
    for (program, started) in plan.peers.iter().zip(started) {
        let mut entry = PeerRecord { name: program.name.clone(), version: None, device: None, absent: None };
        match started {
            Ok(peer) => {
                entry.version = Some(peer.about().version.clone());
                entry.device = Some(peer.about().device.clone());
                seats.push(Seat { program: program.clone(), peer: Some(peer) });
            }
            Err(why) => entry.absent = Some(why),
        }
        watch.peer(&entry);
        record.peers.push(entry);
    }
    let mut own = Own { side: ours, known: Known::default(), cpu: Cpu::new() };
    let is_late = || plan.limit.is_some_and(|limit| start.elapsed() > limit);
    for suite in &plan.suites {
        let is_done = |name: &str| record.cases.iter().any(|case| case.suite == suite.name && case.name == name);
        let left: Vec<&Case> = suite.cases.iter().filter(|case| !is_done(&case.to_string())).collect();
        watch.skip(suite.cases.len() - left.len());
        if left.is_empty() || is_late() {
            continue;
        }
        record.conditions.push(Conditions::now(format!("before {}", suite.name), &plan.device));
        for case in left {
            if is_late() {
                break;
            }
            watch.next(case);
            let mut measured = Measured::new(&suite.name, &suite.title, case);
            if let Err(why) = measure(plan, case, &mut own, &mut seats, &mut measured) {
                // The next case may succeed.
                own.side.release();
                seats.iter_mut().for_each(Seat::release);
                measured.sides.insert(OURS.into(), failed(why));
            }
            record.cases.push(measured);
            watch.done(&record)?;
        }
        record.conditions.push(Conditions::now(format!("after {}", suite.name), &plan.device));
    }
    Ok(record)
}

/// The side that takes the next sample.
#[derive(Clone, Copy)]
enum Turn {
    Ours,
    Read,
    Copy,
    Peer(usize),
}

/// Measures one case. An error is one of our own side.
fn measure(plan: &Plan, case: &Case, own: &mut Own<'_>, seats: &mut [Seat], to: &mut Measured) -> Result<(), String> {
    let mut ours = SideRecord::default();
    match own.side.prepare(case)? {
        Prepared::Ready { calls, cache } => (ours.calls, ours.cache) = (calls, cache),
        Prepared::Skipped(why) => {
            to.skipped = Some(why);
            return Ok(());
        }
    }
    let mut others: Vec<SideRecord> = Vec::new();
    for seat in seats.iter_mut() {
        others.push(match case.measure {
            Measure::First => SideRecord { absent: Some("first uses are ours only".into()), ..Default::default() },
            _ => seat.prepare(case, &plan.device),
        });
    }
    let base = || SideRecord { calls: ours.calls, cache: ours.cache.clone(), ..Default::default() };
    let (mut read, mut copy) = (base(), base());
    if case.measure == Measure::Latency {
        // One side after the other: after another side's turn the first calls are slow.
        ours.samples_ns = own.side.block(plan.samples + 1)?.split_off(1);
        for (seat, side) in seats.iter_mut().zip(&mut others).filter(|(_, side)| side.absent.is_none()) {
            match seat.with(|peer| peer.block(plan.samples + 1)) {
                Ok(mut ns) => side.samples_ns = ns.split_off(1),
                Err(why) => *side = failed(why),
            }
        }
    } else {
        let mut turns = vec![Turn::Ours, Turn::Read, Turn::Copy];
        turns.extend((0..seats.len()).map(Turn::Peer));
        // The first round is dropped. Every other round is reversed, so that no side always follows the same one.
        for round in 0..=plan.samples {
            for &turn in &turns {
                let counts = |ns| (round > 0).then_some(ns);
                match turn {
                    Turn::Ours if is_wanted(&ours, plan.budget) => ours.samples_ns.extend(counts(own.side.sample()?)),
                    Turn::Read if is_wanted(&read, plan.budget) => {
                        // Offsets and labels are assumed to be read at the same rate.
                        let ns = own.side.read()?.map(|moved| per(moved, case.bytes() - case.written_bytes()));
                        read.samples_ns.extend(ns.and_then(counts));
                    }
                    Turn::Copy if is_wanted(&copy, plan.budget) => {
                        let ns = own.side.copy()?.map(|moved| per(moved, case.bytes() - case.written_bytes()));
                        copy.samples_ns.extend(ns.and_then(counts));
                    }
                    Turn::Peer(i) if is_wanted(&others[i], plan.budget) => match seats[i].with(|peer| peer.sample()) {
                        Ok(ns) => others[i].samples_ns.extend(counts(ns)),
                        Err(why) => others[i] = failed(why),
                    },
                    _ => {}
                }
            }
            turns.reverse();
        }
    }
    let mut shared = None;
    let mut verdict = check(case, own.side, &mut own.known, &mut shared, Order::Tree)?;
    // Labels that need very many multiplications take a CPU minutes.
    let products = case.labels().filter(|_| case.work == Work::Iterate).map_or(0, |k| k * case.elements());
    let is_bits = plan.bits && products <= PRODUCTS || (plan.machine.kind != "cpu" && case.input_bytes() <= HOST_BYTES);
    if is_bits && verdict.passed {
        verdict = same_elsewhere(plan, case, own, &verdict)?;
    }
    ours.verdict = Some(verdict);
    for (seat, side) in seats.iter_mut().zip(&mut others).filter(|(_, side)| side.absent.is_none()) {
        match seat.with(|peer| check(case, peer, &mut own.known, &mut shared, Order::Other)) {
            Ok(verdict) => side.verdict = Some(verdict),
            Err(why) => *side = failed(why),
        }
        seat.release();
    }
    own.side.release();
    to.sides.extend(seats.iter().map(|seat| seat.program.name.clone()).zip(others));
    to.sides.insert(OURS.into(), ours);
    if !read.samples_ns.is_empty() {
        to.sides.insert(READ.into(), read);
    }
    to.copy = Some(copy).filter(|copy| !copy.samples_ns.is_empty());
    Ok(())
}

/// The nanoseconds of `bytes` bytes at the same rate.
fn per(moved: Moved, bytes: u64) -> u64 {
    (moved.ns as f64 * bytes as f64 / moved.bytes.max(1) as f64) as u64
}

/// Lets a side compute once more, into overwritten memory, and compares the result with the exact one. Sides share the
/// exact result unless it depends on their own labels.
fn check(
    case: &Case,
    side: &mut dyn Side,
    known: &mut Known,
    shared: &mut Option<Reference>,
    order: Order,
) -> Result<Verdict, String> {
    side.poison()?;
    side.sample()?;
    let own;
    let reference = if case.work == Work::Iterate {
        own = Reference::new(case, known, Some(&side.labels()?));
        &own
    } else {
        shared.get_or_insert_with(|| Reference::new(case, known, None))
    };
    Ok(reference.check(&side.result(&reference.positions())?, order))
}

/// Whether a side takes part in the next round.
fn is_wanted(side: &SideRecord, budget: Duration) -> bool {
    let taken: u64 = side.samples_ns.iter().map(|&ns| ns.saturating_mul(side.calls)).sum();
    let (taken, budget) = (u128::from(taken), budget.as_nanos());
    let has_enough = side.samples_ns.len() >= LEAST_SAMPLES && taken > budget || taken > 10 * budget;
    side.absent.is_none() && !has_enough
}

/// Compares the bits of our result on a GPU with those on the CPU, and on a CPU with those of one thread, or of two if
/// the case has one.
fn same_elsewhere(plan: &Plan, case: &Case, own: &mut Own<'_>, so_far: &Verdict) -> Result<Verdict, String> {
    let (threads, whose) = match (plan.machine.kind.as_str(), case.threads) {
        ("cpu", Some(1)) => (Some(2), "of two threads"),
        ("cpu", _) => (Some(1), "of one thread"),
        _ => (None, "of the CPU"),
    };
    let once = Case { measure: Measure::Latency, threads, ..case.clone() };
    own.cpu.prepare(&once)?;
    let same = same_bits(&own.side.values()?, &own.cpu.values()?, case.work.width(), whose);
    own.cpu.release();
    Ok(match same.passed {
        true => Verdict { passed: true, detail: format!("{}; {}", same.detail, so_far.detail) },
        false => same,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_has_used_up_its_time_takes_three_samples_and_no_more() {
        let side = |ns: &[u64]| SideRecord { calls: 10, samples_ns: ns.to_vec(), ..Default::default() };
        let wanted = |ns: &[u64]| is_wanted(&side(ns), Duration::from_nanos(100));
        assert!(wanted(&[]) && wanted(&[40, 40]) && wanted(&[3, 3, 3, 1]) && wanted(&[100]));
        assert!(!wanted(&[40, 40, 40]) && !wanted(&[3, 3, 3, 2]) && !wanted(&[101]));
        assert!(!is_wanted(&failed("ended".into()), Duration::from_secs(1)));
    }
}
