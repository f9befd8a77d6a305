//! Reductions of sequences that arrive in pieces.

use warpfold_core::{NotAdjacent, Reducer, Span};

use crate::fallback::block;
use crate::kernel::{Kernel, Tree};
use crate::parallel;
use crate::policy::{BLOCK, CHUNK, ONE_THREAD};

/// A reduction of slices of any length, in order, with the bits of the reduction of the whole sequence.
///
/// A stream may start in the middle of a sequence. Streams of adjacent ranges can be joined. A stream is a reducer and
/// a [`Span`] of at most `2 log2 n` nodes. With the feature `serde` it can be serialized if the reducer can.
///
/// ```
/// use warpfold::Stream;
/// use warpfold::core::ops::Sum;
///
/// let x: Vec<f32> = (0..1000).map(|i| i as f32 * 0.1).collect();
/// let mut left = Stream::new(Sum::<f32>::total());
/// left.push(&x[..10]);
/// left.push(&x[10..333]);
/// let mut right = Stream::starting_at(Sum::<f32>::total(), 333);
/// right.push(&x[333..]);
/// left.join(&right)?;
/// assert_eq!(left.finish(), Some(warpfold::sum(&x)?));
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "R: serde::Serialize, R::Acc: serde::Serialize",
        deserialize = "R: serde::Deserialize<'de>, R::Acc: serde::Deserialize<'de>"
    ))
)]
pub struct Stream<R: Reducer> {
    reducer: R,
    span: Span<R::Acc>,
}

impl<R: Reducer> Stream<R> {
    /// A stream that starts at the start of the sequence.
    pub fn new(reducer: R) -> Self {
        Self::starting_at(reducer, 0)
    }

    /// A stream that starts in the middle of the sequence: the first element pushed has this index.
    pub fn starting_at(reducer: R, index: u64) -> Self {
        Self { reducer, span: Span::new(index) }
    }

    /// The elements taken so far.
    pub fn count(&self) -> u64 {
        self.span.count()
    }

    /// The nodes so far.
    pub fn span(&self) -> &Span<R::Acc> {
        &self.span
    }

    /// Appends the next elements. Long slices are reduced on many threads.
    pub fn push(&mut self, x: &[R::Item]) {
        let kernel = Tree(self.reducer.clone());
        let ragged = (CHUNK - self.span.end() as usize % CHUNK) % CHUNK;
        if x.len() < ONE_THREAD + ragged || parallel::threads() == 1 {
            return extend(&kernel, &mut self.span, x);
        }
        let (head, x) = x.split_at(ragged);
        extend(&kernel, &mut self.span, head);
        let at = self.span.end();
        let chunks: Vec<_> = x.chunks(CHUNK / 4).collect();
        let spans = parallel::map(chunks.len(), |i| {
            let mut span = Span::new(at + (i * (CHUNK / 4)) as u64);
            extend(&kernel, &mut span, chunks[i]);
            span
        });
        for span in spans {
            self.span.join(&self.reducer, &span).expect("chunks follow one another");
        }
    }

    /// Appends a stream of the range that follows.
    ///
    /// # Errors
    /// [`NotAdjacent`] if the other does not start where this one ends; nothing has changed then.
    pub fn join(&mut self, next: &Self) -> Result<(), NotAdjacent> {
        self.span.join(&self.reducer, &next.span)
    }

    /// The result of all elements from the start of the sequence. `None` if the stream did not start at 0, or there are
    /// no elements and the reducer has no identity. The stream can go on.
    pub fn finish(&self) -> Option<R::Output> {
        if self.span.start() != 0 {
            return None;
        }
        match self.span.root(&self.reducer) {
            Some(acc) => Some(self.reducer.finish(acc, self.span.count())),
            None => self.reducer.finish_empty(),
        }
    }
}

/// Appends a run of elements to a span, as the fewest canonical nodes that make it up.
fn extend<R: Reducer>(kernel: &Tree<R>, span: &mut Span<R::Acc>, mut x: &[R::Item]) {
    while !x.is_empty() {
        let at = span.end();
        let level = at.trailing_zeros().min(BLOCK.ilog2()).min(x.len().ilog2());
        let (now, later) = x.split_at(1 << level);
        span.push(kernel.reducer(), level, block(kernel, now, at));
        x = later;
    }
}
