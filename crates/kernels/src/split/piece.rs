//! Pieces: what a chunk has of each bucket.

use crate::address::array;
use crate::sort::key::kind;
use crate::split::Split;
use warpfold_simt::{Pod, Simt};

/// No digit: of an element that is not there, or has a label of no group.
pub const NONE: u32 = u32::MAX;

/// A piece: elements `from` up to `to`.
#[derive(Clone, Copy)]
pub struct Piece {
    pub bucket: u32,
    pub from: u32,
    pub to: u32,
    /// Where its bucket begins, and whether that is in the chunk.
    pub start: u32,
    pub is_first: bool,
    /// Whether its bucket ends in the chunk.
    pub is_last: bool,
}

/// The pieces of a block's chunk, in their order.
pub struct Pieces {
    at: u32,
    end: u32,
    bucket: u32,
    start: u32,
}

impl Pieces {
    #[inline(always)]
    pub fn of<S: Simt>(s: &S, call: &Split, chunk: u32) -> Self {
        let at = chunk * call.chunk;
        // The last chunk has the empty buckets at the end, too.
        let end = if chunk + 1 == call.chunks { u32::MAX } else { at + call.chunk };
        // The first bucket that begins in the chunk or later; the one before it may reach into the chunk.
        let (mut low, mut high) = (0, call.buckets);
        while s.again(low < high) {
            let middle = (low + high) / 2;
            if s.branch(start(s, call, middle) < at) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let bucket = low.max(1) - 1;
        Self { at, end, bucket, start: start(s, call, bucket) }
    }

    /// The next piece, which may be empty.
    #[inline(always)]
    pub fn next<S: Simt>(&mut self, s: &S, call: &Split) -> Option<Piece> {
        if s.branch(self.bucket >= call.buckets || self.start >= self.end) {
            return None;
        }
        let (bucket, from) = (self.bucket, self.start);
        let to = start(s, call, bucket + 1);
        (self.bucket, self.start) = (bucket + 1, to);
        let (is_first, is_last) = (from >= self.at, to <= self.end);
        let piece = Piece { bucket, from: from.max(self.at), to: to.min(self.end), start: from, is_first, is_last };
        Some(Piece { to: piece.to.max(self.at), ..piece })
    }
}

/// Where a bucket begins.
#[inline(always)]
pub fn start<S: Simt>(s: &S, call: &Split, bucket: u32) -> u32 {
    if s.branch(call.first != 0) {
        return if bucket == 0 { 0 } else { call.n as u32 };
    }
    s.load(array::<u32>(call.at.buckets), bucket as usize)
}

/// The labels of `N` elements, each `step` after the other, or [`NONE`]; there is none from `end` on, which is not 0.
/// `whole` says that all are there, of all lanes.
#[inline(always)]
pub fn labels<S: Simt, const N: usize>(s: &S, call: &Split, whole: bool, first: u32, step: u32, end: u32) -> [u32; N] {
    let of = &call.elements;
    let mut found: [u32; N] = if s.branch(of.size == 4) {
        some::<S, u32, N>(s, call.at.labels, whole, first, step, end)
    } else if s.branch(of.size == 8) {
        // What has a high word is no group's.
        some::<S, u64, N>(s, call.at.labels, whole, first, step, end)
            .map(|x| if x >> 32 == 0 { x as u32 } else { NONE })
    } else if s.branch(of.size == 2) {
        let is_signed = of.kind == kind::SIGNED_LABEL;
        let found = some::<S, u16, N>(s, call.at.labels, whole, first, step, end);
        found.map(|x| if is_signed { x as i16 as u32 } else { x as u32 })
    } else {
        let is_signed = of.kind == kind::SIGNED_LABEL;
        let found = some::<S, u8, N>(s, call.at.labels, whole, first, step, end);
        found.map(|x| if is_signed { x as i8 as u32 } else { x as u32 })
    };
    let mut i = 0;
    while i < N {
        let is_there = (whole || first + (i as u32 * step) < end) && found[i] < of.bound as u32;
        found[i] = if is_there { found[i] } else { NONE };
        i += 1;
    }
    found
}

/// `N` elements as they are; the last one in place of those that are not there.
#[inline(always)]
pub fn some<S: Simt, T: Pod, const N: usize>(s: &S, from: u64, whole: bool, first: u32, step: u32, end: u32) -> [T; N] {
    let from = array::<T>(from);
    if s.branch(whole) {
        let from = from.offset(first as usize);
        return warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| s.load_stream(from, i * step as usize),
        );
    }
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| s.load_stream(from, (first + i as u32 * step).min(end - 1) as usize),
    )
}
