//! Warpfold on a GPU.

mod keys;
mod moves;

use crate::case::{Case, Measure, MemoryKey};
use crate::cpu;
use crate::record::Machine;
use crate::side::{Answer, LONG_NS, Moved, Positions, Prepared, Side};
use crate::work::Work;
use keys::{Keyed, POISON};
use moves::{Clock, Read};
use std::time::Instant;
use warpfold::cuda::{self, Array, ArrayView, Buffer, Device, Driver, Event, Graph, Options, Reduction};
use warpfold::cuda::{Statistics, Stream, Survey};
use warpfold::{Description, Error, Values};

/// The least duration of a sample in nanoseconds. Shorter calls are repeated.
const LEAST_NS: u64 = 1_000_000;
const MOST_CALLS: u64 = 100_000;
/// Inputs in turn amount to this many times the second-level cache, unless that takes more than [`MOST_COPIES`].
const CACHES: u64 = 4;
const MOST_COPIES: u64 = 64;
/// Calls that one graph holds.
const GRAPH_CALLS: u64 = 32;
/// The environment variable that, set to 1, makes the driver compile every kernel that it loads.
const CACHE: &str = "CUDA_CACHE_DISABLE";

/// Warpfold on a GPU, with the data of one case.
pub struct Gpu {
    device: Device,
    stream: Stream,
    before: Event,
    after: Event,
    loaded: Option<Loaded>,
    /// The memory of the last case, kept for the next.
    memory: Option<Memory>,
}

struct Loaded {
    case: Case,
    /// A graph of [`GRAPH_CALLS`] calls. It holds the addresses of the fields below, so that it is dropped before them.
    graph: Option<Graph>,
    memory: Memory,
    /// The number of input copies in use.
    copies: usize,
    work: Kind,
    /// The number of calls, or of graph launches, in a sample.
    calls: u64,
    /// The time of one of them in nanoseconds.
    ns: u64,
    result: Option<Outcome>,
}

/// Copies of the same bytes.
struct Memory {
    key: MemoryKey,
    inputs: Vec<Buffer<u8>>,
    /// The inputs of the plain read: the same bytes once more.
    read: Option<Read>,
    /// The destination of the plain copy: half as long as an input.
    half: Option<Buffer<u8>>,
}

enum Kind {
    Reduction { reduction: Box<Reduction>, out: Array },
    Describe { survey: Box<Survey>, out: Statistics },
    Keyed(Box<Keyed>),
}

enum Outcome {
    OnDevice,
    Reduced(warpfold::Array),
    Described(Description),
}

impl Gpu {
    /// Opens a GPU, and describes it.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(index: usize) -> Result<(Gpu, Machine), crate::error::Error> {
        let open = || -> Result<(Gpu, Machine), warpfold::cuda::Error> {
            let device = cuda::open(index)?;
            let driver = Driver::load()?.version();
            let machine = Machine {
                kind: "cuda".into(),
                device: device.properties().name.clone(),
                driver: Some(format!("for CUDA {}.{}", driver.0, driver.1)),
                ..Machine::cpu()
            };
            let (stream, before, after) = (Stream::new(&device)?, Event::new(&device)?, Event::new(&device)?);
            Ok((Gpu { device, stream, before, after, loaded: None, memory: None }, machine))
        };
        open().map_err(|why| crate::error::Error::Device(why.to_string()))
    }

    fn load(&mut self, case: &Case) -> Result<(Loaded, String), Error> {
        let bytes = (case.room() * case.dtype.size()) as u64;
        let l2 = self.device.properties().l2_bytes;
        let mut memory = match self.memory.take() {
            Some(memory) if memory.key == case.memory() => memory,
            other => {
                // Frees the old memory before new memory is allocated.
                drop(other);
                self.upload(case)?
            }
        };
        let spare = self.device.memory()?.0 / 4;
        let copies = match case.measure {
            Measure::Latency | Measure::First => 1,
            Measure::Call | Measure::Graph => {
                let there = memory.inputs.len() as u64;
                (CACHES * l2).div_ceil(bytes.max(1)).clamp(1, MOST_COPIES).min(there + spare / bytes.max(1))
            }
        };
        while (memory.inputs.len() as u64) < copies {
            let mut copy = Buffer::new(&self.device, bytes as usize)?;
            copy.copy_from(&self.stream, &memory.inputs[0])?;
            memory.inputs.push(copy);
            if let Some(read) = &mut memory.read {
                read.duplicate(&self.stream)?;
            }
        }
        let view = self.view(case, &memory.inputs[0])?;
        let keyed = match case.is_keyed() {
            true => Keyed::new(&self.stream, case, &view, copies as usize)?,
            false => None,
        };
        let work = match (keyed, case.work) {
            (Some(keyed), _) => Kind::Keyed(Box::new(keyed)),
            (None, Work::Op(op)) => {
                let reduction = Box::new(Reduction::new(&self.device, op, &view, &options(case))?);
                let out = reduction.output()?;
                Kind::Reduction { reduction, out }
            }
            (None, _) => {
                let survey = Box::new(Survey::new(&self.device, &view, &options(case))?);
                let out = survey.output()?;
                Kind::Describe { survey, out }
            }
        };
        let state = if copies * bytes > 2 * l2 { "cold" } else { "warm" };
        let cache = format!("{state}: {copies} inputs of {bytes} bytes in turn, {l2} bytes of L2");
        let copies = copies as usize;
        let loaded = Loaded { case: case.clone(), graph: None, memory, copies, work, calls: 1, ns: 0, result: None };
        Ok((loaded, cache))
    }

    /// Captures calls in a graph. Their kernels are loaded.
    fn record(&self, loaded: &mut Loaded) -> Result<(), Error> {
        let Loaded { case, memory, copies, work, .. } = loaded;
        let inputs = memory.inputs[..*copies].iter();
        let views = inputs.map(|input| self.view(case, input)).collect::<Result<Vec<_>, _>>()?;
        let calls = |stream: &Stream| {
            (0..GRAPH_CALLS as usize).try_for_each(|i| queue(work, stream, views[i % views.len()], i % views.len()))
        };
        // SAFETY: `Loaded` keeps inputs, reduction and output, and drops them after the graph; none is made anew.
        loaded.graph = Some(unsafe { self.stream.capture(calls) }?);
        Ok(())
    }

    fn upload(&self, case: &Case) -> Result<Memory, Error> {
        let bytes = case.room() * case.dtype.size();
        let memory = cpu::data(case).map_err(|why| Error::Device { name: "cpu".into(), why })?;
        let inputs = vec![Buffer::upload(&self.stream, &memory[..bytes])?];
        let read = Read::of(&self.stream, &inputs[0])?;
        Ok(Memory { key: case.memory(), inputs, read, half: None })
    }

    fn view<'a>(&self, case: &Case, buffer: &'a Buffer<u8>) -> Result<ArrayView<'a>, Error> {
        let size = case.dtype.size();
        let strides: Vec<isize> = case.strides().iter().map(|&s| (s * size) as isize).collect();
        let address = buffer.address() + (case.offset() * size) as u64;
        // SAFETY: the buffer was made with `room` elements, which offset, shape and strides do not leave; it stays for
        // `'a`, and every sample waits for the device before it ends.
        unsafe { ArrayView::from_raw(self.device.properties().index, address, case.dtype, &case.shape, &strides) }
    }

    /// The time of that many calls.
    fn time(&self, loaded: &mut Loaded) -> Result<u64, Error> {
        if loaded.case.measure == Measure::First {
            return self.first(loaded);
        }
        let stream = &self.stream;
        let start = Instant::now();
        let inputs = loaded.memory.inputs[..loaded.copies].iter();
        let views = inputs.map(|input| self.view(&loaded.case, input)).collect::<Result<Vec<_>, _>>()?;
        if loaded.case.measure == Measure::Latency {
            for _ in 0..loaded.calls {
                loaded.result = Some(match &mut loaded.work {
                    Kind::Reduction { reduction, .. } => {
                        Outcome::Reduced(reduction.run_to_host(stream, views[0], None)?)
                    }
                    Kind::Describe { survey, out } => {
                        survey.run(stream, views[0], out)?;
                        Outcome::Described(survey.download(out, stream)?)
                    }
                    Kind::Keyed(keyed) => {
                        keyed.run(stream, views[0], 0)?;
                        Outcome::OnDevice
                    }
                });
            }
            return Ok(start.elapsed().as_nanos() as u64);
        }
        stream.record(&self.before)?;
        for i in 0..loaded.calls as usize {
            match &loaded.graph {
                Some(graph) => graph.launch(stream)?,
                None => queue(&mut loaded.work, stream, views[i % views.len()], i % views.len())?,
            }
        }
        stream.record(&self.after)?;
        loaded.result = Some(Outcome::OnDevice);
        Ok(self.after.nanoseconds_since(&self.before)?)
    }

    /// One untimed call before the timed ones.
    fn warm(&self, loaded: &mut Loaded) -> Result<(), Error> {
        if loaded.case.measure == Measure::First || loaded.ns >= LONG_NS {
            return Ok(());
        }
        let calls = std::mem::replace(&mut loaded.calls, 1);
        let warmed = self.time(loaded);
        loaded.calls = calls;
        warmed.map(drop)
    }

    /// The time until the first result, on a device that has no kernel loaded.
    fn first(&self, loaded: &mut Loaded) -> Result<u64, Error> {
        let device = cuda::open(self.device.properties().index)?;
        let stream = Stream::new(&device)?;
        let (case, view) = (&loaded.case, self.view(&loaded.case, &loaded.memory.inputs[0])?);
        let start = Instant::now();
        let result = match case.work {
            Work::Op(op) => {
                let reduction = Reduction::new(&device, op, &view, &options(case))?;
                Outcome::Reduced(reduction.run_to_host(&stream, view, None)?)
            }
            _ => {
                let survey = Survey::new(&device, &view, &options(case))?;
                let mut out = survey.output()?;
                survey.run(&stream, view, &mut out)?;
                Outcome::Described(survey.download(&out, &stream)?)
            }
        };
        let elapsed = start.elapsed();
        loaded.result = Some(result);
        Ok(elapsed.as_nanos() as u64)
    }

    fn calibrate(&self, loaded: &mut Loaded) -> Result<(), Error> {
        loaded.ns = self.time(loaded)?;
        if loaded.case.measure == Measure::Graph {
            self.record(loaded)?;
        }
        while loaded.case.measure != Measure::First && loaded.calls < MOST_CALLS {
            let ns = self.time(loaded)?;
            loaded.ns = ns / loaded.calls;
            if ns >= LEAST_NS {
                break;
            }
            let guess = (1.2 * loaded.calls as f64 * LEAST_NS as f64 / ns.max(1) as f64) as u64;
            loaded.calls = guess.max(2 * loaded.calls).min(MOST_CALLS);
        }
        Ok(())
    }
}

/// Queues one call on one of the input copies.
fn queue(work: &mut Kind, stream: &Stream, view: ArrayView<'_>, turn: usize) -> Result<(), Error> {
    match work {
        Kind::Reduction { reduction, out } => reduction.run(stream, view, None, out),
        Kind::Describe { survey, out } => survey.run(stream, view, out),
        Kind::Keyed(keyed) => keyed.run(stream, view, turn),
    }
}

fn options(case: &Case) -> Options<'static> {
    let on_host = case.options();
    Options { axes: on_host.axes, precision: on_host.precision, skip_nan: on_host.skip_nan, ..Options::default() }
}

impl Loaded {
    /// The number of calls that one graph launch runs; 1 without a graph.
    fn per_call(&self) -> u64 {
        if self.graph.is_some() { GRAPH_CALLS } else { 1 }
    }

    /// The copy that the last call read.
    fn last(&self) -> usize {
        match self.graph {
            Some(_) => (GRAPH_CALLS as usize - 1) % self.copies,
            None => (self.calls as usize - 1) % self.copies,
        }
    }
}

impl Side for Gpu {
    fn prepare(&mut self, case: &Case) -> Result<Prepared, String> {
        self.release();
        if case.measure == Measure::First && std::env::var(CACHE).as_deref() != Ok("1") {
            return Ok(Prepared::Skipped(format!("the driver may have the kernel in its cache: set {CACHE}=1")));
        }
        let (mut loaded, cache) = match self.load(case) {
            Ok(loaded) => loaded,
            Err(Error::Cuda(why @ warpfold::cuda::Error::OutOfMemory { .. })) => {
                return Ok(Prepared::Skipped(why.to_string()));
            }
            Err(why) => return Err(why.to_string()),
        };
        self.calibrate(&mut loaded).map_err(|e| e.to_string())?;
        let calls = loaded.calls * loaded.per_call();
        self.loaded = Some(loaded);
        Ok(Prepared::Ready { calls, cache })
    }

    fn sample(&mut self) -> Result<u64, String> {
        let mut loaded = self.loaded.take().ok_or("no case is prepared")?;
        let ns = self.warm(&mut loaded).and_then(|()| self.time(&mut loaded)).map_err(|e| e.to_string());
        let calls = loaded.calls * loaded.per_call();
        self.loaded = Some(loaded);
        Ok(ns? / calls)
    }

    fn read(&mut self) -> Result<Option<Moved>, String> {
        let loaded = self.loaded.as_mut().ok_or("no case is prepared")?;
        let calls = loaded.calls * loaded.per_call();
        let Some(read) = loaded.memory.read.as_mut().filter(|_| loaded.case.measure.is_in_turn()) else {
            return Ok(None);
        };
        let clock = Clock { stream: &self.stream, before: &self.before, after: &self.after, calls };
        read.time(&clock, loaded.copies).map(Some).map_err(|e| e.to_string())
    }

    fn copy(&mut self) -> Result<Option<Moved>, String> {
        let loaded = self.loaded.as_mut().ok_or("no case is prepared")?;
        let Memory { inputs, half, .. } = &mut loaded.memory;
        if loaded.case.measure != Measure::Call || inputs[0].len() < 2 {
            return Ok(None);
        }
        let clock = Clock { stream: &self.stream, before: &self.before, after: &self.after, calls: loaded.calls };
        clock.copies(&inputs[..loaded.copies], half).map(Some).map_err(|e| e.to_string())
    }

    fn poison(&mut self) -> Result<(), String> {
        let loaded = self.loaded.as_mut().ok_or("no case is prepared")?;
        let filled = match &mut loaded.work {
            Kind::Reduction { out, .. } => out.fill(&self.stream, POISON).map_err(Error::from),
            Kind::Describe { out, .. } => out.fill(&self.stream, POISON).map_err(Error::from),
            Kind::Keyed(keyed) => keyed.poison(&self.stream),
        };
        loaded.result = None;
        filled.map_err(|e| e.to_string())
    }

    fn labels(&mut self) -> Result<Vec<i32>, String> {
        let loaded = self.loaded.as_ref().ok_or("no case is prepared")?;
        let Kind::Keyed(keyed) = &loaded.work else { return Err("there are no labels".into()) };
        let labels = keyed.labels(&self.stream, loaded.last()).map_err(|e| e.to_string())?;
        labels.ok_or_else(|| "there are no labels".into())
    }

    fn values(&mut self) -> Result<Vec<Values>, String> {
        let loaded = self.loaded.as_mut().ok_or("no case is prepared")?;
        let last = loaded.last();
        let of = |found: &Description| found.stats.iter().map(|(_, values)| values.clone()).collect();
        let values = match (&loaded.result, &mut loaded.work) {
            (Some(Outcome::Reduced(array)), _) => Ok(vec![array.values.clone()]),
            (Some(Outcome::Described(found)), _) => Ok(of(found)),
            (Some(Outcome::OnDevice), Kind::Describe { survey, out }) => {
                survey.download(out, &self.stream).map(|found| of(&found))
            }
            (Some(Outcome::OnDevice), Kind::Reduction { out, .. }) => {
                out.download(&self.stream).map(|array| vec![array.values])
            }
            (Some(Outcome::OnDevice), Kind::Keyed(keyed)) => {
                keyed.values(&self.stream, last).map(|values| vec![values])
            }
            (None, _) => return Err("nothing was computed".into()),
        };
        values.map_err(|e| e.to_string())
    }

    fn result(&mut self, at: &Positions) -> Result<Answer, String> {
        let values = self.values()?;
        let width = self.loaded.as_ref().map_or(1, |loaded| loaded.case.work.width());
        // A description has a list of values for each statistic.
        let width = if values.len() > 1 { 1 } else { width };
        Ok(cpu::answer(&values.iter().collect::<Vec<_>>(), width, at))
    }

    fn release(&mut self) {
        self.memory = self.loaded.take().map(|loaded| loaded.memory).or(self.memory.take());
    }
}
