//! Rungs on a GPU: checked, then timed.

use super::case::{Case, Load};
use super::check::Answer;
use super::error::Error;
use super::material::materials;
use super::production::{self, Ready};
use super::row::{blank_rung, depth_of, verdict};
use super::timed::Timed;
use crate::program::{Inputs, Program, Work};
use crate::record::Run;
use std::time::{Duration, Instant};
use warpfold::cuda::{Device, Event, Stream};

/// A GPU, with the inputs of the last workload in its memory.
pub struct Gpu {
    stream: Stream,
    loaded: Option<(Load, Vec<Loaded>)>,
    /// Copies of the input that is timed.
    copies: Vec<Inputs>,
    plug: Option<(Program, Inputs)>,
}

struct Loaded {
    inputs: Inputs,
    answer: Answer,
}

/// Samples that are queued at once, behind the plug. With all that belongs to them they fit into the driver's queue.
const BATCH: usize = 16;
/// Reads that keep the device busy while the host fills the queue, so that no sample waits for the host.
const PLUGS: usize = 16;
/// Words of each of these reads.
const PLUG_WORDS: u64 = 1 << 26;
/// The duration of the warm-up, which brings the device's clocks up.
const WARM_UP: Duration = Duration::from_millis(40);
/// Inputs in turn amount to this many times the second-level cache, unless that takes more than [`MOST_COPIES`].
const CACHES: u64 = 4;
const MOST_COPIES: u64 = 64;

impl Gpu {
    /// Uses this device.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(device: &Device) -> Result<Gpu, Error> {
        Ok(Gpu { stream: Stream::new(device)?, loaded: None, copies: Vec::new(), plug: None })
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.stream.device()
    }

    /// Runs a rung on all inputs that it has to get right, each time over a result that was overwritten with ones.
    ///
    /// # Errors
    /// If there is no such plan, or the driver refuses. A wrong result is the `Err` inside.
    pub fn check(&mut self, case: &Case) -> Result<Vec<Result<String, String>>, Error> {
        let mut program = Program::new(&self.device(), case.work())?;
        let depth = depth_of(case, program.plan());
        self.check_all(case, &mut program, depth)
    }

    fn check_all(
        &mut self,
        case: &Case,
        timed: &mut impl Timed,
        depth: u64,
    ) -> Result<Vec<Result<String, String>>, Error> {
        let (stream, loaded) = self.load(case.load)?;
        let mut said = Vec::new();
        for Loaded { inputs, answer } in loaded {
            timed.reset(stream, inputs)?;
            timed.run(stream, inputs)?;
            let (output, counts) = timed.read(stream)?;
            said.push(check(case, answer, &output, &counts, depth));
        }
        Ok(said)
    }

    /// The bits of the library's own result on the input that is timed, and the counts.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn own_bits(&mut self, load: Load) -> Result<(Vec<u32>, Vec<u32>), Error> {
        let (stream, loaded) = self.load(load)?;
        let mut ready = Ready::new(stream, load, &loaded[0].inputs)?;
        let inputs = &loaded.last().expect("every workload has an input").inputs;
        ready.reset(stream, inputs)?;
        ready.run(stream, inputs)?;
        ready.read(stream)
    }

    /// The result's bits on the input that is timed.
    ///
    /// # Errors
    /// If there is no such plan, or the driver refuses.
    pub fn bits(&mut self, case: &Case) -> Result<Vec<u32>, Error> {
        let mut program = Program::new(&self.device(), case.work())?;
        let (stream, loaded) = self.load(case.load)?;
        let inputs = &loaded.last().expect("every workload has an input").inputs;
        program.reset(stream, inputs)?;
        program.run(stream, inputs)?;
        Timed::read(&program, stream).map(|(output, _)| output)
    }

    /// A rung's row: checked, timed if it was right, and checked again on what was timed.
    ///
    /// # Errors
    /// If there is no such plan, or the driver refuses.
    pub fn row(&mut self, case: &Case, samples: usize) -> Result<Run, Error> {
        let device = self.device();
        if case.is_production() {
            let (stream, loaded) = self.load(case.load)?;
            // The first has the greatest coordinates.
            let mut ready = Ready::new(stream, case.load, &loaded[0].inputs)?;
            let run = production::row(case, Some(&device))?;
            return self.measure(case, &mut ready, run, production::depth(case.load), false, samples);
        }
        let mut program = Program::new(&device, case.work())?;
        let (run, depth) = (blank_rung(case, program.plan()), depth_of(case, program.plan()));
        let clobbers_input = program.plan().clobbers_input;
        self.measure(case, &mut program, run, depth, clobbers_input, samples)
    }

    fn measure(
        &mut self,
        case: &Case,
        timed: &mut impl Timed,
        mut run: Run,
        depth: u64,
        clobbers_input: bool,
        samples: usize,
    ) -> Result<Run, Error> {
        let mut said = self.check_all(case, timed, depth)?;
        if said.iter().all(Result::is_ok) {
            run.cache = Some(self.copy(case.load, clobbers_input)?);
            run.samples_ns = self.time(timed, samples)?;
            let (output, counts) = timed.read(&self.stream)?;
            let (_, loaded) = self.load(case.load)?;
            let answer = &loaded.last().expect("every workload has an input").answer;
            if let Err(wrong) = check(case, answer, &output, &counts, depth) {
                said.push(Err(format!("after timing: {wrong}")));
                run.samples_ns.clear();
            }
        }
        run.verdict = verdict(said, Vec::new());
        Ok(run)
    }

    /// Uploads the inputs of a workload, unless they are there.
    fn load(&mut self, load: Load) -> Result<(&Stream, &[Loaded]), Error> {
        if self.loaded.as_ref().is_none_or(|(known, _)| *known != load) {
            self.loaded = None;
            self.copies.clear();
            let mut loaded = Vec::new();
            for m in materials(load) {
                loaded.push(Loaded { inputs: m.upload(&self.stream, load)?, answer: m.answer });
            }
            self.loaded = Some((load, loaded));
        }
        let (_, loaded) = self.loaded.as_ref().expect("just loaded");
        Ok((&self.stream, loaded))
    }

    /// Copies the input until the copies together outgrow the cache, and describes the outcome.
    fn copy(&mut self, load: Load, is_copied_each_time: bool) -> Result<String, Error> {
        let device = self.device();
        let l2 = device.properties().l2_bytes;
        let bytes = (load.words() * 4).max(1);
        let sizes = |bytes: u64| match bytes {
            b if b < 1 << 20 => format!("{:.1} KiB", b as f64 / 1024.0),
            b => format!("{} MiB", b >> 20),
        };
        if is_copied_each_time {
            let state = if bytes > CACHES * l2 { "cold" } else { "warm" };
            return Ok(format!("{state}: {} copied afresh before each run, {} L2", sizes(bytes), sizes(l2)));
        }
        let spare = device.memory()?.0 / 2;
        let wanted = (CACHES * l2).div_ceil(bytes).clamp(1, MOST_COPIES).min((spare / bytes).max(1));
        self.load(load)?;
        while (self.copies.len() as u64) < wanted - 1 {
            let (stream, loaded) = self.load(load)?;
            let copy = loaded.last().expect("every workload has an input").inputs.duplicate(stream)?;
            self.copies.push(copy);
        }
        let inputs = self.copies.len() as u64 + 1;
        let total = inputs * bytes;
        let s = if inputs == 1 { "" } else { "s" };
        Ok(match total > 2 * l2 {
            true => format!("cold: {inputs} input{s} in turn, {} > {} L2", sizes(total), sizes(l2)),
            false => format!("warm: {inputs} input{s} in turn, {} in {} L2", sizes(total), sizes(l2)),
        })
    }

    /// The device times of consecutive runs in nanoseconds.
    fn time(&mut self, timed: &mut impl Timed, samples: usize) -> Result<Vec<u64>, Error> {
        self.make_plug()?;
        let stream = &self.stream;
        let device = stream.device();
        let (_, loaded) = self.loaded.as_ref().expect("checked before it is timed");
        let first = &loaded.last().expect("every workload has an input").inputs;
        let inputs: Vec<&Inputs> = std::iter::once(first).chain(&self.copies).collect();
        let mut turn = inputs.iter().cycle();
        let mut next = || *turn.next().expect("at least one input");

        let start = Instant::now();
        while start.elapsed() < WARM_UP {
            for _ in 0..4 {
                let inputs = next();
                timed.reset(stream, inputs)?;
                timed.run(stream, inputs)?;
            }
            stream.synchronize()?;
        }
        let mut events = Vec::new();
        for _ in 0..samples.min(BATCH) {
            events.push((Event::new(&device)?, Event::new(&device)?));
        }
        let mut times = Vec::new();
        while times.len() < samples {
            if let Some((plug, words)) = &mut self.plug {
                for _ in 0..PLUGS {
                    plug.run(stream, words)?;
                }
            }
            let events = &events[..events.len().min(samples - times.len())];
            for (before, after) in events {
                let inputs = next();
                timed.reset(stream, inputs)?;
                stream.record(before)?;
                timed.run(stream, inputs)?;
                stream.record(after)?;
            }
            stream.synchronize()?;
            for (before, after) in events {
                times.push(after.nanoseconds_since(before)?);
            }
        }
        Ok(times)
    }

    fn make_plug(&mut self) -> Result<(), Error> {
        if self.plug.is_none() {
            let device = self.device();
            let n = PLUG_WORDS.min(device.memory()?.0 / 32);
            let plug = Program::new(&device, Work::Read { n })?;
            self.plug = Some((plug, Inputs::upload(&self.stream, &vec![0; n as usize])?));
        }
        Ok(())
    }
}

/// Whether a result is right.
fn check(case: &Case, answer: &Answer, output: &[u32], counts: &[u32], depth: u64) -> Result<String, String> {
    match case.is_production() {
        true => production::check(answer, case.load, output, counts),
        false => answer.check(output, counts, depth),
    }
}
