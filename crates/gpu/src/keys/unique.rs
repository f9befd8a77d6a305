//! Distinct values of an array on a GPU.

use super::check;
use super::sorter::Sorter;
use crate::array::Array;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::launch::Ready;
use crate::plan::sort::{Carried, Problem, What};
use crate::reduce::layout::Layout;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::ArrayRef;
use warpfold_array::{CudaError, Error};
use warpfold_core::DType;
use warpfold_cpu::keys::Distinct;
use warpfold_kernels::sort::distinct::DistinctAt;
use warpfold_kernels::sort::heads::{CountsAt, HeadsAt};

/// What to find out about distinct values, beside themselves. Each costs memory and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// How often each occurs.
    pub counts: bool,
    /// Where each occurs first, in row-major order.
    pub first: bool,
    /// Which of them each element is.
    pub inverse: bool,
}

/// The distinct values of an array in a GPU's memory.
///
/// Their number is known when the GPU is done. Until [`Unique::trim`] the arrays have room for as many as there are
/// elements, and what lies beyond the distinct values is unspecified.
pub struct Unique {
    /// The distinct values, ascending; NaN is the last.
    pub values: Array,
    /// How often each occurs (i64), if asked for.
    pub counts: Option<Array>,
    /// Where each occurs first in row-major order (i64), if asked for.
    pub first: Option<Array>,
    /// The index in `values` of each element (i64), of the array's shape, if asked for.
    pub inverse: Option<Array>,
    found: Buffer<u32>,
}

impl Unique {
    /// The number of distinct values. Waits for all that is queued on the stream.
    ///
    /// # Errors
    /// If something went wrong on the device.
    pub fn len(&self, stream: &Stream) -> Result<usize, Error> {
        self.values.is_on(stream, "result")?;
        Ok(self.found.read(stream)?[0] as usize)
    }

    /// The same with arrays of as many elements as there are distinct values. The memory stays as it is. Waits for the
    /// stream.
    ///
    /// # Errors
    /// If something went wrong on the device.
    pub fn trim(self, stream: &Stream) -> Result<Unique, Error> {
        let len = self.len(stream)?;
        let first = |array: Array| array.first(len);
        Ok(Unique { values: first(self.values), counts: self.counts.map(first), first: self.first.map(first), ..self })
    }
}

/// A search for the distinct values of arrays of one dtype and shape, on one GPU: planned, its kernels loaded, its
/// memory allocated.
///
/// A run queues kernels and waits for nothing. It has memory of its own for what is under way: use it on one stream at
/// a time.
pub struct Finder {
    device: Device,
    layout: Layout,
    dtype: DType,
    shape: Vec<usize>,
    wanted: Wanted,
    sorter: Sorter,
    way: Way,
    /// Where each value begins among the sorted ones, or each bucket.
    starts: Buffer<u32>,
}

/// What finds values when elements are in order.
enum Way {
    /// Marks the first of each run of equal elements, and then counts each run.
    Heads(Option<Ready<HeadsAt>>, Ready<CountsAt>),
    /// A bit for each value: launches, and the bits of large buckets.
    Bits([Ready<DistinctAt>; 3], Buffer<u32>),
}

/// Elements of 4 bytes from which on a bit for each value is faster than passes by low bits, if nothing but values is
/// wanted. Of smaller ones it always is.
const MANY: usize = 1 << 25;

impl Finder {
    /// Plans searches in arrays like this one, of any dtype and shape, whose elements lie side by side in C order.
    ///
    /// # Errors
    /// [`CudaError::Keys`] of other layouts; [`warpfold_array::KeyError::TooMany`] from 2^30 elements on; what the
    /// driver says.
    pub fn new(device: &Device, array: &ArrayView<'_>, wanted: Wanted) -> Result<Finder, Error> {
        let (size, n) = (array.dtype().size(), array.shape().iter().product::<usize>());
        let least = if size == 4 { MANY } else { 1 };
        let by_bits = wanted == Wanted::default() && size <= 4 && n >= least;
        Finder::planned(device, array, wanted, by_bits)
    }

    /// A search for values alone, by a bit for each value, of fewer elements than [`Finder::new`] takes it for. For
    /// tests.
    ///
    /// # Errors
    /// As [`Finder::new`]; [`CudaError::Keys`] of elements that have no such search: none, or elements of 8 bytes.
    #[doc(hidden)]
    pub fn by_bits(device: &Device, array: &ArrayView<'_>) -> Result<Finder, Error> {
        if array.dtype().size() > 4 || array.shape().contains(&0) {
            let why = format!("no search by bits of {} {:?}", array.dtype(), array.shape());
            return Err(CudaError::Keys { why }.into());
        }
        Finder::planned(device, array, Wanted::default(), true)
    }

    fn planned(device: &Device, array: &ArrayView<'_>, wanted: Wanted, by_bits: bool) -> Result<Finder, Error> {
        check("elements", array)?;
        let (dtype, shape) = (array.dtype(), array.shape().to_vec());
        let n = shape.iter().product();
        let carried = if wanted.first || wanted.inverse { Carried::Positions } else { Carried::Nothing };
        let multiprocessors = device.multiprocessors();
        let what = if by_bits { What::Buckets } else { What::Values };
        let problem = Problem { dtype, n, what, carried, multiprocessors };
        let starts = match by_bits {
            true => problem.buckets() + 1,
            false if wanted.counts => n + 1,
            false => 0,
        };
        let way = if by_bits {
            let [starts, flood, values] = problem.distinct();
            let launches = [device.ready(&starts)?, device.ready(&flood)?, device.ready(&values)?];
            Way::Bits(launches, Buffer::new(device, problem.bits_words())?)
        } else {
            let heads = problem.heads().map(|launch| device.ready(&launch)).transpose()?;
            Way::Heads(heads, device.ready(&problem.counts())?)
        };
        Ok(Finder {
            device: device.clone(),
            layout: Layout::of(array.layout()),
            dtype,
            shape,
            wanted,
            way,
            starts: Buffer::new(device, starts)?,
            sorter: Sorter::new(device, problem)?,
        })
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        let after: Vec<&str> = match &self.way {
            Way::Heads(heads, counts) => {
                let counts = self.wanted.counts.then(|| counts.entry());
                heads.iter().map(Ready::entry).chain(counts).collect()
            }
            Way::Bits(launches, _) => launches.iter().map(Ready::entry).collect(),
        };
        self.sorter.kernels().chain(after).collect()
    }

    /// Room for what a run finds.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<Unique, Error> {
        let n = self.sorter.problem.n;
        let room =
            |wanted: bool, shape: &[usize]| wanted.then(|| Array::new(&self.device, DType::I64, shape)).transpose();
        Ok(Unique {
            values: Array::new(&self.device, self.dtype, &[n])?,
            counts: room(self.wanted.counts, &[n])?,
            first: room(self.wanted.first, &[n])?,
            inverse: room(self.wanted.inverse, &self.shape)?,
            found: Buffer::new(&self.device, 1)?,
        })
    }

    /// Queues one run. What it finds is in `out` when the stream gets there; `out` must not be in use by another
    /// stream.
    ///
    /// # Errors
    /// If the array, the stream or the room is not like that which this was prepared for, or the driver refuses.
    pub fn run(&mut self, stream: &Stream, array: ArrayView<'_>, out: &mut Unique) -> Result<(), Error> {
        stream.is_one_of(&self.device)?;
        array.is_on(stream, "array")?;
        self.layout.check("array", &array)?;
        let n = self.sorter.problem.n;
        out.values.expect("room for values", self.dtype, &[n])?;
        let lists = [(&out.counts, self.wanted.counts, &[n][..]), (&out.first, self.wanted.first, &[n])];
        for (room, wanted, shape) in lists.into_iter().chain([(&out.inverse, self.wanted.inverse, &self.shape[..])]) {
            match room {
                Some(room) if wanted => room.expect("room", DType::I64, shape)?,
                None if !wanted => {}
                _ => {
                    let of = |there: bool| if there { "there" } else { "absent" }.to_owned();
                    let (found, expected) = (of(room.is_some()), of(wanted));
                    return Err(CudaError::Layout { what: "room for counts, first or inverse", found, expected }.into());
                }
            }
        }
        for room in [Some(&out.values), out.counts.as_ref(), out.first.as_ref(), out.inverse.as_ref()] {
            room.map_or(Ok(()), |room| room.is_on(stream, "output"))?;
        }
        let at = |room: &Option<Array>| room.as_ref().map_or(0, Array::address);
        // SAFETY: the array and the rooms are like those that were planned for, as was just seen, and borrowed or kept
        // until the device is done with them; the rest is this value's.
        unsafe { self.sorter.queue(stream, array.address(), 0) }?;
        let (keys, carried, state) = (self.sorter.keys_at(), self.sorter.carried_at(), self.sorter.state_at());
        let (input, starts, values) = (array.address(), self.starts.address(), out.values.address());
        match &mut self.way {
            Way::Heads(None, _) => {}
            Way::Heads(Some(heads), counts) => {
                let (first, inverse) = (at(&out.first), at(&out.inverse));
                // SAFETY: the array and the rooms are as planned, by the checks above; the sorter's buffers and the
                // starts have the lengths of the plan. All stay until the device is done with them.
                unsafe {
                    heads.queue(stream, HeadsAt { input, keys, carried, state, values, starts, first, inverse })?;
                    if self.wanted.counts {
                        counts.queue(stream, CountsAt { starts, counts: at(&out.counts), state })?;
                    }
                }
            }
            Way::Bits(launches, bits) => {
                bits.fill(stream, 0)?;
                let at = DistinctAt { input, keys, state, starts, bits: bits.address(), values };
                for launch in launches {
                    // SAFETY: the array and the values are as planned, by the checks above; the sorter's buffers, the
                    // starts and the bits have the lengths of the plan. All stay until the device is done with them.
                    unsafe { launch.queue(stream, at) }?;
                }
            }
        }
        self.sorter.copy_found(stream, &mut out.found)?;
        Ok(())
    }
}

/// The distinct values of an array of any dtype and shape on a GPU, as [`warpfold_cpu::keys::unique`] finds them. Waits
/// for their number.
///
/// For many searches of one kind, [`Finder`] plans and allocates once.
///
/// # Errors
/// As [`Finder::new`].
pub fn unique(array: ArrayView<'_>, wanted: Wanted, stream: &Stream) -> Result<Unique, Error> {
    let mut finder = Finder::new(&stream.device(), &array, wanted)?;
    let mut out = finder.output()?;
    finder.run(stream, array, &mut out)?;
    out.trim(stream)
}

/// The distinct values of a host array, found on a GPU, as [`warpfold_cpu::keys::unique`] finds them.
///
/// # Errors
/// [`warpfold_array::KeyError::TooMany`] from 2^30 elements on; what the driver says.
pub fn unique_host(array: ArrayRef<'_>, what: Distinct, device: &Device) -> Result<warpfold_cpu::keys::Unique, Error> {
    let stream = Stream::new(device)?;
    let on_device = Array::upload(&stream, array)?;
    let wanted = Wanted { counts: true, first: what.first, inverse: what.inverse };
    let found = unique(on_device.view(), wanted, &stream)?;
    let list = |array: &Array| Ok::<_, Error>(array.download(&stream)?.into_vec::<i64>().unwrap_or_default());
    Ok(warpfold_cpu::keys::Unique {
        values: found.values.download(&stream)?,
        counts: found.counts.as_ref().map(list).transpose()?.unwrap_or_default(),
        first: found.first.as_ref().map(list).transpose()?,
        inverse: found.inverse.map(|inverse| inverse.download(&stream)).transpose()?,
    })
}
