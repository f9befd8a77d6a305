//! A planned launch: a kernel, its grid and block, and its launch struct, of which only the device addresses are
//! open.

use std::marker::PhantomData;
use warpfold_kernels::params::{Params, Plain, address_words, words};
use warpfold_kernels::reduce::call::CallAt;

/// One kernel launch. `A` are the addresses that its kernel takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch<A> {
    /// The kernel.
    pub entry: String,
    /// Blocks.
    pub grid: u32,
    /// Threads per block.
    pub block: u32,
    /// Bytes of the kernel's large shared array, if launches differ in that.
    pub room: u32,
    words: Vec<u64>,
    moved: Moved,
    addresses: PhantomData<A>,
}

/// Where a launch finds its elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum From {
    /// So many bytes from where the reduction's are.
    Input(usize),
    /// So many bytes into the workspace.
    Workspace(usize),
}

/// Where the results of a launch go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum To {
    /// So many bytes from the reduction's output.
    Output(isize),
    /// So many bytes into the workspace.
    Workspace(usize),
}

/// A launch that is not of the reduction's own input and output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moved {
    pub from: From,
    pub to: To,
}

impl<A: Plain> Launch<A> {
    /// Plans a launch with everything but the addresses.
    pub fn new<P: Params<At = A>>(entry: impl Into<String>, grid: u32, block: u32, params: &P) -> Self {
        Self {
            entry: entry.into(),
            grid,
            block,
            room: 0,
            words: words(params),
            moved: Moved { from: From::Input(0), to: To::Output(0) },
            addresses: PhantomData,
        }
    }

    /// The same launch, with so many bytes for a large shared array.
    pub(super) fn with_room(self, bytes: u32) -> Self {
        Self { room: bytes, ..self }
    }

    /// The launch struct in words. It begins with addresses, which are not filled in.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The launch struct in words, with these addresses.
    #[must_use]
    pub fn with(&self, at: A) -> Vec<u64> {
        let at = address_words(&at);
        [at, &self.words[at.len()..]].concat()
    }

    /// The kernel's PTX, as the driver is given it; none, if it is a reducer's own.
    #[must_use]
    pub fn ptx(&self) -> Option<String> {
        warpfold_kernels::ptx(&self.entry)
    }
}

impl Launch<CallAt> {
    /// The same launch, of other elements and results.
    pub(super) fn moved(self, moved: Moved) -> Self {
        Self { moved, ..self }
    }

    /// The same launch, whose results go so many bytes into the workspace, if they went to the output.
    pub(super) fn with_results_at(self, bytes: usize) -> Self {
        let to = match self.moved.to {
            To::Output(by) => To::Workspace(bytes.wrapping_add_signed(by)),
            to @ To::Workspace(_) => to,
        };
        Self { moved: Moved { to, ..self.moved }, ..self }
    }

    /// The same launch, whose elements are so many bytes into the workspace, if they were the reduction's.
    pub(super) fn with_elements_at(self, bytes: usize) -> Self {
        let from = match self.moved.from {
            From::Input(by) => From::Workspace(bytes + by),
            from @ From::Workspace(_) => from,
        };
        Self { moved: Moved { from, ..self.moved }, ..self }
    }

    /// The launch's addresses, from those of the whole reduction.
    #[must_use]
    pub fn place(&self, at: CallAt) -> CallAt {
        let input = match self.moved.from {
            From::Input(by) => at.input + by as u64,
            From::Workspace(by) => at.workspace + by as u64,
        };
        let output = match self.moved.to {
            To::Output(by) => at.output.wrapping_add_signed(by as i64),
            To::Workspace(by) => at.workspace + by as u64,
        };
        CallAt { input, output, ..at }
    }
}
