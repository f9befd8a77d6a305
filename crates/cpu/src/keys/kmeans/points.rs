//! Points, whose coordinates are read a tile at a time.

use warpfold_core::{DType, Fixed, Real};

use crate::load::Loaded;
use crate::parallel;
use crate::simd::vectorize;
use warpfold_array::Array;
use warpfold_array::ArrayRef;
use warpfold_array::Error;
use warpfold_array::KeyError;
use warpfold_array::Value;
use warpfold_array::Values;

/// Points of a tile. With up to some hundred coordinates, a tile stays in L2.
pub(super) const TILE: usize = 128;

/// `f32` or `f64`: the type in which points, centroids and distances are computed.
pub trait Coordinate: Fixed + Loaded + Value {
    /// `self · a + b`, rounded once.
    fn fma(self, a: Self, b: Self) -> Self;
    /// [`Fixed::quantize`], in a type that is the same for both.
    fn units(self, scale: Self) -> i64;
    /// `digits · 2^e`, rounded to nearest even; `digits` has its first bit set, and its last if anything was cut off.
    fn rounded(digits: u64, e: i32) -> Self;
}
impl Coordinate for f32 {
    #[inline(always)]
    fn fma(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn units(self, scale: f32) -> i64 {
        self.quantize(scale) as i64
    }
    fn rounded(digits: u64, e: i32) -> f32 {
        // Rounded to odd, as f64 holds more than twice as many digits, so that only the last step rounds.
        let odd = digits >> 11 | (digits & 0x7ff != 0) as u64;
        (odd as f64 * <f64 as Fixed>::scale(-(e + 11))) as f32
    }
}
impl Coordinate for f64 {
    #[inline(always)]
    fn fma(self, a: f64, b: f64) -> f64 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn units(self, scale: f64) -> i64 {
        self.quantize(scale)
    }
    fn rounded(digits: u64, e: i32) -> f64 {
        // Two steps, so that the powers are normal numbers.
        digits as f64 * <f64 as Fixed>::scale(-(e / 2)) * <f64 as Fixed>::scale(e / 2 - e)
    }
}

/// The factors that make coordinates integers, which add up without rounding: a power of two for each coordinate, from
/// the coordinate's greatest magnitude in any point. A scale is computed once, and serves any number of updates of the
/// same points, or of a part of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    computed: DType,
    /// The greatest magnitude of each coordinate.
    greatest: Vec<f64>,
    /// The exponent of each coordinate's unit.
    pub(super) units: Vec<i32>,
}

impl Scale {
    /// The scale for coordinates of at most these magnitudes, of points that are computed in `computed`: f64, or else
    /// f32.
    pub fn new(computed: DType, greatest: Vec<f64>) -> Self {
        let unit = |&x: &f64| if computed == DType::F64 { f64::unit(x) } else { f32::unit(x as f32) };
        Self { computed, units: greatest.iter().map(unit).collect(), greatest }
    }

    /// The greatest magnitude of each coordinate.
    pub fn greatest(&self) -> &[f64] {
        &self.greatest
    }

    /// The quantization factor of each coordinate, in the dtype that points are computed in.
    pub fn factors(&self) -> Values {
        fn of<F: Coordinate>(units: &[i32]) -> Values {
            F::wrap(units.iter().map(|&unit| <F as Fixed>::scale(unit)).collect())
        }
        if self.computed == DType::F64 { of::<f64>(&self.units) } else { of::<f32>(&self.units) }
    }

    /// The exponent of each coordinate's unit.
    pub fn units(&self) -> &[i32] {
        &self.units
    }

    /// Checks that the scale has the dtype and the number of coordinates of these points.
    pub fn suits(&self, points: &Points<'_>) -> Result<(), KeyError> {
        let (has, of) = (self.greatest.len(), self.computed);
        if has == points.dimensions && of == points.computed() {
            return Ok(());
        }
        let why = format!(
            "the scale is for {has} coordinates of {of}, the points have {} of {}: use that of Points::scale",
            points.dimensions,
            points.computed()
        );
        Err(KeyError::Points { why })
    }

    /// Checks that no score and no square of a distance can overflow, among points of this scale and `others`, as
    /// \[point\]\[coordinate\]. Each is below 8 times the square of the length of the vector of the greatest
    /// magnitudes.
    pub fn reaches(&self, most: f64, others: &[f64]) -> Result<(), KeyError> {
        let mut greatest = self.greatest.clone();
        for other in others.chunks_exact(greatest.len()) {
            greatest.iter_mut().zip(other).for_each(|(a, b)| *a = a.max(b.abs()));
        }
        let square: f64 = greatest.iter().map(|x| x * x).sum();
        if square <= most / 8.0 { Ok(()) } else { Err(KeyError::TooFar) }
    }
}

/// Which axis of an array of points comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// \[point\]\[coordinate\]
    #[default]
    PointsFirst,
    /// \[coordinate\]\[point\]
    CoordinatesFirst,
}

/// Points with coordinates of f16, bf16, f32 or f64, in any layout. Coordinates of 16 bits are computed as f32.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    pub(super) array: ArrayRef<'a>,
    axes: Axes,
    /// The number of points.
    pub(super) n: usize,
    /// The number of coordinates of a point.
    pub(super) dimensions: usize,
    /// Bytes from one point to the next.
    along: isize,
    /// Bytes from one coordinate to the next.
    across: isize,
}

impl<'a> Points<'a> {
    /// The points of an array with two axes. An array with one axis has points of one coordinate.
    ///
    /// # Errors
    /// [`KeyError::Points`]: other dtypes or ranks, no coordinates; [`KeyError::TooMany`] beyond 2^32 - 1 points.
    pub fn new(array: ArrayRef<'a>, axes: Axes) -> Result<Self, Error> {
        let bad = |why: String| Err(Error::from(KeyError::Points { why }));
        if !array.dtype().is_float() {
            return bad(format!("coordinates must be floats, these are {}: cast them first", array.dtype()));
        }
        let (shape, strides) = (array.shape(), array.strides());
        let (n, dimensions, along, across) = match (shape, axes) {
            (&[n], _) => (n, 1, strides[0], 0),
            (&[n, d], Axes::PointsFirst) => (n, d, strides[0], strides[1]),
            (&[d, n], Axes::CoordinatesFirst) => (n, d, strides[1], strides[0]),
            _ => return bad(format!("give an array of points and coordinates, not of shape {shape:?}")),
        };
        if dimensions == 0 {
            return bad(format!("they have no coordinates (shape {shape:?})"));
        }
        if n > u32::MAX as usize {
            return Err(KeyError::TooMany { what: "points", n, most: u32::MAX as usize }.into());
        }
        Ok(Self { array, axes, n, dimensions, along, across })
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Bytes from one point to the next, and from one coordinate to the next.
    pub fn steps(&self) -> [isize; 2] {
        [self.along, if self.dimensions == 1 { self.array.dtype().size() as isize } else { self.across }]
    }

    /// The order of the axes.
    pub fn axes(&self) -> Axes {
        self.axes
    }

    /// The array of points.
    pub fn array(&self) -> ArrayRef<'a> {
        self.array
    }

    /// Coordinates of each.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The dtype of centroids and distances: f64 for f64, f32 for all others.
    pub fn computed(&self) -> DType {
        if self.array.dtype() == DType::F64 { DType::F64 } else { DType::F32 }
    }

    /// `len` points from `from`, as \[coordinate\]\[`stride`\] in `room`; what is beyond `len` is zero.
    pub(super) fn read<'r, F: Coordinate>(
        &self,
        from: usize,
        len: usize,
        stride: usize,
        room: &'r mut Vec<F>,
    ) -> &'r [F] {
        assert!(from + len <= self.n && len <= stride, "points of the array");
        let gather = F::gather(self.array.dtype(), self.array.is_swapped(), self.array.dtype());
        room.clear();
        room.resize(stride * self.dimensions, F::ZERO);
        for (coordinate, to) in room.chunks_exact_mut(stride).enumerate() {
            let first =
                self.array.base().wrapping_offset(self.along * from as isize + self.across * coordinate as isize);
            // SAFETY: an ArrayRef's elements are readable, and these points are in it; there is room for `len`.
            unsafe { gather(first, self.along, len, to.as_mut_ptr()) };
        }
        room
    }

    /// One coordinate of all points.
    pub(super) fn coordinate(&self, coordinate: usize) -> ArrayRef<'a> {
        self.array.line(self.across * coordinate as isize, self.n, self.along)
    }

    /// One point.
    pub(super) fn one<F: Coordinate>(&self, at: usize) -> Vec<F> {
        let mut room = Vec::new();
        self.read(at, 1, 1, &mut room);
        room
    }

    /// The scale of the coordinates, which takes one read of all points.
    ///
    /// # Errors
    /// [`KeyError::NotFinite`] of the first point with a NaN or an infinity.
    pub fn scale(&self) -> Result<Scale, Error> {
        let greatest = match self.computed() {
            DType::F64 => self.greatest::<f64>(),
            _ => self.greatest::<f32>(),
        };
        Ok(Scale::new(self.computed(), greatest?))
    }

    /// The greatest magnitude that each coordinate has in any point.
    fn greatest<F: Coordinate>(&self) -> Result<Vec<f64>, KeyError> {
        const POINTS: usize = 16 * TILE;
        let larger = |all: &mut Vec<F>, more: Vec<F>| {
            all.iter_mut().zip(more).for_each(|(a, b)| *a = if *a < b { b } else { *a });
        };
        let found = parallel::map(self.n.div_ceil(POINTS), |task| {
            let (mut room, mut all) = (Vec::new(), vec![F::ZERO; self.dimensions]);
            for from in (task * POINTS..self.n.min((task + 1) * POINTS)).step_by(TILE) {
                let len = TILE.min(self.n - from);
                let x = self.read::<F>(from, len, TILE, &mut room);
                let greatest: Vec<F> = vectorize(
                    #[inline(always)]
                    || x.chunks_exact(TILE).map(magnitude).collect(),
                );
                if !greatest.iter().all(|x| x.finite()) {
                    return Err(self.not_finite(x, from, len));
                }
                larger(&mut all, greatest);
            }
            Ok(all)
        });
        // In order, so that the error names the first bad point.
        let mut greatest = vec![F::ZERO; self.dimensions];
        for task in found {
            larger(&mut greatest, task?);
        }
        Ok(greatest.into_iter().map(|x| x.to_f64()).collect())
    }

    fn not_finite<F: Coordinate>(&self, x: &[F], from: usize, len: usize) -> KeyError {
        let mut places = (0..len).flat_map(|point| (0..self.dimensions).map(move |coordinate| (point, coordinate)));
        let (point, coordinate) =
            places.find(|(point, coordinate)| !x[coordinate * TILE + point].finite()).expect("one is not finite");
        KeyError::NotFinite { point: from + point, coordinate, value: x[coordinate * TILE + point].to_f64() }
    }
}

/// The greatest magnitude; a NaN or an infinity if there is one.
#[inline(always)]
fn magnitude<F: Coordinate>(x: &[F]) -> F {
    let mut lanes = [F::ZERO; 16];
    for x in x.as_chunks::<16>().0 {
        for (lane, &x) in lanes.iter_mut().zip(x) {
            let x = Real::abs(x);
            *lane = greater(*lane, x);
        }
    }
    lanes.into_iter().fold(F::ZERO, greater)
}

/// The greater of two numbers; NaN if one is NaN.
#[inline(always)]
#[allow(clippy::eq_op, reason = "only NaN is not itself")]
fn greater<F: Coordinate>(a: F, b: F) -> F {
    if a < b || b != b { b } else { a }
}

/// A test for finite numbers.
pub(super) trait Finite {
    fn finite(self) -> bool;
}

impl<F: Coordinate> Finite for F {
    #[inline(always)]
    fn finite(self) -> bool {
        // An infinity less itself is NaN, as a NaN is.
        self.sub(self) == F::ZERO
    }
}

const _: () = assert!(TILE.is_multiple_of(16));

/// The coordinates of an array of centroids as `F`.
pub fn coordinates<F: Coordinate>(centroids: &Array) -> Vec<F> {
    F::unwrap(centroids.values.clone().cast(F::DTYPE)).expect("they were cast")
}

/// Coordinates as f64.
pub fn wide<F: Coordinate>(coordinates: &[F]) -> Vec<f64> {
    coordinates.iter().map(|x| x.to_f64()).collect()
}

/// The greatest finite number of `F`.
pub fn most<F: Coordinate>() -> f64 {
    if F::DTYPE == DType::F64 { f64::MAX } else { f32::MAX as f64 }
}
