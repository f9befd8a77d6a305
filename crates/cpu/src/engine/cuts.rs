//! Segments, and the tasks that reduce them: segments longer than a task are cut along subtrees, shorter ones share a
//! task.

use std::ops::Range;

use crate::parallel::map;

/// Segments of the reduced axis.
#[derive(Clone, Copy)]
pub struct Cuts<'a> {
    /// Where each segment begins, and where the last one ends.
    pub offsets: &'a [usize],
    /// The index along the axis of each element of the segments; `None` if they lie there one after the other.
    pub order: Option<&'a [u32]>,
}

impl<'a> Cuts<'a> {
    /// Neighbouring segments.
    pub fn at(offsets: &'a [usize]) -> Self {
        Self { offsets, order: None }
    }

    /// Some of the segments.
    pub(super) fn some(self, segments: Range<usize>) -> Self {
        Self { offsets: &self.offsets[segments.start..=segments.end], ..self }
    }
}

/// The time that a segment takes beside that of its elements, in elements.
const OVERHEAD: usize = 16;

/// Segments whose offsets one thread checks at a time before any segment is reduced.
const STRETCH: usize = 1 << 16;

/// The results of `of` for each stretch of segments.
fn stretches<T: Send>(segments: usize, threads: usize, of: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    if threads == 1 || segments <= STRETCH {
        return vec![of(0..segments)];
    }
    map(segments.div_ceil(STRETCH), |i| of(i * STRETCH..segments.min((i + 1) * STRETCH)))
}

/// Whether offsets do not decrease, and whether a segment is empty.
pub(super) fn look_through(offsets: &[usize], threads: usize) -> (bool, bool) {
    let looks = stretches(offsets.len() - 1, threads, |segments| {
        let pairs = offsets[segments.start..segments.end].iter().zip(&offsets[segments.start + 1..]);
        pairs.fold((true, false), |(sorted, empty), (a, b)| (sorted & (a <= b), empty | (a == b)))
    });
    looks.into_iter().fold((true, false), |a, b| (a.0 & b.0, a.1 | b.1))
}

/// A part of a segment that is cut over several tasks.
pub(super) struct Part {
    pub segment: usize,
    pub from: usize,
}

/// The tasks of a segmented reduction.
pub(super) struct Tasks {
    /// Ranges of neighbouring segments, each of which one task reduces. Segments that are cut lie between the ranges.
    pub shared: Vec<(usize, usize)>,
    /// The parts of segments that are cut, in order.
    pub parts: Vec<Part>,
    /// Rows of a part.
    pub piece: usize,
}

impl Tasks {
    /// Cuts segments of more than `piece` rows (a power of two). Other segments share tasks of about `piece` rows.
    pub fn new(offsets: &[usize], piece: usize, threads: usize) -> Self {
        let mut stretches = stretches(offsets.len() - 1, threads, |segments| Self::of(offsets, segments, piece));
        let mut all = Self { shared: Vec::new(), parts: Vec::new(), piece };
        for stretch in &mut stretches {
            all.shared.append(&mut stretch.shared);
            all.parts.append(&mut stretch.parts);
        }
        all
    }

    /// The tasks of a range of segments.
    fn of(offsets: &[usize], segments: Range<usize>, piece: usize) -> Self {
        let mut tasks = Self { shared: Vec::new(), parts: Vec::new(), piece };
        let (mut first, mut load) = (segments.start, 0);
        for segment in segments.clone() {
            let len = offsets[segment + 1] - offsets[segment];
            let long = len > piece;
            if long || load + len + OVERHEAD > piece {
                if first < segment {
                    tasks.shared.push((first, segment));
                }
                (first, load) = (segment, 0);
            }
            if long {
                tasks.parts.extend((0..len).step_by(piece).map(|from| Part { segment, from }));
                first = segment + 1;
            } else {
                load += len + OVERHEAD;
            }
        }
        if first < segments.end {
            tasks.shared.push((first, segments.end));
        }
        tasks
    }
}
