//! How a warp gets the part of a stretch of one output's elements, when these lie side by side.

use super::stack::{Few, Lanes};
use super::warp::{self, STEPS};
use crate::kernels::fold::{Heap, Parts, Tree};
use crate::kernels::node::select;
use crate::kernels::recipe::{Call, Recipe, array};
use crate::kernels::source::{Bits, words};
use crate::simt::{ALL, Global, Simt};

/// A kept axis: its length, and its steps in bytes (in elements for the output).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kept {
    /// Its length.
    pub len: u64,
    /// In the input.
    pub x: i64,
    /// In the mask.
    pub mask: i64,
    /// In the output.
    pub out: i64,
}

/// The kept axes, the innermost first.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outputs<const K: usize> {
    /// All of them.
    pub total: u64,
    /// How many axes there are.
    pub axes: u64,
    /// Each.
    pub axis: [Kept; K],
}

/// Where an output's elements start, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Bytes from the input.
    pub x: i64,
    /// Bytes from the mask.
    pub mask: i64,
    /// Elements from the output.
    pub out: i64,
}

/// `a` over a power of two.
#[inline(always)]
pub fn share(a: u32, power: u32) -> u32 {
    a >> power.trailing_zeros()
}

/// Quotient and remainder.
#[inline(always)]
pub fn divide(a: u64, b: u64) -> (u64, u64) {
    // SAFETY: no axis has length zero; the host decides such reductions.
    let quotient = a / unsafe { core::num::NonZeroU64::new_unchecked(b) };
    (quotient, a - quotient * b)
}

impl<const K: usize> Outputs<K> {
    /// Output number `row`.
    #[inline(always)]
    pub fn at(&self, row: u64) -> At {
        let mut at = At { x: 0, mask: 0, out: 0 };
        let mut rest = row;
        let mut k = 0;
        while k < K {
            let axis = &self.axis[k];
            let last = k + 1 == K || self.axes <= k as u64 + 1;
            let (next, i) = if last { (0, rest) } else { divide(rest, axis.len) };
            at.x += i as i64 * axis.x;
            at.mask += i as i64 * axis.mask;
            at.out += i as i64 * axis.out;
            if last {
                break;
            }
            rest = next;
            k += 1;
        }
        at
    }
}

/// One output's elements.
#[derive(Clone, Copy)]
pub struct Row<R> {
    /// The address of the first.
    pub x: u64,
    /// The address of the first one's mask.
    pub mask: u64,
    /// Elements.
    pub len: u64,
    /// How they go on.
    pub reduced: R,
}

impl<R: Copy> Row<R> {
    /// The row that starts at `at`.
    #[inline(always)]
    pub fn new<G>(call: &Call<G>, at: At, len: u64, reduced: R) -> Self {
        Self { x: call.input.wrapping_add(at.x as u64), mask: call.mask.wrapping_add(at.mask as u64), len, reduced }
    }
}

/// Reduced elements that lie side by side, in segments of a power of two of 16-byte packs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dense {
    /// Bytes from segment to segment.
    pub stride: i64,
    /// The logarithm of a segment's packs, at least 8; 63 if there is one.
    pub segment: u32,
    /// Whether every segment of every row starts at a multiple of 16 bytes.
    pub aligned: u32,
}

impl Dense {
    /// Aligned only if the address is, too.
    #[inline(always)]
    fn from(self, address: u64) -> Self {
        Self { aligned: self.aligned & (address & 15 == 0) as u32, ..self }
    }
}

impl Row<Dense> {
    /// The address of pack `p`.
    #[inline(always)]
    fn pack(&self, p: u64) -> Global<u8> {
        let Dense { stride, segment, .. } = self.reduced;
        let inside = p & ((1 << segment) - 1);
        array(self.x.wrapping_add(((p >> segment) as i64 * stride) as u64).wrapping_add(inside * 16))
    }
}

/// The part of a stretch of a row.
pub trait Piece: Copy {
    /// What is computed.
    type Fold: Parts;
    /// What it must know of a row.
    type Reduced: Copy;
    /// Elements in 8 steps of a warp.
    const TILE: u64;
    /// From what a kernel is told.
    fn new(recipe: &Recipe) -> Self;
    /// What is computed.
    fn fold(&self) -> &Self::Fold;
    /// What holds of rows from this address on.
    fn from(reduced: Self::Reduced, address: u64) -> Self::Reduced;
    /// The part of `tiles` tiles from number `tile`; every lane gets it.
    fn run<S: Simt>(&self, s: &S, row: &Row<Self::Reduced>, tile: u64, tiles: u32) -> <Self::Fold as Parts>::Part;
    /// The parts of eight rows, shared by `lanes` lanes (a power of two) each.
    fn short<S: Simt>(
        &self,
        s: &S,
        rows: [Row<Self::Reduced>; STEPS],
        lanes: u32,
    ) -> [<Self::Fold as Parts>::Part; STEPS];
    /// The final part, of [`Piece::short`] or not: where an arg op's pack is looked through.
    #[inline(always)]
    fn settle<S: Simt>(
        &self,
        _s: &S,
        _row: &Row<Self::Reduced>,
        part: <Self::Fold as Parts>::Part,
        _short: bool,
    ) -> <Self::Fold as Parts>::Part {
        part
    }
}

/// Elements in the order of the tree.
#[derive(Clone, Copy)]
pub struct Ordered<F>(F);

/// The node over the elements of 16 bytes.
#[inline(always)]
pub fn pack<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4]) -> F::Node {
    let one = |k: usize| f.lift(s, F::Bits::nth(w, k));
    let two = |k: usize| f.join(one(2 * k), one(2 * k + 1), 1);
    let four = |k: usize| f.join(two(2 * k), two(2 * k + 1), 2);
    match F::Bits::PER {
        2 => two(0),
        4 => four(0),
        _ => f.join(four(0), four(1), 4),
    }
}

/// The nodes over the first `valid` elements of 16 bytes each; over all of them, if there is no neutral node.
#[inline(always)]
fn packs<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS], valid: [u32; STEPS]) -> [F::Node; STEPS] {
    let one = |w: &[u32; 4], valid: u32| if F::NEUTRAL { some(s, f, w, valid) } else { pack(s, f, w) };
    if !F::HAS_PLAIN {
        return core::array::from_fn(
            #[inline(always)]
            |k| one(&w[k], valid[k]),
        );
    }
    // Rarely taken, so it is kept short: one copy, and the steps take turns. (A loop with a vote in it is not unrolled.)
    let (mut nodes, mut w, mut valid) = ([f.neutral(); STEPS], *w, valid);
    let mut k = 0;
    while s.again(s.any(ALL, k < STEPS)) {
        nodes = next(nodes, one(&w[0], valid[0]));
        w = next(w, w[0]);
        valid = next(valid, valid[0]);
        k += 1;
    }
    nodes
}

/// The first leaves, and one more comes last.
#[inline(always)]
pub fn next<T: Copy, const N: usize>(all: [T; N], last: T) -> [T; N] {
    core::array::from_fn(
        #[inline(always)]
        |k| if k + 1 < N { all[k + 1] } else { last },
    )
}

/// The node over 8 steps of a warp, of which a lane has `valid` elements each.
#[inline(always)]
fn whole<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS], valid: [u32; STEPS]) -> F::Node {
    if F::HAS_PLAIN && s.branch(s.all(ALL, all_ordinary(s, f, w))) {
        return f.raise(whole(s, &f.plain(), w, valid));
    }
    warp::tile(s, f, packs(s, f, w, valid), F::Bits::PER)
}

/// Whether all elements are ordinary.
#[inline(always)]
fn all_ordinary<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS]) -> bool {
    let per = F::Bits::PER as usize;
    let (mut all, mut k) = (true, 0);
    while k < STEPS * per {
        all &= f.is_ordinary(s, F::Bits::nth(&w[k / per], k % per));
        k += 1;
    }
    all
}

/// The node over the first `valid` elements of 16 bytes, of a fold that has a neutral node.
#[inline(always)]
fn some<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], valid: u32) -> F::Node {
    let one = |k: usize| select((k as u32) < valid, f.lift(s, F::Bits::nth(w, k)), f.neutral());
    let two = |k: usize| f.join(one(2 * k), one(2 * k + 1), 1);
    let four = |k: usize| f.join(two(2 * k), two(2 * k + 1), 2);
    match F::Bits::PER {
        2 => two(0),
        4 => four(0),
        _ => f.join(four(0), four(1), 4),
    }
}

/// The nodes over 8 rows, of each of which a lane has `valid` elements of 16 bytes; all of them, if there is no neutral node.
#[inline(always)]
fn short_rows<S: Simt, F: Tree>(s: &S, f: &F, w: &[[u32; 4]; STEPS], valid: u32, lanes: u32) -> [F::Node; STEPS] {
    if F::HAS_PLAIN && s.branch(s.all(ALL, all_ordinary(s, f, w))) {
        return short_rows(s, &f.plain(), w, valid, lanes).map(
            #[inline(always)]
            |node| f.raise(node),
        );
    }
    let mut nodes = packs(s, f, w, [valid; STEPS]);
    let mut bit = 1;
    while s.again(bit < lanes) {
        let mut k = 0;
        while k < STEPS {
            nodes[k] = warp::across(s, f, nodes[k], bit, F::Bits::PER * bit);
            k += 1;
        }
        bit <<= 1;
    }
    nodes
}

/// The part over the first `valid` elements of 16 bytes, one after another as they stand in memory.
#[inline(always)]
fn first<S: Simt, F: Tree>(s: &S, f: &F, at: Global<F::Bits>, valid: u32) -> F::Part {
    let mut stack = Few::new(f.nothing());
    let (mut k, per) = (0, s.opaque(valid));
    while s.again(k < per) {
        stack.push(f, k, f.part(f.lift(s, s.load(at, k as usize)), 1));
        k += 1;
    }
    stack.close(f, per)
}

/// Sixteen bytes from anywhere, element by element; those beyond `valid` are zero.
#[inline(always)]
fn loose<S: Simt, B: Bits>(s: &S, at: Global<u8>, valid: u32) -> [u32; 4] {
    let mut words = [0u32; 4];
    let mut k = 0;
    while k < B::PER as usize {
        let bits = if (k as u32) < valid { s.load(at.cast::<B>(), k) } else { B::ZERO };
        match B::SIZE {
            8 => {
                words[2 * k] = bits.to_bits() as u32;
                words[2 * k + 1] = (bits.to_bits() >> 32) as u32;
            }
            4 => words[k] = bits.to_bits() as u32,
            2 => words[k / 2] |= (bits.to_bits() as u32) << (16 * (k % 2)),
            _ => words[k / 4] |= (bits.to_bits() as u32) << (8 * (k % 4)),
        }
        k += 1;
    }
    words
}

/// How many of `per` elements from `first` there are.
#[inline(always)]
fn valid(len: u64, first: u64, per: u32) -> u32 {
    if first >= len { 0 } else { (len - first).min(per as u64) as u32 }
}

impl<F: Tree> Ordered<F> {
    /// A tile that the row ends in, of a fold without a neutral node: step by step.
    #[inline(always)]
    fn ragged<S: Simt>(&self, s: &S, row: &Row<Dense>, tile: u64) -> F::Part {
        let (f, per, lane) = (&self.0, F::Bits::PER, s.lane());
        let base = row.pack(tile * 256);
        let mut stack = Lanes::new(f.nothing());
        let (mut k, steps) = (0, s.opaque(STEPS as u32));
        while s.again(k < steps) {
            let p = k * 32 + lane;
            let valid = valid(row.len - tile * Self::TILE, (p * per) as u64, per);
            let at = base.offset(p as usize * 16);
            let part = if s.branch(row.reduced.aligned != 0 && valid == per) {
                f.part(pack(s, f, &words(s, at, 16)), per)
            } else {
                first(s, f, at.cast(), valid)
            };
            stack.push_part(s, f, k, warp::meet_lanes(s, f, part, 32));
            k += 1;
        }
        stack.close_parts(s, f, steps)
    }
}

impl<F: Tree> Piece for Ordered<F> {
    type Fold = F;
    type Reduced = Dense;
    const TILE: u64 = 256 * F::Bits::PER as u64;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe))
    }

    #[inline(always)]
    fn fold(&self) -> &F {
        &self.0
    }

    #[inline(always)]
    fn from(reduced: Dense, address: u64) -> Dense {
        reduced.from(address)
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, row: &Row<Dense>, tile: u64, tiles: u32) -> F::Part {
        let (f, per, lane) = (&self.0, F::Bits::PER, s.lane());
        let mut stack = Lanes::new(f.lift(s, F::Bits::ZERO));
        let mut t = 0;
        while s.again(t < tiles && (tile + t as u64) * Self::TILE < row.len) {
            let left = row.len - (tile + t as u64) * Self::TILE;
            let base = row.pack((tile + t as u64) * 256).offset(lane as usize * 16);
            let aligned = row.reduced.aligned != 0;
            let node = if s.branch(aligned && left >= Self::TILE) {
                let w: [[u32; 4]; STEPS] = core::array::from_fn(
                    #[inline(always)]
                    |k| words(s, base.offset(k * 512), 16),
                );
                whole(s, f, &w, [per; STEPS])
            } else if F::NEUTRAL {
                let valid = |k: u32| valid(left, ((k * 32 + lane) * per) as u64, per);
                let w: [[u32; 4]; STEPS] = if s.branch(aligned) {
                    // Whole steps at once; the one that the row ends in, element by element.
                    let whole = (left / (32 * per) as u64) as u32;
                    let last = loose::<S, F::Bits>(s, base.offset(whole as usize * 512), valid(whole));
                    core::array::from_fn(
                        #[inline(always)]
                        |k| if s.branch((k as u32) < whole) { words(s, base.offset(k * 512), 16) } else { last },
                    )
                } else {
                    core::array::from_fn(
                        #[inline(always)]
                        |k| loose::<S, F::Bits>(s, base.offset(k * 512), valid(k as u32)),
                    )
                };
                whole(
                    s,
                    f,
                    &w,
                    core::array::from_fn(
                        #[inline(always)]
                        |k| valid(k as u32),
                    ),
                )
            } else if s.branch(left >= Self::TILE) {
                let w: [[u32; 4]; STEPS] = core::array::from_fn(
                    #[inline(always)]
                    |k| loose::<S, F::Bits>(s, base.offset(k * 512), per),
                );
                whole(s, f, &w, [per; STEPS])
            } else {
                break;
            };
            stack.push(s, f, t, Self::TILE as u32, node);
            t += 1;
        }
        let rest = if !F::NEUTRAL && s.branch(t < tiles && (tile + t as u64) * Self::TILE < row.len) {
            self.ragged(s, row, tile + t as u64)
        } else {
            f.nothing()
        };
        stack.close(s, f, t, Self::TILE as u32, rest)
    }

    #[inline(always)]
    fn short<S: Simt>(&self, s: &S, rows: [Row<Dense>; STEPS], lanes: u32) -> [F::Part; STEPS] {
        let (f, per) = (&self.0, F::Bits::PER);
        let p = s.lane() & (lanes - 1);
        let len = rows[0].len;
        let valid = valid(len, (p * per) as u64, per);
        let whole = len == (lanes * per) as u64;
        let aligned = rows[0].reduced.aligned != 0;
        if F::NEUTRAL || s.branch(whole) {
            let w: [[u32; 4]; STEPS] = if s.branch(aligned && valid == per) {
                core::array::from_fn(
                    #[inline(always)]
                    |k| words(s, rows[k].pack(p as u64), 16),
                )
            } else {
                core::array::from_fn(
                    #[inline(always)]
                    |k| loose::<S, F::Bits>(s, rows[k].pack(p as u64), valid),
                )
            };
            let nodes = short_rows(s, f, &w, valid, lanes);
            return core::array::from_fn(
                #[inline(always)]
                |k| f.part(nodes[k], per * lanes),
            );
        }
        let mut parts: [F::Part; STEPS] = core::array::from_fn(
            #[inline(always)]
            |k| first(s, f, rows[k].pack(p as u64).cast(), valid),
        );
        let mut bit = 1;
        while s.again(bit < lanes) {
            let mut k = 0;
            while k < STEPS {
                parts[k] = warp::meet_across(s, f, parts[k], bit);
                k += 1;
            }
            bit <<= 1;
        }
        parts
    }
}

/// Elements in any order.
#[derive(Clone, Copy)]
pub struct Free<F>(F);

impl<F: Heap> Free<F> {
    /// Elements between the multiple of 16 bytes below the row and its start. Packs are counted from there.
    #[inline(always)]
    fn shift(row: &Row<Dense>) -> u64 {
        if row.reduced.segment == 63 { (row.x & 15) / F::Bits::SIZE as u64 } else { 0 }
    }

    /// Whether packs of the row can be read at once.
    #[inline(always)]
    fn packed(row: &Row<Dense>) -> bool {
        row.reduced.segment == 63 || row.reduced.aligned != 0
    }

    /// Takes the elements of a pack that the row starts or ends in.
    #[inline(always)]
    fn edge<S: Simt>(&self, s: &S, row: &Row<Dense>, p: u64, mut acc: F::Acc) -> F::Acc {
        let (per, shift) = (F::Bits::PER as u64, Self::shift(row));
        let from = (p * per).max(shift);
        let to = ((p + 1) * per).min(shift + row.len);
        let at = row.pack(p).offset((shift as usize * F::Bits::SIZE as usize).wrapping_neg()).cast::<F::Bits>();
        let mut e = from;
        while s.again(e < to) {
            acc = self.0.one(s, acc, s.load(at, (e - p * per) as usize), p as u32);
            e += 1;
        }
        acc
    }
}

impl<F: Heap> Piece for Free<F> {
    type Fold = F;
    type Reduced = Dense;
    const TILE: u64 = 256 * F::Bits::PER as u64;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe))
    }

    #[inline(always)]
    fn fold(&self) -> &F {
        &self.0
    }

    #[inline(always)]
    fn from(reduced: Dense, address: u64) -> Dense {
        reduced.from(address)
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, row: &Row<Dense>, tile: u64, tiles: u32) -> F::Part {
        let (f, per, lane, shift) = (&self.0, F::Bits::PER as u64, s.lane(), Self::shift(row));
        let (start, end) = (shift, shift + row.len);
        // Packs that a row starts or ends in come late, and by themselves, so that a lane meets its packs in their order.
        let (mut acc, mut late) = (f.start(), f.start());
        let mut t = 0;
        while s.again(t < tiles && (tile + t as u64) * Self::TILE < end) {
            let first = (tile + t as u64) * Self::TILE;
            let p = (tile + t as u64) * 256 + lane as u64;
            let packed = Self::packed(row);
            let base = row
                .pack((tile + t as u64) * 256)
                .offset((lane as usize * 16).wrapping_sub(shift as usize * F::Bits::SIZE as usize));
            let step = 32 * per;
            let whole = |k: u64| packed && first + k * step >= start && first + (k + 1) * step <= end;
            let all = packed && first >= start && first + Self::TILE <= end;
            let w: [[u32; 4]; STEPS] = core::array::from_fn(
                #[inline(always)]
                |k| if s.branch(all || whole(k as u64)) { words(s, base.offset(k * 512), 16) } else { [0; 4] },
            );
            let mut k = 0;
            while k < STEPS {
                if s.branch(all || whole(k as u64)) {
                    acc = f.pack(s, acc, &w[k], p as u32 + 32 * k as u32);
                }
                k += 1;
            }
            if s.branch(!all) {
                let (mut k, steps) = (0, s.opaque(STEPS as u32) as u64);
                while s.again(k < steps) {
                    let p = p + 32 * k;
                    if s.branch(whole(k)) {
                        // Taken above.
                    } else if s.branch(packed && p * per >= start && (p + 1) * per <= end) {
                        let at = row.pack(p).offset((shift as usize * F::Bits::SIZE as usize).wrapping_neg());
                        late = f.pack(s, late, &words(s, at, 16), p as u32);
                    } else {
                        late = self.edge(s, row, p, late);
                    }
                    k += 1;
                }
            }
            t += 1;
        }
        warp::meet_lanes(s, f, f.meet(f.part(acc), f.part(late)), 32)
    }

    #[inline(always)]
    fn short<S: Simt>(&self, s: &S, rows: [Row<Dense>; STEPS], lanes: u32) -> [F::Part; STEPS] {
        let (f, per) = (&self.0, F::Bits::PER);
        let p = s.lane() & (lanes - 1);
        let valid = valid(rows[0].len, (p * per) as u64, per);
        let whole = rows[0].reduced.aligned != 0 && valid == per;
        let mut parts: [F::Part; STEPS] = if s.branch(whole) {
            let w: [[u32; 4]; STEPS] = core::array::from_fn(
                #[inline(always)]
                |k| words(s, rows[k].pack(p as u64), 16),
            );
            core::array::from_fn(
                #[inline(always)]
                |k| {
                    let part = f.part(f.pack(s, f.start(), &w[k], p));
                    match f.place(part) {
                        Some(_) => f.placed(part, (p * per + f.locate(&w[k], part)) as u64),
                        None => part,
                    }
                },
            )
        } else {
            core::array::from_fn(
                #[inline(always)]
                |k| {
                    let at = rows[k].pack(p as u64).cast::<F::Bits>();
                    let mut acc = f.start();
                    let mut e = 0;
                    while s.again(e < valid) {
                        acc = f.one(s, acc, s.load(at, e as usize), p * per + e);
                        e += 1;
                    }
                    f.part(acc)
                },
            )
        };
        let mut bit = 1;
        while s.again(bit < lanes) {
            let mut k = 0;
            while k < STEPS {
                parts[k] = warp::meet_across(s, f, parts[k], bit);
                k += 1;
            }
            bit <<= 1;
        }
        parts
    }

    #[inline(always)]
    fn settle<S: Simt>(&self, s: &S, row: &Row<Dense>, part: F::Part, short: bool) -> F::Part {
        let Some(p) = self.0.place(part).filter(|_| !short) else { return part };
        let (per, shift, p) = (F::Bits::PER as u64, Self::shift(row), p as u64);
        let at = row.pack(p).offset((shift as usize * F::Bits::SIZE as usize).wrapping_neg());
        let mut e = (p * per).max(shift);
        let to = ((p + 1) * per).min(shift + row.len);
        if s.branch(Self::packed(row) && e + per == to) {
            e += self.0.locate(&words(s, at, 16), part) as u64;
        } else {
            let at = at.cast::<F::Bits>();
            while s.again(e + 1 < to && !self.0.found(s.load(at, (e - p * per) as usize), part)) {
                e += 1;
            }
        }
        self.0.placed(part, e.wrapping_sub(shift))
    }
}
