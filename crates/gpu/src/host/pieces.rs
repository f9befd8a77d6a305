//! Host arrays reduced on a GPU: whole if they fit, else in pieces through pinned memory.

use crate::array::{Array, values};
use crate::buffer::{Buffer, Pinned};
use crate::device::Device;
use crate::event::Event;
use crate::host::cut::{Leaf, Piece, cut};
use crate::host::gather::{Gather, Placement};
use crate::host::transfer::Resident;
use crate::options::Options;
use crate::origin::Origin;
use crate::plan::{Chunk, GpuPlan};
use crate::reduce::reduction::{Reduction, may_have_holes};
use crate::scratch::{StatusTo, queue_status};
use crate::stream::Stream;
use crate::view::ArrayView;
use std::sync::Arc;
use warpfold_array::ArrayRef;
use warpfold_array::request::Request;
use warpfold_array::{CudaError, Error, Op};
use warpfold_kernels::reduce::call::CallAt;

/// Bytes of a piece: its copy takes a millisecond or two, beside which the few driver calls for it are nothing.
pub const PIECE: usize = 64 << 20;

/// Pieces under way at a time: one is gathered, one copied, one reduced.
const SLOTS: usize = 3;

/// What an array may take of the memory that is free, in eighths: the rest is for results, workspaces and others.
const SHARE: u64 = 6;

/// Reduces a host array on a GPU, and waits for the result. An array that does not fit into the GPU's memory goes there
/// in pieces. The bits are those of [`warpfold_cpu::reduce`].
///
/// Of the options it ignores `threads`.
///
/// # Errors
/// As [`warpfold_cpu::reduce`], or what the driver says.
pub fn reduce_host(
    op: Op,
    array: ArrayRef<'_>,
    options: &warpfold_array::Options<'_>,
    device: &Device,
) -> Result<warpfold_array::Array, Error> {
    let request = Request::new(op, &array, options)?;
    if request.problem.count == 0 || request.problem.outputs == 0 {
        return warpfold_cpu::reduce(op, array, options);
    }
    let placed = |array: &ArrayRef<'_>| Gather::placed(array, &Placement::of(array)).bytes() as u64;
    let needed = placed(&array) + options.mask.as_ref().map_or(0, placed);
    if needed / SHARE * 8 > device.memory()?.0 {
        return stream_host(op, array, options, device, PIECE);
    }
    let stream = Stream::new(device)?;
    let input = Resident::upload(&stream, &array, options.progress)?;
    let mask = options.mask.as_ref().map(|mask| Resident::upload(&stream, mask, None)).transpose()?;
    let mask = match (&mask, &options.mask) {
        (Some(resident), Some(mask)) => Some(resident.view(mask)?),
        _ => None,
    };
    let input = input.view(&array)?;
    let options = Options::of(options, mask);
    Reduction::new(device, op, &input, &options)?.run_to_host(&stream, input, mask)
}

/// The statistics of a host array that fits into the GPU's memory, with the bits of [`warpfold_cpu::describe`].
///
/// # Errors
/// As [`warpfold_cpu::describe`], or what the driver says.
pub fn describe_host(
    array: ArrayRef<'_>,
    options: &warpfold_array::Options<'_>,
    device: &Device,
) -> Result<warpfold_cpu::Description, Error> {
    warpfold_cpu::check_describe(array.dtype(), options)?;
    if array.is_empty() {
        return warpfold_cpu::describe(array, options);
    }
    let stream = Stream::new(device)?;
    let resident = Resident::upload(&stream, &array, options.progress)?;
    crate::reduce::describe::describe(resident.view(&array)?, &Options::of(options, None), &stream)
}

/// Reduces a host array on a GPU in pieces of at most `piece` bytes, so that any array does: cut along kept axes if
/// there are many outputs, and along the reduced ones if there are few. Copies and kernels overlap.
///
/// # Errors
/// As [`reduce_host`]; [`CudaError::TooLarge`] if there is a piece that cannot be cut further.
pub fn stream_host(
    op: Op,
    array: ArrayRef<'_>,
    options: &warpfold_array::Options<'_>,
    device: &Device,
    piece: usize,
) -> Result<warpfold_array::Array, Error> {
    let request = Request::new(op, &array, options)?;
    if request.problem.count == 0 || request.problem.outputs == 0 {
        return warpfold_cpu::reduce(op, array, options);
    }
    let (spec, axes, dtype, shape) = (request.spec, request.axes.clone(), request.spec.result(), request.shape());
    let chunked = |problem: &_| GpuPlan::chunked(&spec, problem, &device.limits(), piece);
    let mut pieces = Vec::new();
    let whole = Piece { array, mask: options.mask, at: vec![0; array.shape().len()] };
    cut(whole, &axes, piece, &chunked, &mut pieces)?;
    let kept = (0..array.shape().len()).filter(|a| !axes.contains(a)).collect::<Vec<_>>();
    let unit = if op == Op::MinMax { 2 } else { 1 } * dtype.size();
    let kept_shape: Vec<usize> = kept.iter().map(|&a| array.shape()[a]).collect();
    let mut run = Run {
        op,
        device,
        options,
        kept,
        result: Scatter { bytes: vec![0; shape.iter().product::<usize>() * dtype.size()], shape: kept_shape, unit },
        reductions: Vec::new(),
        slots: Vec::new(),
        hole: None,
    };
    for _ in 0..SLOTS {
        run.slots.push(Slot::new(device, piece)?);
    }
    for (turn, (piece, leaf)) in pieces.iter().enumerate() {
        match leaf {
            Leaf::Whole => run.piece(turn % SLOTS, piece)?,
            Leaf::Chunked { chunks, needed } if chunks.is_empty() => {
                let why = "its reduced axes cannot be cut for these options; compute on `cpu`";
                let (dtype, shape, index) = (array.dtype(), array.shape().to_vec(), device.properties().index);
                return Err(CudaError::TooLarge { op, dtype, shape, axes, index, needed: *needed, why }.into());
            }
            Leaf::Chunked { chunks, .. } => run.chunks(piece, chunks, &axes)?,
        }
        if let Some(progress) = options.progress {
            progress(piece.array.bytes() as u64);
        }
    }
    for turn in 0..SLOTS {
        run.collect((pieces.len() + turn) % SLOTS)?;
    }
    match run.hole {
        Some(Hole { is_empty }) => {
            let hole = if is_empty { warpfold_array::Hole::Empty } else { warpfold_array::Hole::AllNan };
            Err(warpfold_array::request::hole_error(hole, op, array.dtype(), array.shape(), &axes))
        }
        None => Ok(warpfold_array::Array { shape, values: values(dtype, &run.result.bytes) }),
    }
}

/// An output without a value was found.
struct Hole {
    is_empty: bool,
}

struct Run<'a> {
    op: Op,
    device: &'a Device,
    options: &'a warpfold_array::Options<'a>,
    kept: Vec<usize>,
    result: Scatter,
    /// One for each layout that pieces have: two or three.
    reductions: Vec<Reduction>,
    slots: Vec<Slot>,
    hole: Option<Hole>,
}

/// A piece on its way.
struct Slot {
    stream: Stream,
    input: Lane,
    mask: Option<Lane>,
    done: Event,
    /// What will be in which part of the result.
    pending: Option<(Array, Vec<usize>)>,
    /// Room for the next. Freeing it instead would wait for all slots.
    spare: Option<Array>,
}

/// Pinned memory, and as much of the device's.
struct Lane {
    pinned: Pinned<u8>,
    device: Buffer<u8>,
}

impl Slot {
    fn new(device: &Device, bytes: usize) -> Result<Slot, CudaError> {
        let (stream, input, done) = (Stream::new(device)?, Lane::new(device, bytes)?, Event::new(device)?);
        Ok(Slot { stream, input, mask: None, done, pending: None, spare: None })
    }
}

impl Lane {
    fn new(device: &Device, bytes: usize) -> Result<Lane, CudaError> {
        Ok(Lane { pinned: Pinned::new(device, bytes)?, device: Buffer::new(device, bytes)? })
    }

    /// Gathers, and queues the copy. The copy before has been waited for.
    fn send(&mut self, stream: &Stream, gather: &Gather<'_>, from: usize, bytes: usize) -> Result<(), CudaError> {
        let chunk = &mut self.pinned.slice_mut()[..bytes];
        gather.copy(from, chunk);
        // SAFETY: the lane has room for the piece at both ends; it is sent again, or dropped, only after the stream has
        // been waited for.
        unsafe { stream.copy_in(self.device.address(), chunk) }
    }

    /// A whole array.
    fn send_all(&mut self, stream: &Stream, array: &ArrayRef<'_>) -> Result<ArrayView<'_>, Error> {
        let placement = Placement::of(array);
        let gather = Gather::placed(array, &placement);
        self.send(stream, &gather, 0, gather.bytes())?;
        let strides = &placement.strides[..array.shape().len()];
        let (index, address) = (self.device.device_index(), self.device.address() + placement.first as u64);
        // SAFETY: the strides reach what was gathered; the lane's memory stays until the stream is done with it.
        unsafe { ArrayView::from_raw(index, address, array.dtype(), array.shape(), strides) }
    }
}

impl Run<'_> {
    /// Sends a piece that fits, and queues its reduction.
    fn piece(&mut self, turn: usize, piece: &Piece<'_>) -> Result<(), Error> {
        self.collect(turn)?;
        let Slot { stream, input, mask, pending, spare, .. } = &mut self.slots[turn];
        let input = input.send_all(stream, &piece.array)?;
        let mask = match &piece.mask {
            None => None,
            Some(array) => {
                let needed = array.len().max(1);
                if mask.as_ref().is_none_or(|lane| lane.pinned.len() < needed) {
                    *mask = Some(Lane::new(self.device, needed)?);
                }
                mask.as_mut().map(|lane| lane.send_all(stream, array)).transpose()?
            }
        };
        let known = self.reductions.iter().position(|r| r.suits(&input, mask.as_ref()));
        let known = match known {
            Some(known) => known,
            None => {
                let options = Options { keepdims: false, ..Options::of(self.options, mask) };
                self.reductions.push(Reduction::new(self.device, self.op, &input, &options)?);
                self.reductions.len() - 1
            }
        };
        let reduction = &self.reductions[known];
        let mut out = match spare.take() {
            Some(out) if out.shape() == reduction.shape() => out,
            _ => reduction.output()?,
        };
        reduction.run(stream, input, mask, &mut out)?;
        *pending = Some((out, self.kept.iter().map(|&axis| piece.at[axis]).collect()));
        Ok(())
    }

    /// Sends a piece that does not fit, in chunks along its reduced axes, with kernels that go on where they were.
    fn chunks(&mut self, piece: &Piece<'_>, chunks: &[Chunk], axes: &[usize]) -> Result<(), Error> {
        for turn in 0..SLOTS {
            self.collect(turn)?;
        }
        let device = self.device;
        let placement = Placement::of(&piece.array);
        let gather = Gather::placed(&piece.array, &placement);
        let options = warpfold_array::Options { keepdims: false, mask: piece.mask, ..self.options.clone() };
        let request = Request::new(self.op, &piece.array, &options)?;
        let (spec, problem) = (request.spec, &request.problem);
        let home = Stream::new(device)?;
        let mask = piece.mask.as_ref().map(|mask| Resident::upload(&home, mask, None)).transpose()?;
        let mask = match (&mask, &piece.mask) {
            (Some(resident), Some(mask)) => {
                resident.view(mask)?.address().wrapping_add_signed(problem.mask_offset as i64)
            }
            _ => 0,
        };
        let mut out = Array::new(device, spec.result(), &request.shape())?;
        let pair = if self.op == Op::MinMax { 2 } else { 1 };
        let to = problem.out_offset * pair * spec.result().size() as isize;
        let to = out.address().wrapping_add_signed(to as i64);
        let mut scratch = home.scratch();
        let workspace = scratch.workspace(&home, chunks.iter().map(|c| c.workspace).max().unwrap_or_default())?;
        let mut last = None;
        for (turn, chunk) in (0..SLOTS).cycle().zip(chunks) {
            let launches = device.all_ready(&chunk.launches)?;
            let Slot { stream, input, done, .. } = &mut self.slots[turn];
            done.synchronize()?;
            input.send(stream, &gather, chunk.start, chunk.len)?;
            let Slot { stream, input, done, .. } = &self.slots[turn];
            if let Some(before) = last {
                let before: &Slot = &self.slots[before];
                stream.wait(&before.done)?;
            }
            for launch in launches {
                let at = CallAt { input: input.device.address(), mask, output: to, workspace };
                // SAFETY: the plan is for this problem and this part of its input, which the lane holds; the chunk
                // before has been waited for, so the workspace is this one's; all stay until `home` and the slots have
                // been waited for.
                unsafe { launch.queue(stream, at) }?;
            }
            stream.record(done)?;
            last = Some(turn);
        }
        if let Some(last) = last {
            home.wait(&self.slots[last].done)?;
        }
        if may_have_holes(&spec) {
            let (shape, axes) = (piece.array.shape().to_vec(), axes.to_vec());
            // SAFETY: the output has a tail for the status; the kernels have been waited for.
            unsafe { queue_status(&home, workspace, StatusTo::Device(out.status_address())) }?;
            out.set_origin(Some(Arc::new(Origin {
                op: self.op,
                name: self.op.name(),
                dtype: spec.input,
                shape,
                axes,
                parts: None,
                groups: None,
            })));
        }
        drop(scratch);
        let at: Vec<usize> = self.kept.iter().map(|&axis| piece.at[axis]).collect();
        let said = out.download(&home);
        self.put(said, &at)
    }

    /// Waits for what is under way in a slot, and puts it into its place.
    fn collect(&mut self, turn: usize) -> Result<(), Error> {
        let slot = &mut self.slots[turn];
        let Some((out, at)) = slot.pending.take() else { return Ok(()) };
        let said = out.download(&slot.stream);
        slot.spare = Some(out);
        self.put(said, &at)
    }

    fn put(&mut self, said: Result<warpfold_array::Array, Error>, at: &[usize]) -> Result<(), Error> {
        match said {
            Ok(part) => {
                let shape = &part.shape[..at.len()];
                self.result.put(part.values.as_bytes(), shape, at);
            }
            // The others are still of interest: nothing at all goes before nothing but NaN.
            Err(Error::Empty { .. }) => self.hole = Some(Hole { is_empty: true }),
            Err(Error::AllNan { .. }) => {
                self.hole.get_or_insert(Hole { is_empty: false });
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }
}

/// A result that comes in boxes.
struct Scatter {
    bytes: Vec<u8>,
    /// Of the kept axes.
    shape: Vec<usize>,
    /// Bytes per output.
    unit: usize,
}

impl Scatter {
    /// Puts a box, dense in C order, at the place of its first output.
    fn put(&mut self, part: &[u8], shape: &[usize], at: &[usize]) {
        let run = shape.last().map_or(1, |&n| n) * self.unit;
        for (row, bytes) in part.chunks_exact(run.max(1)).enumerate() {
            let (mut rest, mut to, mut step) = (row, 0, 1);
            for axis in (0..shape.len()).rev() {
                let is_last = axis + 1 == shape.len();
                let i = if is_last { 0 } else { rest % shape[axis] };
                if !is_last {
                    rest /= shape[axis];
                }
                to += (at[axis] + i) * step;
                step *= self.shape[axis];
            }
            self.bytes[to * self.unit..][..run].copy_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scatter;

    #[test]
    fn boxes_go_to_their_places() {
        let mut whole = Scatter { bytes: vec![0; 24], shape: vec![2, 3, 4], unit: 1 };
        let all: Vec<u8> = (1..=24).collect();
        // Two boxes of (2, 3, 2).
        for half in 0..2 {
            let part: Vec<u8> = all.iter().copied().filter(|v| (v - 1) % 4 / 2 == half).collect();
            whole.put(&part, &[2, 3, 2], &[0, 0, 2 * half as usize]);
        }
        assert_eq!(whole.bytes, all);
        let mut one = Scatter { bytes: vec![0; 4], shape: vec![], unit: 4 };
        one.put(&[1, 2, 3, 4], &[], &[]);
        assert_eq!(one.bytes, [1, 2, 3, 4]);
    }
}
