//! Warpfold on a GPU.

use crate::case::{Case, Measure, MemoryKey};
use crate::cpu;
use crate::cuda_keys::Keyed;
use crate::record::Machine;
use crate::side::{Answer, Positions, Prepared, Side};
use crate::work::Work;
use std::time::Instant;
use warpfold::cuda::{Array, ArrayView, Buffer, Device, Driver, Event, Inputs, Options, Program, Reduction, Stream};
use warpfold::cuda::{Statistics, Survey, Work as Kernels};
use warpfold::{Description, Error};

/// A sample lasts at least so long, by repeated calls.
const LEAST_NS: u64 = 1_000_000;
const MOST_CALLS: u64 = 100_000;
/// Inputs in turn amount to this many times the second-level cache, unless that takes more than [`MOST_COPIES`].
const CACHES: u64 = 4;
const MOST_COPIES: u64 = 64;
/// Set to 1, this has the driver compile whatever it loads.
const CACHE: &str = "CUDA_CACHE_DISABLE";

/// Ourselves on a GPU, with the data of one case.
pub struct Gpu {
    device: Device,
    stream: Stream,
    before: Event,
    after: Event,
    loaded: Option<Loaded>,
    /// Kept from one case to the next.
    memory: Option<Memory>,
}

struct Loaded {
    case: Case,
    memory: Memory,
    /// How many of the copies are used.
    copies: usize,
    work: Kind,
    calls: u64,
    result: Option<Outcome>,
}

/// Copies of the same bytes.
struct Memory {
    key: MemoryKey,
    inputs: Vec<Buffer<u8>>,
    /// The same once more, for a plain read.
    read: Option<Read>,
}

enum Kind {
    Reduction { reduction: Box<Reduction>, out: Array },
    Describe { survey: Box<Survey>, out: Statistics },
    Keyed(Box<Keyed>),
}

struct Read {
    program: Program,
    inputs: Vec<Inputs>,
}

enum Outcome {
    OnDevice,
    Reduced(warpfold::Array),
    Described(Description),
}

impl Gpu {
    /// Opens a GPU, and says what it is.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(index: usize) -> Result<(Gpu, Machine), crate::Error> {
        let open = || -> Result<(Gpu, Machine), warpfold::cuda::Error> {
            let device = Device::open(index)?;
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
        open().map_err(|why| crate::Error::Device(why.to_string()))
    }

    fn load(&mut self, case: &Case) -> Result<(Loaded, String), Error> {
        let bytes = (case.room() * case.dtype.size()) as u64;
        let l2 = self.device.properties().l2_bytes;
        let mut memory = match self.memory.take() {
            Some(memory) if memory.key == case.memory() => memory,
            other => {
                // Before there is more.
                drop(other);
                self.upload(case)?
            }
        };
        let spare = self.device.memory()?.0 / 4;
        let copies = match case.measure {
            Measure::Latency | Measure::First => 1,
            Measure::Call => {
                let there = memory.inputs.len() as u64;
                (CACHES * l2).div_ceil(bytes.max(1)).clamp(1, MOST_COPIES).min(there + spare / bytes.max(1))
            }
        };
        while (memory.inputs.len() as u64) < copies {
            let mut copy = Buffer::new(&self.device, bytes as usize)?;
            copy.copy_from(&self.stream, &memory.inputs[0])?;
            memory.inputs.push(copy);
            if let Some(read) = &mut memory.read {
                read.inputs.push(read.inputs[0].duplicate(&self.stream)?);
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
        Ok((Loaded { case: case.clone(), memory, copies: copies as usize, work, calls: 1, result: None }, cache))
    }

    fn upload(&self, case: &Case) -> Result<Memory, Error> {
        let bytes = case.room() * case.dtype.size();
        let memory = cpu::data(case).map_err(|why| Error::Device { name: "cpu".into(), why })?;
        let inputs = vec![Buffer::upload(&self.stream, &memory[..bytes])?];
        let read = match case.input_bytes() as usize / 4 {
            0 => None,
            n => {
                let program = Program::new(&self.device, Kernels::Read { n: n as u64 })?;
                Some(Read { program, inputs: vec![Inputs::copy_of(&self.stream, &inputs[0], n)?] })
            }
        };
        Ok(Memory { key: case.memory(), inputs, read })
    }

    fn view<'a>(&self, case: &Case, buffer: &'a Buffer<u8>) -> Result<ArrayView<'a>, Error> {
        let size = case.dtype.size();
        let strides: Vec<isize> = case.strides().iter().map(|&s| (s * size) as isize).collect();
        let address = buffer.address() + (case.offset() * size) as u64;
        // SAFETY: the buffer was made with `room` elements, which offset, shape and strides do not leave; it stays for `'a`, and
        // every sample waits for the device before it ends.
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
            let view = views[i % views.len()];
            match &mut loaded.work {
                Kind::Reduction { reduction, out } => reduction.run(stream, view, None, out)?,
                Kind::Describe { survey, out } => survey.run(stream, view, out)?,
                Kind::Keyed(keyed) => keyed.run(stream, view, i % views.len())?,
            }
        }
        stream.record(&self.after)?;
        loaded.result = Some(Outcome::OnDevice);
        Ok(self.after.nanoseconds_since(&self.before)?)
    }

    /// The time until the first result, of a device that has no kernel loaded.
    fn first(&self, loaded: &mut Loaded) -> Result<u64, Error> {
        let device = Device::open(self.device.properties().index)?;
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
        self.time(loaded)?;
        while loaded.case.measure == Measure::Call && loaded.calls < MOST_CALLS {
            let ns = self.time(loaded)?;
            if ns >= LEAST_NS {
                break;
            }
            let guess = (1.2 * loaded.calls as f64 * LEAST_NS as f64 / ns.max(1) as f64) as u64;
            loaded.calls = guess.max(2 * loaded.calls).min(MOST_CALLS);
        }
        Ok(())
    }
}

fn options(case: &Case) -> Options<'static> {
    let on_host = case.options();
    Options { axes: on_host.axes, precision: on_host.precision, skip_nan: on_host.skip_nan, ..Options::default() }
}

fn described(found: &Description, at: &Positions) -> Answer {
    cpu::answer(&found.stats.iter().map(|(_, values)| values).collect::<Vec<_>>(), 1, at)
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
        let calls = loaded.calls;
        self.loaded = Some(loaded);
        Ok(Prepared::Ready { calls, cache })
    }

    fn sample(&mut self) -> Result<u64, String> {
        let mut loaded = self.loaded.take().ok_or("no case is prepared")?;
        let ns = self.time(&mut loaded).map_err(|e| e.to_string());
        let calls = loaded.calls;
        self.loaded = Some(loaded);
        Ok(ns? / calls)
    }

    fn read(&mut self) -> Result<Option<u64>, String> {
        let loaded = self.loaded.as_mut().ok_or("no case is prepared")?;
        let Some(Read { program, inputs }) = loaded.memory.read.as_mut() else { return Ok(None) };
        if loaded.case.measure != Measure::Call {
            return Ok(None);
        }
        let mut run = || -> Result<u64, warpfold::cuda::Error> {
            self.stream.record(&self.before)?;
            for i in 0..loaded.calls as usize {
                program.run(&self.stream, &inputs[i % loaded.copies])?;
            }
            self.stream.record(&self.after)?;
            self.after.nanoseconds_since(&self.before)
        };
        Ok(Some(run().map_err(|e| e.to_string())? / loaded.calls))
    }

    fn result(&mut self, at: &Positions) -> Result<Answer, String> {
        let loaded = self.loaded.as_mut().ok_or("no case is prepared")?;
        let width = loaded.case.work.width();
        match (&loaded.result, &mut loaded.work) {
            (Some(Outcome::Reduced(array)), _) => Ok(cpu::answer(&[&array.values], width, at)),
            (Some(Outcome::Described(d)), _) => Ok(described(d, at)),
            (Some(Outcome::OnDevice), Kind::Describe { survey, out }) => {
                let found = survey.download(out, &self.stream).map_err(|e| e.to_string())?;
                Ok(described(&found, at))
            }
            (Some(Outcome::OnDevice), Kind::Reduction { out, .. }) => {
                let array = out.download(&self.stream).map_err(|e| e.to_string())?;
                Ok(cpu::answer(&[&array.values], width, at))
            }
            (Some(Outcome::OnDevice), Kind::Keyed(keyed)) => {
                let last = (loaded.calls as usize - 1) % loaded.copies;
                let values = keyed.values(&self.stream, last).map_err(|e| e.to_string())?;
                Ok(cpu::answer(&[&values], 1, at))
            }
            _ => Err("nothing was computed".into()),
        }
    }

    fn release(&mut self) {
        self.memory = self.loaded.take().map(|loaded| loaded.memory).or(self.memory.take());
    }
}
