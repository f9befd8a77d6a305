//! Nodes and elements of which only the size is known.

use std::cell::RefCell;
use std::mem::MaybeUninit;

use crate::loops::{ALIGN, Item, Node};
use crate::moves::copy;

/// A piece of memory, aligned for any node.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Word([MaybeUninit<u8>; ALIGN]);

/// Some memory, which a thread keeps for its next task. (Memory that is given back is zeroed by the system, page by
/// page, before a task has it again: half of the time of tasks with buffers of 128 KiB.)
struct Words(Vec<MaybeUninit<Word>>);

/// The most words that a thread keeps: 4 MiB.
const KEPT: usize = (4 << 20) / ALIGN;
/// The fewest words that are worth being kept: 4 KiB.
const WORTH: usize = (4 << 10) / ALIGN;
/// The most pieces that a thread keeps. All are looked at when one is taken or given back.
const PIECES: usize = 32;

thread_local! {
    static SPARE: RefCell<Vec<Vec<MaybeUninit<Word>>>> = const { RefCell::new(Vec::new()) };
}

impl Words {
    /// No memory yet.
    fn new() -> Self {
        Self(Vec::new())
    }

    /// At least `n` words: the smallest memory that the thread has kept and that is large enough, or else new memory.
    fn take(n: usize) -> Self {
        let kept = |spare: &RefCell<Vec<Vec<_>>>| {
            let mut spare = spare.try_borrow_mut().ok()?;
            let fits = spare.iter().enumerate().filter(|(_, words)| (n..4 * n).contains(&words.len()));
            let (i, _) = fits.min_by_key(|(_, words)| words.len())?;
            Some(spare.swap_remove(i))
        };
        if n >= WORTH
            && let Ok(Some(words)) = SPARE.try_with(kept)
        {
            return Self(words);
        }
        let mut words = Vec::with_capacity(n);
        // SAFETY: `MaybeUninit` words need not be initialised, and the capacity is at least as many.
        unsafe { words.set_len(n) };
        Self(words)
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let words = std::mem::take(&mut self.0);
        if words.len() < WORTH {
            return;
        }
        // At the end of a thread its memory is freed instead.
        let _ = SPARE.try_with(|spare| {
            let Ok(mut spare) = spare.try_borrow_mut() else { return };
            if spare.len() < PIECES && spare.iter().map(Vec::len).sum::<usize>() + words.len() <= KEPT {
                spare.push(words);
            }
        });
    }
}

/// A list of nodes.
pub struct Nodes {
    words: Words,
    len: usize,
    /// Bytes of a node.
    size: usize,
}

impl Nodes {
    /// An empty list of nodes of `size` bytes.
    pub fn new(size: usize) -> Self {
        Self { words: Words::new(), len: 0, size }
    }

    /// An empty list with room for `n` nodes.
    pub fn with_capacity(size: usize, n: usize) -> Self {
        let mut nodes = Self::new(size);
        nodes.reserve(n);
        nodes
    }

    /// A copy of the list.
    #[cfg(feature = "reductions")]
    pub fn copied(&self) -> Self {
        let (mut other, bytes) = (Self::new(self.size), self.len * self.size);
        // SAFETY: there are as many bytes of nodes here, and `write` has room for them.
        unsafe { other.write(self.len, |to| copy(self.first(), to, bytes)) };
        other
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of a node.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Removes all nodes.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Removes the last `n` nodes.
    pub fn shorten(&mut self, n: usize) {
        self.len -= n;
    }

    /// Makes room for `n` nodes in all.
    pub fn reserve(&mut self, n: usize) {
        let words = (n * self.size).div_ceil(ALIGN);
        if words > self.words.0.len() {
            let mut more = Words::take(words.max(2 * self.words.0.len()));
            more.0[..self.words.0.len()].copy_from_slice(&self.words.0);
            self.words = more;
        }
    }

    /// Replaces the list by `n` nodes, which `write` writes to the address that it is given.
    ///
    /// # Safety
    /// `write` writes all `n` nodes.
    #[inline]
    pub unsafe fn write(&mut self, n: usize, write: impl FnOnce(*mut Node)) {
        self.len = 0;
        self.reserve(n);
        write(self.words.0.as_mut_ptr().cast());
        self.len = n;
    }

    /// Appends `n` nodes, which `write` writes to the address that it is given.
    ///
    /// # Safety
    /// `write` writes all `n` nodes.
    #[inline]
    pub unsafe fn append(&mut self, n: usize, write: impl FnOnce(*mut Node)) {
        self.reserve(self.len + n);
        write(self.words.0.as_mut_ptr().wrapping_byte_add(self.len * self.size).cast());
        self.len += n;
    }

    /// Appends a node, which `write` writes to the address that it is given.
    ///
    /// # Safety
    /// `write` writes the node.
    #[inline]
    pub unsafe fn push_with(&mut self, write: impl FnOnce(*mut Node)) {
        // SAFETY: the caller's.
        unsafe { self.append(1, write) };
    }

    /// Appends a node, which `write` writes. `write` is given the address of the last node, or null, and that of the
    /// new node.
    ///
    /// # Safety
    /// `write` writes the new node.
    #[inline]
    pub unsafe fn push_after(&mut self, write: impl FnOnce(*const Node, *mut Node)) {
        self.reserve(self.len + 1);
        let left = self.last();
        // SAFETY: the caller vouches that `write` writes the node. There is room already, so `left` stays where it is.
        unsafe { self.push_with(|to| write(left, to)) };
    }

    /// Appends a copy of a node.
    ///
    /// # Safety
    /// A node of this list's size is readable at `node`.
    #[inline]
    pub unsafe fn push(&mut self, node: *const Node) {
        let size = self.size;
        // SAFETY: the caller vouches for the node, and `push_with` makes room for a copy of it.
        unsafe { self.push_with(|to| copy(node, to, size)) };
    }

    /// The address of the first node.
    pub fn first(&self) -> *const Node {
        self.words.0.as_ptr().cast()
    }

    /// The address of the first node, to write to.
    pub fn first_mut(&mut self) -> *mut Node {
        self.words.0.as_mut_ptr().cast()
    }

    /// The address of node number `i`.
    #[inline]
    pub fn at(&self, i: usize) -> *const Node {
        assert!(i < self.len);
        self.first().wrapping_byte_add(i * self.size)
    }

    /// The address of the last `n` nodes.
    pub fn last_mut(&mut self, n: usize) -> *mut Node {
        assert!(self.len >= n);
        self.first_mut().wrapping_byte_add((self.len - n) * self.size)
    }

    /// The address of the last node; null if there is none.
    pub fn last(&self) -> *const Node {
        if self.len == 0 { std::ptr::null() } else { self.at(self.len - 1) }
    }
}

/// Memory that elements are copied to.
pub struct Items {
    words: Words,
}

impl Items {
    /// No memory yet.
    pub fn new() -> Self {
        Self { words: Words::new() }
    }

    /// Room for `bytes` bytes. The elements that were there are lost if the room must grow.
    pub fn room(&mut self, bytes: usize) -> *mut Item {
        let words = bytes.div_ceil(ALIGN);
        if words > self.words.0.len() {
            self.words = Words::take(words);
        }
        self.words.0.as_mut_ptr().cast()
    }
}
