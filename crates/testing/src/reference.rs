//! An array made to be hard, and what the reference tree makes of it.

use half::{bf16, f16};
use warpfold::core::ops::{Compensated, Deviation, LogSumExp, Magnitude, Plain, Product, Square, Sum, Value as Itself};
use warpfold::core::{Cast, Element, Float, Live, Reducer, tree};
use warpfold::{ArrayRef, DType, Op, Options, Ord, Precision, Scalar, Value};

/// xorshift64*: random enough for data, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// An element; `wild` says how often NaN, infinities, zeros of both signs and extremes turn up.
pub fn element(r: &mut Random, dtype: DType, wild: usize) -> Scalar {
    scaled(r, dtype, wild, 11.0)
}

/// The same, where numbers are at most `most`. If that is small, the exponential of none outweighs another's.
pub fn scaled(r: &mut Random, dtype: DType, wild: usize, most: f64) -> Scalar {
    fn cast<T: Value>(x: Cast) -> Scalar {
        T::from_cast(x).scalar()
    }
    if dtype.is_float() {
        let x = if r.chance(wild) {
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-40, -6e4][r.below(7)]
        } else {
            (r.below(2_000_001) as f64 - 1e6) * 1e-6 * most
        };
        match dtype {
            DType::F16 => cast::<f16>(Cast::Float(x)),
            DType::BF16 => cast::<bf16>(Cast::Float(x)),
            DType::F32 => cast::<f32>(Cast::Float(x)),
            _ => cast::<f64>(Cast::Float(x)),
        }
    } else {
        let x = Cast::Unsigned(if r.chance(30) { r.next() } else { r.next() % 5 });
        match dtype {
            DType::Bool => cast::<bool>(Cast::Unsigned(r.next() & 1)),
            DType::I8 => cast::<i8>(x),
            DType::I16 => cast::<i16>(x),
            DType::I32 => cast::<i32>(x),
            DType::I64 => cast::<i64>(x),
            DType::U8 => cast::<u8>(x),
            DType::U16 => cast::<u16>(x),
            DType::U32 => cast::<u32>(x),
            _ => cast::<u64>(x),
        }
    }
}

/// A strided array over bytes of its own: shape, layout and byte order at random.
pub struct Strided {
    bytes: Vec<u8>,
    base: usize,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub strides: Vec<isize>,
}

impl Strided {
    /// Random strides: axes permuted, reversed, spread out, broadcast; at any alignment.
    pub fn new(r: &mut Random, dtype: DType, shape: &[usize], fill: impl Fn(&mut Random) -> Scalar) -> Self {
        let rank = shape.len();
        let mut axes: Vec<usize> = (0..rank).collect();
        if r.chance(60) {
            for i in (1..rank).rev() {
                axes.swap(i, r.below(i + 1));
            }
        }
        let exotic = r.chance(40);
        let size = dtype.size();
        let mut strides = vec![0isize; rank];
        let mut extent = size;
        for &axis in axes.iter().rev() {
            if exotic && r.chance(15) {
                continue; // broadcast
            }
            strides[axis] = extent as isize;
            extent *= shape[axis].max(1);
            if exotic && r.chance(20) {
                extent += size * r.below(3);
            }
            if exotic && r.chance(20) {
                strides[axis] = -strides[axis];
            }
        }
        let slack = if exotic { r.below(9) } else { 0 };
        Self::place(r, dtype, shape, strides, slack, fill)
    }

    /// These strides; the first byte of all is `slack` past an address that is a multiple of 16.
    pub fn place(
        r: &mut Random,
        dtype: DType,
        shape: &[usize],
        strides: Vec<isize>,
        slack: usize,
        fill: impl Fn(&mut Random) -> Scalar,
    ) -> Self {
        let reach = |a: usize| strides[a].unsigned_abs() * shape[a].saturating_sub(1);
        let before: usize = (0..shape.len()).filter(|&a| strides[a] < 0).map(reach).sum();
        let extent: usize = (0..shape.len()).map(reach).sum::<usize>() + dtype.size();
        let mut bytes = vec![0u8; extent + slack + 64];
        let first = bytes.as_ptr().align_offset(16).min(32) + slack;
        bytes.resize(extent + first + 64, 0);
        let mut array = Self { base: first + before, bytes, dtype, shape: shape.to_vec(), strides };
        for at in array.offsets() {
            let value = fill(r);
            let (bits, digits) = value.bits();
            array.bytes[at..at + digits / 2].copy_from_slice(&bits.to_le_bytes()[..digits / 2]);
        }
        array
    }

    /// All bytes, and where in them the element with all indices 0 is.
    pub fn bytes(&self) -> (&[u8], usize) {
        (&self.bytes, self.base)
    }

    /// Where each element is, in logical row-major order.
    pub fn offsets(&self) -> Vec<usize> {
        let n: usize = self.shape.iter().product();
        (0..n)
            .map(|mut i| {
                let mut at = self.base as isize;
                for axis in (0..self.shape.len()).rev() {
                    at += self.strides[axis] * (i % self.shape[axis]) as isize;
                    i /= self.shape[axis];
                }
                at as usize
            })
            .collect()
    }

    pub fn view(&self) -> ArrayRef<'_> {
        // SAFETY: the bytes hold every element that shape and strides reach.
        unsafe {
            ArrayRef::from_raw(self.bytes.as_ptr().wrapping_add(self.base), self.dtype, &self.shape, &self.strides)
        }
        .unwrap()
    }

    /// The elements in logical order.
    pub fn elements(&self) -> Vec<Scalar> {
        let read = |at: usize| {
            let mut bits = [0; 8];
            bits[..self.dtype.size()].copy_from_slice(&self.bytes[at..at + self.dtype.size()]);
            let bits = u64::from_le_bytes(bits);
            match self.dtype {
                DType::Bool => Scalar::Bool(bits != 0),
                DType::I8 => Scalar::I8(bits as i8),
                DType::I16 => Scalar::I16(bits as i16),
                DType::I32 => Scalar::I32(bits as i32),
                DType::I64 => Scalar::I64(bits as i64),
                DType::U8 => Scalar::U8(bits as u8),
                DType::U16 => Scalar::U16(bits as u16),
                DType::U32 => Scalar::U32(bits as u32),
                DType::U64 => Scalar::U64(bits),
                DType::F16 => Scalar::F16(f16::from_bits(bits as u16)),
                DType::BF16 => Scalar::BF16(bf16::from_bits(bits as u16)),
                DType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
                DType::F64 => Scalar::F64(f64::from_bits(bits)),
            }
        };
        self.offsets().into_iter().map(read).collect()
    }
}

/// One output of the reference: the contract applied to the elements in order, `None` for a masked-out one.
/// `Err` where there is nothing to reduce (or nothing but NaN, for an arg op that skips them).
pub fn reference(op: Op, dtype: DType, items: &[Option<Scalar>], o: &Options<'_>) -> Result<Vec<Scalar>, ()> {
    fn of<S: Element>(items: &[Option<Scalar>], o: &Options<'_>) -> Vec<Option<S>> {
        let skip = |x: &S| o.skip_nan && x.is_nan();
        items.iter().map(|x| x.map(|x| S::from_cast(x.to_cast())).filter(|x| !skip(x))).collect()
    }
    let to = o.dtype.unwrap_or(dtype);
    match (op, to) {
        (Op::Any | Op::All | Op::CountNonzero, _) => {
            let truth = |x: &Scalar| match x.to_cast() {
                Cast::Signed(v) => v != 0,
                Cast::Unsigned(v) => v != 0,
                Cast::Float(v) => v != 0.0,
            };
            let nan = |x: &Scalar| x.to_f64().is_nan();
            let live: Vec<bool> =
                items.iter().flatten().filter(|x| !(o.skip_nan && dtype.is_float() && nan(x))).map(truth).collect();
            Ok(vec![match op {
                Op::Any => Scalar::Bool(live.iter().any(|&t| t)),
                Op::All => Scalar::Bool(live.iter().all(|&t| t)),
                _ => Scalar::I64(live.iter().filter(|&&t| t).count() as i64),
            }])
        }
        (_, DType::F32) => real::<f32>(op, of(items, o), o),
        (_, DType::F16) => real::<f16>(op, of(items, o), o),
        (_, DType::BF16) => real::<bf16>(op, of(items, o), o),
        (_, DType::F64) => real::<f64>(op, of(items, o), o),
        (Op::Var | Op::Std | Op::Norm | Op::LogSumExp, _) => real::<f64>(op, of(items, o), o),
        (_, DType::Bool) => integer::<bool, i64>(op, of(items, o), o),
        (_, DType::I8) => integer::<i8, i64>(op, of(items, o), o),
        (_, DType::I16) => integer::<i16, i64>(op, of(items, o), o),
        (_, DType::I32) => integer::<i32, i64>(op, of(items, o), o),
        (_, DType::I64) => integer::<i64, i64>(op, of(items, o), o),
        (_, DType::U8) => integer::<u8, u64>(op, of(items, o), o),
        (_, DType::U16) => integer::<u16, u64>(op, of(items, o), o),
        (_, DType::U32) => integer::<u32, u64>(op, of(items, o), o),
        (_, DType::U64) => integer::<u64, u64>(op, of(items, o), o),
    }
}

/// The tree over what is there, everything at its place.
fn run<R: Reducer>(reducer: R, items: &[Option<R::Item>]) -> Result<R::Output, ()> {
    tree::reduce(&Live(reducer), items.iter().copied()).flatten().ok_or(())
}

fn real<T>(op: Op, items: Vec<Option<T>>, o: &Options<'_>) -> Result<Vec<Scalar>, ()>
where
    T: Value + Element<Mean = T, Sum = T>,
{
    match o.precision {
        Precision::Tree => with::<T, Plain>(op, items, o),
        Precision::Compensated => with::<T, Compensated>(op, items, o),
    }
}

fn with<T, P>(op: Op, items: Vec<Option<T>>, o: &Options<'_>) -> Result<Vec<Scalar>, ()>
where
    T: Value + Element<Mean = T, Sum = T>,
    P: Carried<T>,
{
    let partial = o.skip_nan || o.mask.is_some();
    let initial = o.initial.map(|x| T::from_cast(x.to_cast()).float());
    let one = |x: T| vec![x.scalar()];
    match op {
        Op::Sum => {
            let zero = partial.then(|| T::from_cast(Cast::Signed(0)).float());
            run(Sum::<T, Itself, P>::total().initial(initial.or(zero)), &items).map(one)
        }
        Op::Prod => run(Product::<T, P>::new(initial, false), &items).map(one),
        Op::Mean => run(Sum::<T, Itself, P>::mean(), &items).map(one),
        Op::Var | Op::Std => run(Deviation::<T, P>::new(o.ddof.unwrap_or(0.0), op == Op::Std), &items).map(one),
        Op::LogSumExp => run(LogSumExp::<T, P>::new(), &items).map(one),
        Op::Norm => match o.ord.unwrap_or_default() {
            Ord::One => run(Sum::<T, Magnitude, P>::norm1(), &items).map(one),
            Ord::Two => run(Sum::<T, Square, P>::norm2(), &items).map(one),
            Ord::Inf => {
                let magnitudes: Vec<f64> = items.iter().flatten().map(|x| x.float().to_f64().abs()).collect();
                let nan = magnitudes.iter().any(|x| x.is_nan());
                let max = if nan { f64::NAN } else { magnitudes.into_iter().fold(0.0, f64::max) };
                Ok(one(T::from_cast(Cast::Float(max))))
            }
        },
        _ => select(op, &items, o),
    }
}

/// Shorthand for the bound that `with` needs.
trait Carried<T: Element>: warpfold::core::ops::Precision<T::Float> {}
impl<T: Element, P: warpfold::core::ops::Precision<T::Float>> Carried<T> for P {}

/// Written from the definition: wrapping in 64 bits, exact for the mean.
fn integer<T: Value, S: Value>(op: Op, items: Vec<Option<T>>, o: &Options<'_>) -> Result<Vec<Scalar>, ()> {
    let wide = |x: Cast| match x {
        Cast::Signed(v) => v as i128,
        Cast::Unsigned(v) => v as i128,
        Cast::Float(v) => v as i128,
    };
    let live: Vec<i128> = items.iter().flatten().map(|x| wide(x.cast())).collect();
    let initial = o.initial.map(|x| wide(x.to_cast()));
    let result = |x: i64| match o.dtype {
        None => vec![S::from_cast(Cast::Signed(x)).scalar()],
        Some(_) => vec![T::from_cast(Cast::Signed(x)).scalar()],
    };
    match op {
        Op::Sum => Ok(result((live.iter().sum::<i128>() + initial.unwrap_or(0)) as i64)),
        Op::Prod => {
            let product = live.iter().fold(1i64, |p, &x| p.wrapping_mul(x as i64));
            Ok(result(product.wrapping_mul(initial.unwrap_or(1) as i64)))
        }
        Op::Mean if live.is_empty() => Ok(vec![Scalar::F64(f64::NAN)]),
        Op::Mean => Ok(vec![Scalar::F64(live.iter().sum::<i128>() as f64 / live.len() as f64)]),
        _ => select(op, &items, o),
    }
}

/// Written from the definition, not from the reducers: NaN first, then the order with -0.0 below +0.0.
fn select<T: Value>(op: Op, items: &[Option<T>], o: &Options<'_>) -> Result<Vec<Scalar>, ()> {
    let initial = o.initial.map(|x| T::from_cast(x.to_cast()));
    let live: Vec<(usize, T)> = items.iter().enumerate().filter_map(|(i, x)| x.map(|x| (i, x))).collect();
    let extreme = |max: bool| {
        let all: Vec<T> = initial.into_iter().chain(live.iter().map(|x| x.1)).collect();
        if let Some(nan) = all.iter().find(|x| x.is_nan()) {
            let _ = nan;
            return Ok(T::from_cast(Cast::Float(f64::NAN)).scalar());
        }
        let best = if max { all.into_iter().max_by_key(|x| x.key()) } else { all.into_iter().min_by_key(|x| x.key()) };
        best.map(Value::scalar).ok_or(())
    };
    let place = |max: bool| {
        if let Some((i, _)) = live.iter().find(|x| x.1.is_nan()) {
            return Ok(Scalar::I64(*i as i64));
        }
        let best = live.iter().map(|x| x.1.key_eq());
        let best = if max { best.max() } else { best.min() }.ok_or(())?;
        let first = live.iter().find(|x| x.1.key_eq() == best).ok_or(())?;
        Ok(Scalar::I64(first.0 as i64))
    };
    match op {
        Op::Min => Ok(vec![extreme(false)?]),
        Op::Max => Ok(vec![extreme(true)?]),
        Op::MinMax => Ok(vec![extreme(false)?, extreme(true)?]),
        Op::ArgMin => Ok(vec![place(false)?]),
        Op::ArgMax => Ok(vec![place(true)?]),
        op => panic!("{op} is not a selection"),
    }
}

/// The contract for a whole problem: every output in C order.
pub fn expected(op: Op, x: &Strided, mask: Option<&Strided>, o: &Options<'_>) -> Result<Vec<Scalar>, ()> {
    let rank = x.shape.len();
    let axes: Vec<usize> = match &o.axes {
        None => (0..rank).collect(),
        Some(axes) => axes.iter().map(|&a| if a < 0 { a + rank as isize } else { a } as usize).collect(),
    };
    let outputs: usize = (0..rank).filter(|a| !axes.contains(a)).map(|a| x.shape[a]).product();
    let mut groups: Vec<Vec<Option<Scalar>>> = vec![Vec::new(); outputs];
    let keep = mask.map(Strided::elements);
    for (flat, value) in x.elements().into_iter().enumerate() {
        let (mut rest, mut out, mut step, mut at, mut mask_step) = (flat, 0, 1, 0, 1);
        for axis in (0..rank).rev() {
            let i = rest % x.shape[axis];
            rest /= x.shape[axis];
            if !axes.contains(&axis) {
                out += i * step;
                step *= x.shape[axis];
            }
            if let Some(mask) = mask {
                let missing = rank - mask.shape.len();
                if axis >= missing {
                    at += (i % mask.shape[axis - missing]) * mask_step;
                    mask_step *= mask.shape[axis - missing];
                }
            }
        }
        let there = keep.as_ref().is_none_or(|k| k[at] == Scalar::Bool(true));
        groups[out].push(there.then_some(value));
    }
    let mut values = Vec::new();
    for group in groups {
        let skipped_to_nothing = matches!(op, Op::Min | Op::Max | Op::MinMax)
            && o.skip_nan
            && group.iter().any(|x| x.is_some())
            && o.initial.is_none()
            && x.dtype.is_float()
            && group.iter().flatten().all(|v| v.to_f64().is_nan());
        if skipped_to_nothing {
            let nan = warpfold::Values::F64(vec![f64::NAN]).cast(x.dtype).get(0);
            values.extend(std::iter::repeat_n(nan, if op == Op::MinMax { 2 } else { 1 }));
        } else {
            values.extend(reference(op, x.dtype, &group, o)?);
        }
    }
    Ok(values)
}
