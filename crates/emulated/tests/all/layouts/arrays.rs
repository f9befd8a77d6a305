//! Random arrays, where they lie on an emulated GPU, and whether results have the same bits.

use warpfold_array::{Array, ArrayRef, Error, Values};
use warpfold_core::DType;
use warpfold_emulator::Emulator;
use warpfold_gpu::{ArrayView, Buffer, Stream};

/// xorshift64*.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as usize % n
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// An array in memory, at an offset and with gaps.
pub struct Strided {
    pub bytes: Vec<u8>,
    pub first: usize,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub strides: Vec<isize>,
}

impl Strided {
    /// Elements by `each`; `plain` layouts have no gaps and begin with a line.
    pub fn new(
        r: &mut Random,
        dtype: DType,
        shape: &[usize],
        plain: bool,
        mut each: impl FnMut(&mut Random) -> f64,
    ) -> Self {
        let size = dtype.size();
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if !plain && r.chance(25) {
            order.swap(0, shape.len() - 1);
        }
        let (mut strides, mut step) = (vec![0; shape.len()], size);
        for &axis in order.iter().rev() {
            strides[axis] = step as isize;
            step *= shape[axis].max(1);
            if !plain && r.chance(30) {
                step += size * r.below(4);
            }
        }
        let first = if plain { 0 } else { size * r.below(6) };
        let n = (first + step) / size;
        let values = Values::F64((0..n).map(|_| each(r)).collect()).cast(dtype);
        Self { bytes: values.as_bytes().to_vec(), first, dtype, shape: shape.to_vec(), strides }
    }

    pub fn host(&self) -> ArrayRef<'_> {
        let base = self.bytes[self.first..].as_ptr();
        // SAFETY: the strides reach no further than the bytes.
        unsafe { ArrayRef::from_raw(base, self.dtype, &self.shape, &self.strides) }.expect("a layout")
    }
}

/// The device, its stream, and a buffer of each array that is lent.
pub struct On {
    pub emulator: Emulator,
    pub stream: Stream,
}

impl On {
    pub fn upload(&self, array: &Strided) -> Buffer<u8> {
        Buffer::upload(&self.stream, &array.bytes).expect("room")
    }

    pub fn view<'a>(&self, buffer: &'a Buffer<u8>, array: &Strided) -> ArrayView<'a> {
        let (address, index) = (buffer.address() + array.first as u64, self.stream.device().properties().index);
        // SAFETY: an emulated device finds every access outside of its buffers.
        unsafe { ArrayView::from_raw(index, address, array.dtype, &array.shape, &array.strides) }.expect("a view")
    }
}

/// Elements of which some are NaN, infinite, zero of either sign or extreme, and some minus infinity.
pub fn element(r: &mut Random, spread: f64, wild: usize, nothing: usize) -> f64 {
    if r.chance(nothing) {
        return f64::NEG_INFINITY;
    }
    match r.chance(wild) {
        true => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-40, -6e4, 3e38][r.below(8)],
        false => (r.below(2_000_001) as f64 * 1e-6 - 1.0) * spread,
    }
}

pub fn floats(r: &mut Random, dtype: DType, shape: &[usize], plain: bool) -> Strided {
    let spread = [1.0, 20.0, 100.0, 3e4][r.below(4)];
    let (wild, nothing) = ([0, 0, 2, 30][r.below(4)], [0, 0, 0, 60][r.below(4)]);
    Strided::new(r, dtype, shape, plain, |r| element(r, spread, wild, nothing))
}

/// A shape, and the axes of its rows.
pub fn problem(r: &mut Random, dtype: DType) -> (Vec<usize>, Vec<isize>) {
    let line = 16 / dtype.size();
    let len = match r.below(10) {
        0 => 1 + r.below(2 * line),
        1 => line * (1 + r.below(40)),
        2 => 1 + r.below(128 * line),
        3 => [127, 128, 129][r.below(3)] * line - r.below(2),
        4 => 128 * line + r.below(400 * line),
        5 => 256 * line * (1 + r.below(3)) + [0, 0, 1, line - 1][r.below(4)],
        // Hidden sizes, and others of some quarters of a warp's chunk, of which warps have parts of two rows.
        6 => [128, 1536, 2880, 1280][r.below(4)],
        7 => 32 * line * (3 + r.below(12)) - [0, 0, 0, 1, line, 3 * line][r.below(6)],
        // More than a block holds, which it reads in turns.
        8 => (1 + r.below(3)) * 512 * line + [0, 1, line - 1, r.below(1024 * line)][r.below(4)],
        _ => r.below(4),
    };
    let rows = 1 + r.below([40, 8, 5][(len > 100) as usize + (len > 1000) as usize]);
    match r.below(6) {
        0 => (vec![len, rows], vec![0]),
        1 => (vec![2, rows.div_ceil(2), len], vec![-1]),
        2 => (vec![rows.div_ceil(2), 2, len.div_ceil(2), 2], vec![2, 3]),
        3 if len < 100 => (vec![2, len, rows.div_ceil(2), 2], vec![1, -1]),
        _ => (vec![rows, len], vec![1]),
    }
}

pub fn bits(array: &Array) -> &[u8] {
    array.values.as_bytes()
}

pub fn same(got: Result<warpfold_gpu::Array, Error>, want: Result<Array, Error>, on: &On, what: &str) {
    let (got, want) = (got.and_then(|array| array.download(&on.stream)), want.expect("the CPU has a result"));
    let got = got.unwrap_or_else(|why| panic!("{what}: {}", why.to_string().chars().take(3000).collect::<String>()));
    let differs = bits(&got).iter().zip(bits(&want)).position(|(got, want)| got != want);
    assert_eq!((got.dtype(), &got.shape), (want.dtype(), &want.shape), "{what}");
    if let Some(byte) = differs {
        let at = byte / got.dtype().size();
        let number = got.values.len().min(at + 4);
        let show = |array: &Array| (at..number).map(|i| format!("{:?}", array.values.get(i))).collect::<Vec<_>>();
        panic!("{what}: element {at}: {:?}, not {:?}", show(&got), show(&want));
    }
}
