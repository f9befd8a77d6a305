//! All sides take turns on every case, and every result is checked.

use crate::Error;
use crate::case::{Case, Measure};
use crate::check::{Order, Reference, Verdict, same_bits};
use crate::cpu::Cpu;
use crate::exact::Known;
use crate::peer::{Peer, Program};
use crate::record::{Machine, Measured, OURS, PeerRecord, READ, Record, SideRecord, revision, today};
use crate::side::{Positions, Prepared, Side};
use crate::suite::Suite;
use std::collections::BTreeMap;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// A result of another device is compared with the CPU's, bit for bit, up to so many bytes of input.
const HOST_BYTES: u64 = 64 << 20;
/// A side takes so many samples, however slow it is.
const LEAST_SAMPLES: usize = 3;

/// What to run.
pub struct Plan {
    /// Suites, with what the filter left of them.
    pub suites: Vec<Suite>,
    /// Samples of each side per case.
    pub samples: usize,
    /// A side whose samples of a case have taken longer together takes no more of it, if it has three.
    pub budget: Duration,
    /// For the record.
    pub command: String,
    /// Where.
    pub machine: Machine,
    /// As peers are told: `cpu`, `cuda:0`.
    pub device: String,
    /// Who else.
    pub peers: Vec<Program>,
}

impl Plan {
    /// Cases in all.
    pub fn len(&self) -> usize {
        self.suites.iter().map(|suite| suite.cases.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Follows a run.
pub trait Watch {
    /// A peer is there, or not.
    fn peer(&mut self, peer: &PeerRecord);
    /// A case is next.
    fn next(&mut self, case: &Case);
    /// A case is done; it is the record's last.
    ///
    /// # Errors
    /// If the record cannot be kept; then the run ends.
    fn done(&mut self, record: &Record) -> Result<(), Error>;
}

/// A peer that may have to be started again.
struct Seat {
    program: Program,
    peer: Option<Peer>,
}

/// Runs everything.
///
/// # Errors
/// If the record cannot be kept. What goes wrong with a side is in the record.
pub fn run(plan: &Plan, ours: &mut dyn Side, watch: &mut dyn Watch) -> Result<Record, Error> {
    let mut record = Record {
        version: 2,
        date: today(),
        command: plan.command.clone(),
        revision: revision(),
        machine: plan.machine.clone(),
        peers: Vec::new(),
        cases: Vec::new(),
    };
    let mut seats = Vec::new();
    // All at once: some take seconds to load their libraries.
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
    let mut known = Known::default();
    for suite in &plan.suites {
        for case in &suite.cases {
            watch.next(case);
            let mut measured = Measured::new(&suite.name, &suite.title, case);
            if let Err(why) = measure(plan, case, ours, &mut seats, &mut known, &mut measured) {
                // The next case may go well.
                ours.release();
                seats.iter_mut().for_each(Seat::release);
                measured.sides.insert(OURS.into(), failed(why));
            }
            record.cases.push(measured);
            watch.done(&record)?;
        }
    }
    Ok(record)
}

/// One case; an error is our own side's.
fn measure(
    plan: &Plan,
    case: &Case,
    ours: &mut dyn Side,
    seats: &mut [Seat],
    known: &mut Known,
    to: &mut Measured,
) -> Result<(), String> {
    let mut own = SideRecord::default();
    match ours.prepare(case)? {
        Prepared::Ready { calls, cache } => (own.calls, own.cache) = (calls, cache),
        Prepared::Skipped(why) => {
            to.skipped = Some(why);
            return Ok(());
        }
    }
    let mut sides: BTreeMap<String, SideRecord> = BTreeMap::new();
    for seat in seats.iter_mut() {
        let side = match case.measure {
            Measure::First => SideRecord { absent: Some("first uses are ours only".into()), ..Default::default() },
            _ => seat.prepare(case, &plan.device),
        };
        sides.insert(seat.program.name.clone(), side);
    }
    let mut read = SideRecord { calls: own.calls, cache: own.cache.clone(), ..Default::default() };
    // The first round is thrown away.
    for round in 0..=plan.samples {
        if is_wanted(&own, plan.budget) {
            let ns = ours.sample()?;
            own.samples_ns.extend((round > 0).then_some(ns));
        }
        if let Some(ns) = ours.read()? {
            // Offsets and labels would be read as fast.
            let ns = (ns as f64 * case.floor_bytes() as f64 / case.input_bytes() as f64) as u64;
            read.samples_ns.extend((round > 0).then_some(ns));
        }
        for seat in seats.iter_mut() {
            let Some(side) = sides.get_mut(&seat.program.name).filter(|side| is_wanted(side, plan.budget)) else {
                continue;
            };
            match seat.with(|peer| peer.sample()) {
                Ok(ns) => side.samples_ns.extend((round > 0).then_some(ns)),
                Err(why) => *side = failed(why),
            }
        }
    }
    let reference = Reference::new(case, known);
    let at = reference.positions();
    let answer = ours.result(&at)?;
    let mut verdict = reference.check(&answer, Order::Tree);
    if plan.machine.kind != "cpu" && case.input_bytes() <= HOST_BYTES && verdict.passed {
        verdict = as_on_the_cpu(case, ours, &verdict)?;
    }
    own.verdict = Some(verdict);
    for seat in seats.iter_mut() {
        let Some(side) = sides.get_mut(&seat.program.name).filter(|side| side.absent.is_none()) else { continue };
        match seat.with(|peer| peer.result(&at)) {
            Ok(answer) => side.verdict = Some(reference.check(&answer, Order::Other)),
            Err(why) => *side = failed(why),
        }
        seat.release();
    }
    ours.release();
    to.sides = sides;
    to.sides.insert(OURS.into(), own);
    if !read.samples_ns.is_empty() {
        to.sides.insert(READ.into(), read);
    }
    Ok(())
}

/// A side that could not go on. What it measured before is worth nothing.
fn failed(why: String) -> SideRecord {
    SideRecord { absent: Some(format!("failed: {why}")), ..Default::default() }
}

/// Whether a side takes part in the next round.
fn is_wanted(side: &SideRecord, budget: Duration) -> bool {
    let taken: u64 = side.samples_ns.iter().map(|&ns| ns.saturating_mul(side.calls)).sum();
    let has_enough = side.samples_ns.len() >= LEAST_SAMPLES && u128::from(taken) > budget.as_nanos();
    side.absent.is_none() && !has_enough
}

/// Our result on another device against our own on the CPU.
fn as_on_the_cpu(case: &Case, ours: &mut dyn Side, so_far: &Verdict) -> Result<Verdict, String> {
    let mut cpu = Cpu::new();
    cpu.prepare(&Case { measure: Measure::Call, ..case.clone() })?;
    cpu.sample()?;
    let here = cpu.result(&Positions::All)?;
    let same = same_bits(&ours.result(&Positions::All)?, &here, case.work.width());
    Ok(match same.passed {
        true => Verdict { passed: true, detail: format!("{}; {}", same.detail, so_far.detail) },
        false => same,
    })
}

impl Seat {
    /// Asks the peer for something; one that does not answer is put out of its seat.
    fn with<T>(&mut self, f: impl FnOnce(&mut Peer) -> Result<T, String>) -> Result<T, String> {
        let peer = self.peer.as_mut().ok_or("it is not running")?;
        let answer = f(peer);
        if !peer.is_alive() {
            self.peer = None;
        }
        answer
    }

    fn release(&mut self) {
        let _ = self.with(|peer| {
            peer.release();
            Ok(())
        });
    }

    fn prepare(&mut self, case: &Case, device: &str) -> SideRecord {
        let mut side = SideRecord::default();
        if self.peer.is_none() {
            match Peer::start(&self.program, device) {
                Ok(peer) => self.peer = Some(peer),
                Err(why) => return failed(why),
            }
        }
        match self.with(|peer| peer.prepare(case)) {
            Ok(Prepared::Ready { calls, cache }) => (side.calls, side.cache) = (calls, cache),
            Ok(Prepared::Skipped(why)) => {
                side.absent = Some(why);
                self.release();
            }
            Err(why) => return failed(why),
        }
        side
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_has_used_up_its_time_takes_three_samples_and_no_more() {
        let side = |ns: &[u64]| SideRecord { calls: 10, samples_ns: ns.to_vec(), ..Default::default() };
        let wanted = |ns: &[u64]| is_wanted(&side(ns), Duration::from_nanos(100));
        assert!(wanted(&[]) && wanted(&[500, 500]) && wanted(&[3, 3, 3, 1]));
        assert!(!wanted(&[500, 500, 500]) && !wanted(&[3, 3, 3, 2]));
        assert!(!is_wanted(&failed("ended".into()), Duration::from_secs(1)));
    }
}
