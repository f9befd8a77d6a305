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
    words: Vec<u64>,
    staged: Option<Staged>,
    addresses: PhantomData<A>,
}

/// Where a launch finds a copy of its elements, and where its results go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Staged {
    /// Bytes from the workspace to the copy.
    pub input: usize,
    /// Bytes from the output to the launch's first result.
    pub output: isize,
}

impl<A: Plain> Launch<A> {
    /// Plans a launch with everything but the addresses.
    pub fn new<P: Params<At = A>>(entry: impl Into<String>, grid: u32, block: u32, params: &P) -> Self {
        Self { entry: entry.into(), grid, block, words: words(params), staged: None, addresses: PhantomData }
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
    /// The same launch, of elements that have been copied.
    pub(super) fn reading(self, staged: Staged) -> Self {
        Self { staged: Some(staged), ..self }
    }

    /// The launch's addresses, from those of the whole reduction.
    #[must_use]
    pub fn place(&self, at: CallAt) -> CallAt {
        let Some(Staged { input, output }) = self.staged else { return at };
        let output = at.output.wrapping_add_signed(output as i64);
        CallAt { input: at.workspace + input as u64, output, ..at }
    }
}
