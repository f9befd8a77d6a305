//! Every sequence of launches that the library has for a GPU, carried out in the emulator: the bits of the CPU, and no
//! fault.
//!
//! The sequences are the library's own. Only the runtime is another than the driver's.

mod abreast;
mod borrowed;
mod cliffs;
mod columns;
mod counted;
mod crossed;
mod extremes;
mod golden;
mod golden_rows;
mod groups;
mod hands;
mod keys;
mod kmeans;
mod kmeans_exact;
mod kmeans_hopper;
mod layouts;
mod reductions;
mod rows;
mod rowwise;
mod segments;
mod select;
mod sort;
mod split;
mod steps;
mod transposed;

use warpfold::cuda::{self, ArrayView, Buffer, Stream};
use warpfold::{DType, Error};
use warpfold_emulator::Emulator;
use warpfold_testing::golden::random;

/// A small device, so that small problems take several blocks, and a stream of it. All cases of a test share the
/// stream, and so its workspace: counters that one case does not set back would spoil the next.
struct Emulated {
    emulator: Emulator,
    device: cuda::Device,
    stream: Stream,
}

impl Emulated {
    fn new() -> Emulated {
        Emulated::of(1)
    }

    fn of(multiprocessors: u32) -> Emulated {
        Emulated::on(Emulator::new(multiprocessors))
    }

    /// A device of the generation that has products by four warps.
    fn hopper() -> Emulated {
        Emulated::on(Emulator::like(1, (9, 0)))
    }

    fn on(emulator: Emulator) -> Emulated {
        let device = emulator.device();
        let stream = Stream::new(&device).expect("a stream");
        Emulated { emulator, device, stream }
    }

    fn upload(&self, bytes: &[u8]) -> Buffer<u8> {
        Buffer::upload(&self.stream, bytes).expect("room")
    }

    /// An array of the device in bytes that are there: `first` bytes before the element with all indices 0.
    fn view<'a>(
        &self,
        buffer: &'a Buffer<u8>,
        first: usize,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<ArrayView<'a>, Error> {
        let address = buffer.address() + first as u64;
        // SAFETY: an emulated device finds every access outside of its buffers.
        unsafe { ArrayView::from_raw(self.device.properties().index, address, dtype, shape, strides) }
    }

    /// The names of the kernels launched since the last call.
    fn entries(&self) -> String {
        self.emulator.take_launches().iter().map(|(entry, _)| format!(" {entry}")).collect()
    }
}

/// A number below `n`.
fn pick(n: usize, seed: &mut u64) -> usize {
    random(seed) as usize % n
}

/// How many cases to run: `WARPFOLD_CASES`, or so many.
fn cases(usual: usize) -> usize {
    std::env::var("WARPFOLD_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// The result as bytes, or how there is none.
#[derive(Debug, PartialEq)]
enum Outcome {
    Bytes(Vec<u8>),
    Empty,
    AllNan,
}

impl Outcome {
    /// Of a result, on the CPU or downloaded; other errors in words.
    fn of(said: Result<warpfold::Array, Error>) -> Result<Outcome, String> {
        match said {
            Ok(array) => Ok(Outcome::Bytes(array.values.as_bytes().to_vec())),
            Err(Error::Empty { .. }) => Ok(Outcome::Empty),
            Err(Error::AllNan { .. }) => Ok(Outcome::AllNan),
            Err(other) => Err(other.to_string()),
        }
    }
}

/// The first characters of what is wrong.
fn brief(why: &str) -> String {
    why.chars().take(1500).collect()
}
