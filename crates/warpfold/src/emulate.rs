//! The kernels of a reducer of one's own, in the emulator.

use warpfold_array::{Error, Tensor};
use warpfold_emulator::{Emulator, Report};
use warpfold_gpu::{Custom, Elements, Stream};
use warpfold_kernels::Own;
use warpfold_kernels::custom::{Exported, Words};

/// What the emulator made of a reduction.
#[derive(Clone, Debug)]
pub struct Emulated<T> {
    /// The results.
    pub results: Tensor<T>,
    /// Each kernel launched, and what was counted.
    pub launches: Vec<(String, Report)>,
}

/// As [`crate::reduce_elements`], but by the kernels that a GPU would run, in the emulator: every access is checked,
/// and races are found. It takes a thousand times as long. The emulated GPU has one multiprocessor, so that small
/// problems take several blocks.
///
/// # Errors
/// As [`crate::reduce_elements`]; and [`Error::Emulator`] with all that is wrong with a kernel.
pub fn emulate_elements<R: Exported>(
    reducer: R,
    data: &[R::Item],
    shape: &[usize],
    axes: Option<&[isize]>,
) -> Result<Emulated<R::Output>, Error> {
    emulated(reducer, |custom, stream| {
        let elements = Elements::upload(stream, data, shape)?;
        custom.reduce(stream, elements.view(), axes)
    })
}

/// The same of elements in two arrays, as [`Custom::reduce_pairs`]: `zip(…).with(Zipped::new(…))` of the reducer is the
/// CPU's.
///
/// # Errors
/// As [`emulate_elements`].
pub fn emulate_pairs<R: Exported, A: Words, B: Words>(
    reducer: R,
    (first, second): (&[A], &[B]),
    shape: &[usize],
    axes: Option<&[isize]>,
) -> Result<Emulated<R::Output>, Error> {
    emulated(reducer, |custom, stream| {
        let (first, second) = (Elements::upload(stream, first, shape)?, Elements::upload(stream, second, shape)?);
        custom.reduce_pairs(stream, first.view(), second.view(), axes)
    })
}

fn emulated<R: Exported>(
    reducer: R,
    reduce: impl FnOnce(&Custom<R>, &Stream) -> Result<Elements<R::Output>, Error>,
) -> Result<Emulated<R::Output>, Error> {
    let emulator = Emulator::of::<Own<R>>(1);
    let device = emulator.device();
    let run = || {
        let stream = Stream::new(&device)?;
        // SAFETY: the device runs the kernels of this very type.
        let custom = unsafe { Custom::of_device(&device, reducer) };
        reduce(&custom, &stream)?.download(&stream)
    };
    let results = run().map_err(|error| match error {
        Error::Cuda(error) => Error::Emulator { why: error.to_string() },
        other => other,
    })?;
    Ok(Emulated { results, launches: emulator.take_launches() })
}
