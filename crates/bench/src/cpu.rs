//! Warpfold on the CPU.

mod keys;

use crate::case::{Case, Measure, MemoryKey};
use crate::layout::Layout;
use crate::side::{About, Answer, LONG_NS, Moved, Number, Positions, Prepared, Side};
use crate::work::Work;
use keys::{Found, Keyed};
use memmap2::MmapMut;
use rayon::prelude::*;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use warpfold::{Array, ArrayRef, Description, Scalar, Values, describe_into, reduce_into};

/// The least duration of a sample. Shorter calls are repeated.
const LEAST: Duration = Duration::from_millis(1);
const MOST_CALLS: u64 = 100_000;

/// Warpfold on the CPU, with the data of one case.
#[derive(Default)]
pub struct Cpu {
    loaded: Option<Loaded>,
    /// The memory of the last case, kept for the next.
    memory: Option<(MemoryKey, Arc<MmapMut>)>,
    /// The destination of the plain copy: half as long as the memory.
    half: Option<MmapMut>,
}

struct Loaded {
    case: Case,
    memory: Arc<MmapMut>,
    /// The offsets or labels of a keyed case.
    keyed: Option<Keyed>,
    calls: u64,
    /// The time of one call in nanoseconds.
    ns: u64,
    result: Option<Outcome>,
}

enum Outcome {
    Reduced(Array),
    Described(Description),
    Keyed(Found),
}

impl Cpu {
    /// Warpfold without data yet.
    pub fn new() -> Cpu {
        Cpu::default()
    }

    /// The name, version and device in records.
    pub fn about() -> About {
        About { name: "warpfold".into(), version: env!("CARGO_PKG_VERSION").into(), device: processor() }
    }
}

/// The processor's name, as the system reports it.
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// The data of a case in memory, in its layout.
///
/// # Errors
/// If there is not enough memory.
pub fn data(case: &Case) -> Result<MmapMut, String> {
    let size = case.dtype.size();
    let bytes = case.room() * size;
    let refused = |why| format!("{bytes} bytes of memory: {why}");
    let mut memory = pages(bytes).map_err(refused)?;
    let generator = case.generator();
    match (case.layout, case.shape.last()) {
        (Layout::Pitch(pitch), Some(&row)) => {
            let rows = memory[..bytes].par_chunks_mut(pitch * size).enumerate();
            rows.for_each(|(i, to)| generator.fill(&mut to[..row * size], (i * row) as u64));
        }
        (Layout::Step(step), _) => {
            let pieces = memory[..bytes].par_chunks_mut(PIECE * step * size).enumerate();
            pieces.for_each(|(i, to)| {
                let mut dense = vec![0; to.len() / step];
                generator.fill(&mut dense, (i * PIECE) as u64);
                let elements = dense.chunks_exact(size).zip(to.chunks_exact_mut(step * size));
                elements.for_each(|(x, to)| to[..size].copy_from_slice(x));
            });
        }
        _ => generator.fill_all(&mut memory[case.offset() * size..bytes]),
    }
    Ok(memory)
}

/// The number of elements generated at a time where elements are strided.
const PIECE: usize = 1 << 14;

/// Memory in large pages where the system has them. Peers request large pages, too, so that all sides have the same
/// kind of pages.
fn pages(bytes: usize) -> std::io::Result<MmapMut> {
    let memory = MmapMut::map_anon(bytes.max(1))?;
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    Ok(memory)
}

/// The array of a case in the memory that [`data`] made.
///
/// # Errors
/// Those of the library.
pub fn view<'a>(case: &Case, memory: &'a [u8]) -> Result<ArrayRef<'a>, warpfold::Error> {
    let size = case.dtype.size();
    let strides: Vec<isize> = case.strides().iter().map(|&s| (s * size) as isize).collect();
    let memory = &memory[..case.room() * size];
    // SAFETY: the strides reach from `offset` to less than `room` elements, which the slice was just cut to.
    unsafe { ArrayRef::from_raw(memory.as_ptr().add(case.offset() * size), case.dtype, &case.shape, &strides) }
}

impl Loaded {
    /// One call. A result takes the memory of the `last` one, as in peers, which are given theirs as `out`.
    fn call(&self, last: Option<Outcome>) -> Result<Outcome, String> {
        let array = black_box(view(&self.case, &self.memory).map_err(|e| e.to_string())?);
        let options = self.case.options();
        let result = match (&self.keyed, self.case.work) {
            (Some(keyed), _) => keyed.call(&self.case, array).map(Outcome::Keyed),
            (None, Work::Op(op)) => {
                let mut result = match last {
                    Some(Outcome::Reduced(result)) => result,
                    _ => Array { shape: vec![0], values: Values::U8(Vec::new()) },
                };
                reduce_into(op, array, &options, &mut result).map(|()| Outcome::Reduced(result))
            }
            (None, _) => {
                let mut result = match last {
                    Some(Outcome::Described(result)) => result,
                    _ => Description { shape: vec![0], count: 0, stats: Vec::new() },
                };
                describe_into(array, &options, &mut result).map(|()| Outcome::Described(result))
            }
        };
        result.map_err(|e| e.to_string())
    }

    fn threads(&self) -> usize {
        self.case.threads.unwrap_or_else(rayon::current_num_threads)
    }

    fn time(&mut self, calls: u64) -> Result<Duration, String> {
        let start = Instant::now();
        for _ in 0..calls {
            let last = self.result.take();
            self.result = Some(self.call(last)?);
        }
        Ok(start.elapsed())
    }
}

impl Side for Cpu {
    fn prepare(&mut self, case: &Case) -> Result<Prepared, String> {
        self.loaded = None;
        match case.measure {
            Measure::First => return Ok(Prepared::Skipped("nothing is compiled on a first use".into())),
            Measure::Graph => return Ok(Prepared::Skipped("only GPUs have graphs".into())),
            Measure::Call | Measure::Latency => {}
        }
        let key = case.memory();
        let memory = match self.memory.take() {
            Some((known, memory)) if known == key => memory,
            other => {
                // Frees the old memory before new memory is allocated.
                drop((other, self.half.take()));
                Arc::new(data(case)?)
            }
        };
        self.memory = Some((key, memory.clone()));
        let keyed = || Keyed::new(case, view(case, &memory)?);
        let keyed = case.is_keyed().then(keyed).transpose().map_err(|e| e.to_string())?;
        let mut loaded = Loaded { case: case.clone(), memory, keyed, calls: 1, ns: 0, result: None };
        // Warms up, then doubles the number of calls until they last long enough.
        loop {
            let elapsed = loaded.time(loaded.calls)?;
            loaded.ns = elapsed.as_nanos() as u64 / loaded.calls;
            if elapsed >= LEAST || loaded.calls >= MOST_CALLS {
                break;
            }
            loaded.calls *= 2;
        }
        let calls = loaded.calls;
        self.loaded = Some(loaded);
        Ok(Prepared::Ready { calls, cache: cache(case) })
    }

    fn sample(&mut self) -> Result<u64, String> {
        let loaded = self.loaded.as_mut().ok_or("no case is prepared")?;
        if loaded.ns < LONG_NS {
            loaded.time(1)?;
        }
        let elapsed = loaded.time(loaded.calls)?;
        Ok(elapsed.as_nanos() as u64 / loaded.calls)
    }

    fn read(&mut self) -> Result<Option<Moved>, String> {
        let loaded = self.loaded.as_ref().ok_or("no case is prepared")?;
        if loaded.case.measure != Measure::Call {
            return Ok(None);
        }
        let threads = loaded.threads();
        let bytes = &loaded.memory[..loaded.case.input_bytes() as usize];
        black_box(read(black_box(bytes), threads));
        let start = Instant::now();
        for _ in 0..loaded.calls {
            black_box(read(black_box(bytes), threads));
        }
        Ok(Some(Moved { ns: start.elapsed().as_nanos() as u64 / loaded.calls, bytes: bytes.len() as u64 }))
    }

    fn copy(&mut self) -> Result<Option<Moved>, String> {
        let loaded = self.loaded.as_ref().ok_or("no case is prepared")?;
        let half = loaded.case.input_bytes() as usize / 2;
        if loaded.case.measure != Measure::Call || half == 0 {
            return Ok(None);
        }
        let to = match self.half.take().filter(|to| to.len() >= half) {
            Some(to) => to,
            None => pages(loaded.memory.len() / 2 + 1).map_err(|why| format!("{half} bytes of memory: {why}"))?,
        };
        let to = self.half.insert(to);
        let (threads, from) = (loaded.threads(), &loaded.memory[..half]);
        copy(from, &mut to[..half], threads);
        let start = Instant::now();
        for _ in 0..loaded.calls {
            copy(black_box(from), black_box(&mut to[..half]), threads);
        }
        Ok(Some(Moved { ns: start.elapsed().as_nanos() as u64 / loaded.calls, bytes: 2 * half as u64 }))
    }

    fn poison(&mut self) -> Result<(), String> {
        let loaded = self.loaded.as_mut().ok_or("no case is prepared")?;
        match loaded.result.as_mut() {
            // The next result takes this memory.
            Some(Outcome::Reduced(array)) => spoil(&mut array.values),
            // The allocator is likely to give the same memory to the next result.
            Some(Outcome::Keyed(Found::One(array))) => spoil(&mut array.values),
            Some(Outcome::Described(found)) => found.stats.iter_mut().for_each(|(_, values)| spoil(values)),
            Some(Outcome::Keyed(Found::Step { labels, means })) => {
                labels.fill(i32::from_ne_bytes([0xa5; 4]));
                spoil(&mut means.values);
            }
            None => {}
        }
        Ok(())
    }

    fn labels(&mut self) -> Result<Vec<i32>, String> {
        match self.loaded.as_ref().and_then(|loaded| loaded.result.as_ref()) {
            Some(Outcome::Keyed(Found::Step { labels, .. })) => Ok(labels.clone()),
            _ => Err("there are no labels".into()),
        }
    }

    fn values(&mut self) -> Result<Vec<Values>, String> {
        match self.loaded.as_ref().and_then(|loaded| loaded.result.as_ref()).ok_or("nothing was computed")? {
            Outcome::Reduced(array) => Ok(vec![array.values.clone()]),
            Outcome::Keyed(found) => Ok(vec![found.values()]),
            Outcome::Described(found) => Ok(found.stats.iter().map(|(_, values)| values.clone()).collect()),
        }
    }

    fn result(&mut self, at: &Positions) -> Result<Answer, String> {
        let outcome = self.loaded.as_ref().and_then(|loaded| loaded.result.as_ref()).ok_or("nothing was computed")?;
        Ok(match outcome {
            Outcome::Reduced(array) => {
                let width = self.loaded.as_ref().map_or(1, |loaded| loaded.case.work.width());
                answer(&[&array.values], width, at)
            }
            Outcome::Keyed(found) => answer(&[&found.values()], 1, at),
            Outcome::Described(d) => answer(&d.stats.iter().map(|(_, values)| values).collect::<Vec<_>>(), 1, at),
        })
    }

    fn release(&mut self) {
        self.loaded = None;
    }
}

/// The values at some positions: of one result with `width` values per output, or of several results with a value each.
pub fn answer(columns: &[&Values], width: usize, at: &Positions) -> Answer {
    let outputs = columns.first().map_or(0, |values| values.len() / width);
    let of = |values: &Values, i: usize| -> Scalar { values.get(i) };
    let mut values = Vec::new();
    for position in at.list(outputs) {
        for column in columns {
            values.extend((0..width).map(|i| Number::from(of(column, position * width + i))));
        }
    }
    let dtypes = columns.iter().flat_map(|values| vec![values.dtype().to_string(); width]).collect();
    Answer { dtypes, outputs, values }
}

/// Whether the input comes from memory (`cold`: more than twice the bytes of the last-level cache) or from a cache
/// (`warm`).
fn cache(case: &Case) -> String {
    let (bytes, last) = (case.input_bytes(), last_cache());
    let state = if bytes > 2 * last { "cold" } else { "warm" };
    format!("{state}: 1 input of {bytes} bytes, {last} bytes of last cache")
}

/// The bytes of the processor's last-level cache, as the system reports it, or else an upper bound over all processors.
fn last_cache() -> u64 {
    let path = "/sys/devices/system/cpu/cpu0/cache/index3/size";
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let size = text.trim().strip_suffix('K').and_then(|number| number.parse::<u64>().ok());
    size.map_or(384 << 20, |size| size << 10)
}

/// Reads every byte once, with as little arithmetic as possible, eight stretches of 8 KiB at a time: a CPU fetches
/// ahead within a page, so that one stretch after the other is no limit for what is compared with it
/// (`read-streams.txt` of 2026-11-28).
fn read(bytes: &[u8], threads: usize) -> u64 {
    const STRETCH: usize = 8192;
    const PIECE: usize = 512;
    let fold = |part: &[u8]| {
        // As many as registers hold.
        let mut lanes = [0u64; 32];
        let mut add = |piece: &[u8]| {
            for piece in piece.chunks(size_of_val(&lanes)) {
                for (lane, word) in lanes.iter_mut().zip(piece.as_chunks::<8>().0) {
                    *lane ^= u64::from_ne_bytes(*word);
                }
            }
        };
        let (blocks, rest) = part.as_chunks::<{ 8 * STRETCH }>();
        for block in blocks {
            for at in (0..STRETCH).step_by(PIECE) {
                block.chunks(STRETCH).for_each(|stretch| add(&stretch[at..at + PIECE]));
            }
        }
        rest.chunks(PIECE).for_each(add);
        lanes.iter().fold(0, |a, b| a ^ b)
    };
    if threads == 1 || bytes.len() < 1 << 20 {
        return fold(bytes);
    }
    let part = bytes.len().div_ceil(threads).next_multiple_of(256);
    std::thread::scope(|scope| {
        let parts: Vec<_> = bytes.chunks(part).map(|part| scope.spawn(move || fold(part))).collect();
        parts.into_iter().fold(0, |all, part| all ^ part.join().unwrap_or(0))
    })
}

/// Copies every byte.
fn copy(from: &[u8], to: &mut [u8], threads: usize) {
    if threads == 1 || from.len() < 1 << 20 {
        return to.copy_from_slice(from);
    }
    let part = from.len().div_ceil(threads).next_multiple_of(256);
    std::thread::scope(|scope| {
        for (from, to) in from.chunks(part).zip(to.chunks_mut(part)) {
            scope.spawn(move || to.copy_from_slice(from));
        }
    });
}

/// Overwrites values before their memory is freed.
fn spoil(values: &mut Values) {
    macro_rules! fill {
        ($($dtype:ident $x:expr),*) => {
            match values { $(Values::$dtype(v) => v.fill($x)),* }
        };
    }
    fill!(Bool true, I8 -91, I16 -23131, I32 -1515870811, I64 -6510615555426900571, U8 0xa5, U16 0xa5a5,
        U32 0xa5a5_a5a5, U64 0xa5a5_a5a5_a5a5_a5a5, F16 warpfold::f16::from_bits(0xa5a5),
        BF16 warpfold::bf16::from_bits(0xa5a5), F32 f32::from_bits(0xa5a5_a5a5),
        F64 f64::from_bits(0xa5a5_a5a5_a5a5_a5a5));
    black_box(values);
}
