//! Emulated global memory: named buffers that check every access.
//!
//! A device address is a number, `buffer << 40 | middle + offset`; it is never dereferenced. The gap around each
//! buffer is so wide that no plausible index reaches a neighbour.

use super::race::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use warpfold_simt::{Global, Pod};

const WINDOW: u32 = 40;
const MIDDLE: u64 = 1 << (WINDOW - 1);
/// Bytes under one lock; a multiple of every access size, so that no aligned access straddles two.
const SHARD: usize = 4096;

/// All buffers of a device.
#[derive(Default)]
pub struct Memory {
    buffers: Vec<Buffer>,
    launches: AtomicU32,
}

pub(super) struct Buffer {
    pub(super) name: String,
    pub(super) length: u64,
    pub(super) element: u32,
    shards: Vec<Mutex<Shard>>,
}

/// A stretch of a buffer's bytes.
struct Shard {
    data: Vec<u8>,
    /// One for each `grain` bytes. No access so far was narrower, or began or ended within a grain.
    cells: Vec<Cell>,
    grain: usize,
}

/// Bytes of the widest access, and of a cell at first.
const WIDEST: usize = 16;

impl Shard {
    /// So many bytes, of elements of so many.
    fn new(bytes: usize, element: usize) -> Shard {
        let grain = if element == 1 { WIDEST } else { element };
        let cells = std::iter::repeat_with(Cell::default).take(bytes.div_ceil(grain)).collect();
        Shard { data: vec![0; bytes], cells, grain }
    }

    /// The bytes and cells of an aligned access of elements of so many bytes.
    fn access(&mut self, at: usize, size: usize, element: usize) -> (&mut [u8], &mut [Cell]) {
        self.refine(size.max(element));
        let grain = self.grain;
        (&mut self.data[at..at + size], &mut self.cells[at / grain..(at + size).div_ceil(grain)])
    }

    /// Says that the host has written these bytes.
    fn mark(&mut self, at: usize, size: usize, element: usize) {
        let (end, len, mut grain) = (at + size, self.data.len(), self.grain);
        while grain > element && !(at.is_multiple_of(grain) && (end.is_multiple_of(grain) || end == len)) {
            grain /= 2;
        }
        self.refine(grain);
        self.cells[at / grain..end.div_ceil(grain)].iter_mut().for_each(|cell| cell.written = true);
    }

    /// Splits cells that have more bytes than this. What was done to a cell was done to all of its bytes.
    fn refine(&mut self, grain: usize) {
        if grain < self.grain {
            let each = self.grain / grain;
            let split = self.cells.iter().flat_map(|cell| std::iter::repeat_n(cell, each));
            self.cells = split.take(self.data.len().div_ceil(grain)).cloned().collect();
            self.grain = grain;
        }
    }
}

impl Memory {
    /// An empty device.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// A buffer that holds nothing: to read it before writing it is a fault.
    pub fn alloc<T: Pod>(&mut self, name: &str, count: usize) -> Global<T> {
        let (element, bytes) = (size_of::<T>(), count * size_of::<T>());
        let shard = |i: usize| Mutex::new(Shard::new(SHARD.min(bytes - i * SHARD), element));
        let shards = (0..bytes.div_ceil(SHARD)).map(shard).collect();
        self.buffers.push(Buffer { name: name.to_owned(), length: bytes as u64, element: element as u32, shards });
        let address = (self.buffers.len() as u64) << WINDOW | MIDDLE;
        // SAFETY: the emulator looks addresses up and never dereferences them.
        unsafe { Global::from_raw(core::ptr::without_provenance_mut(address as usize)) }
    }

    /// A buffer that holds `data`.
    pub fn upload<T: Pod>(&mut self, name: &str, data: &[T]) -> Global<T> {
        let array = self.alloc(name, data.len());
        self.write(array, data);
        array
    }

    /// Copies from the host, as between launches.
    ///
    /// # Panics
    /// If `data` does not fit.
    pub fn write<T: Pod>(&mut self, array: Global<T>, data: &[T]) {
        let size = size_of::<T>();
        let (buffer, offset) = self.range(array, data.len());
        for (i, value) in data.iter().enumerate() {
            let at = offset + i * size;
            let mut shard = buffer.shards[at / SHARD].lock().expect("no holder panics");
            shard.data[at % SHARD..][..size].copy_from_slice(&value.to_bits().to_le_bytes()[..size]);
            shard.mark(at % SHARD, size, buffer.element as usize);
        }
    }

    /// Copies `count` elements to the host; those that nothing has written read as zero bits.
    ///
    /// # Panics
    /// If the buffer is shorter.
    pub fn read<T: Pod>(&self, array: Global<T>, count: usize) -> Vec<T> {
        let size = size_of::<T>();
        let (buffer, offset) = self.range(array, count);
        (0..count)
            .map(|i| {
                let at = offset + i * size;
                let shard = buffer.shards[at / SHARD].lock().expect("no holder panics");
                let mut bits = [0u8; 16];
                bits[..size].copy_from_slice(&shard.data[at % SHARD..][..size]);
                T::from_bits(u128::from_le_bytes(bits))
            })
            .collect()
    }

    /// Forgets a buffer: its address is one of no array from then on.
    pub fn free(&mut self, address: u64) {
        let index = (address >> WINDOW) as usize;
        if let Some(buffer) = self.buffers.get_mut(index.wrapping_sub(1)) {
            *buffer = Buffer { name: format!("{} (freed)", buffer.name), length: 0, element: 1, shards: Vec::new() };
        }
    }

    /// Copies bytes from the host, as between launches.
    ///
    /// # Errors
    /// If they are not all within one buffer.
    pub fn write_bytes(&mut self, to: u64, bytes: &[u8]) -> Result<(), String> {
        self.each_shard(to, bytes.len(), |shard, at, done, n| {
            shard.data[at..at + n].copy_from_slice(&bytes[done..done + n]);
        })
    }

    /// Copies bytes to the host; those that nothing has written read as zero.
    ///
    /// # Errors
    /// If they are not all within one buffer.
    pub fn read_bytes(&self, from: u64, bytes: usize) -> Result<Vec<u8>, String> {
        let (buffer, offset) = self.within(from, bytes)?;
        let mut data = Vec::with_capacity(bytes);
        while data.len() < bytes {
            let at = offset + data.len();
            let n = (SHARD - at % SHARD).min(bytes - data.len());
            let shard = buffer.shards[at / SHARD].lock().expect("no holder panics");
            data.extend_from_slice(&shard.data[at % SHARD..][..n]);
        }
        Ok(data)
    }

    /// Sets bytes, as between launches.
    ///
    /// # Errors
    /// If they are not all within one buffer.
    pub fn fill(&mut self, to: u64, byte: u8, bytes: usize) -> Result<(), String> {
        self.each_shard(to, bytes, |shard, at, _, n| shard.data[at..at + n].fill(byte))
    }

    /// Copies bytes within the device, as between launches.
    ///
    /// # Errors
    /// If they are not all within one buffer, at either end.
    pub fn copy(&mut self, to: u64, from: u64, bytes: usize) -> Result<(), String> {
        let data = self.read_bytes(from, bytes)?;
        self.write_bytes(to, &data)
    }

    /// Runs `f` on each stretch of bytes, with its place in the shard, how many came before it and how many it has;
    /// these are written then.
    fn each_shard(
        &mut self,
        to: u64,
        bytes: usize,
        mut f: impl FnMut(&mut Shard, usize, usize, usize),
    ) -> Result<(), String> {
        let (buffer, offset) = self.within(to, bytes)?;
        let element = buffer.element as usize;
        let mut done = 0;
        while done < bytes {
            let at = offset + done;
            let n = (SHARD - at % SHARD).min(bytes - done);
            let mut shard = buffer.shards[at / SHARD].lock().expect("no holder panics");
            f(&mut shard, at % SHARD, done, n);
            shard.mark(at % SHARD, n, element);
            done += n;
        }
        Ok(())
    }

    /// The buffer that has all of these bytes, and their offset in it.
    fn within(&self, address: u64, bytes: usize) -> Result<(&Buffer, usize), String> {
        let (buffer, offset) =
            self.find(address).ok_or_else(|| format!("{address:#x} is no address of this device"))?;
        if offset < 0 || offset as u64 + bytes as u64 > buffer.length {
            return Err(format!("{bytes} bytes at {offset} do not fit `{}` of {} bytes", buffer.name, buffer.length));
        }
        Ok((buffer, offset as usize))
    }

    fn range<T: Pod>(&self, array: Global<T>, count: usize) -> (&Buffer, usize) {
        let (buffer, offset) = self.find(array.as_ptr().addr() as u64).expect("an address of this device");
        assert!(
            offset >= 0 && offset as u64 + (count * size_of::<T>()) as u64 <= buffer.length,
            "{count} elements do not fit `{}`",
            buffer.name
        );
        (buffer, offset as usize)
    }

    /// The buffer around an address, and the offset in it, which may lie outside.
    pub(super) fn find(&self, address: u64) -> Option<(&Buffer, i64)> {
        let index = (address >> WINDOW) as usize;
        let buffer = self.buffers.get(index.wrapping_sub(1))?;
        Some((buffer, (address & ((1 << WINDOW) - 1)) as i64 - MIDDLE as i64))
    }

    /// What is at an address, if it is one of an element.
    pub(super) fn look<T: Pod>(&self, address: u64) -> Option<T> {
        let (buffer, offset) = self.find(address)?;
        let size = size_of::<T>();
        let sound = address.is_multiple_of(size as u64) && buffer.contains(offset, size as u32);
        sound.then(|| {
            buffer.with(offset as usize, size, |bytes, _| {
                let mut bits = [0u8; 16];
                bits[..size].copy_from_slice(bytes);
                T::from_bits(u128::from_le_bytes(bits))
            })
        })
    }

    /// A number that no earlier launch on this device has.
    pub(super) fn next_launch(&self) -> u32 {
        self.launches.fetch_add(1, Ordering::Relaxed)
    }
}

impl Buffer {
    /// Whether `size` bytes at `offset` are inside.
    pub(super) fn contains(&self, offset: i64, size: u32) -> bool {
        offset >= 0 && offset as u64 + u64::from(size) <= self.length
    }

    /// Runs `f` on the bytes and cells of an aligned access that is inside.
    pub(super) fn with<R>(&self, offset: usize, size: usize, f: impl FnOnce(&mut [u8], &mut [Cell]) -> R) -> R {
        let mut shard = self.shards[offset / SHARD].lock().expect("no holder panics");
        let (bytes, cells) = shard.access(offset % SHARD, size, self.element as usize);
        f(bytes, cells)
    }
}
