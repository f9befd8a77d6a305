//! Nodes and elements of which only the size is known.

use std::mem::MaybeUninit;

use crate::loops::{ALIGN, Item, Node};
use crate::moves::copy;

/// Memory for any nodes.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Word([MaybeUninit<u8>; ALIGN]);

/// A list of nodes.
pub struct Nodes {
    words: Vec<MaybeUninit<Word>>,
    len: usize,
    /// Bytes of a node.
    size: usize,
}

impl Nodes {
    /// None yet, each of `size` bytes.
    pub fn new(size: usize) -> Self {
        Self { words: Vec::new(), len: 0, size }
    }

    /// The same, with room for some.
    pub fn with_capacity(size: usize, n: usize) -> Self {
        let mut nodes = Self::new(size);
        nodes.reserve(n);
        nodes
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Forgets the last.
    pub fn pop(&mut self) {
        self.len -= 1;
    }

    /// Makes room for so many in all.
    pub fn reserve(&mut self, n: usize) {
        let words = (n * self.size).div_ceil(ALIGN);
        if words > self.words.len() {
            self.words.reserve(words - self.words.len());
            // SAFETY: what is there need not be initialised.
            unsafe { self.words.set_len(self.words.capacity()) };
        }
    }

    /// Becomes `n` nodes, which `write` writes.
    ///
    /// # Safety
    /// It writes all of them.
    #[inline]
    pub unsafe fn write(&mut self, n: usize, write: impl FnOnce(*mut Node)) {
        self.len = 0;
        self.reserve(n);
        write(self.words.as_mut_ptr().cast());
        self.len = n;
    }

    /// One more, which `write` writes.
    ///
    /// # Safety
    /// It writes it.
    #[inline]
    pub unsafe fn push_with(&mut self, write: impl FnOnce(*mut Node)) {
        self.reserve(self.len + 1);
        write(self.words.as_mut_ptr().wrapping_byte_add(self.len * self.size).cast());
        self.len += 1;
    }

    /// One more, which `write` writes; it is given the one before, or null.
    ///
    /// # Safety
    /// It writes it.
    #[inline]
    pub unsafe fn push_after(&mut self, write: impl FnOnce(*const Node, *mut Node)) {
        self.reserve(self.len + 1);
        let left = self.last();
        // SAFETY: the caller's.
        unsafe { self.push_with(|to| write(left, to)) };
    }

    /// One more.
    ///
    /// # Safety
    /// There is a node of this size.
    #[inline]
    pub unsafe fn push(&mut self, node: *const Node) {
        let size = self.size;
        // SAFETY: the caller's; there is room.
        unsafe { self.push_with(|to| copy(node, to, size)) };
    }

    /// Where the first of them is.
    pub fn first(&self) -> *const Node {
        self.words.as_ptr().cast()
    }

    /// The same.
    pub fn first_mut(&mut self) -> *mut Node {
        self.words.as_mut_ptr().cast()
    }

    /// Where one of them is.
    #[inline]
    pub fn at(&self, i: usize) -> *const Node {
        assert!(i < self.len);
        self.first().wrapping_byte_add(i * self.size)
    }

    /// Where the last two are.
    pub fn pair(&mut self) -> *mut Node {
        assert!(self.len >= 2);
        self.first_mut().wrapping_byte_add((self.len - 2) * self.size)
    }

    /// Where the last of them is; null, if there is none.
    pub fn last(&self) -> *const Node {
        if self.len == 0 { std::ptr::null() } else { self.at(self.len - 1) }
    }
}

/// Elements that were copied together.
pub struct Items {
    words: Vec<MaybeUninit<Word>>,
}

impl Items {
    /// None yet.
    pub fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Whether there has been no room.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Room for so many bytes. What was there is lost if it grows.
    pub fn room(&mut self, bytes: usize) -> *mut Item {
        let words = bytes.div_ceil(ALIGN);
        if words > self.words.len() {
            self.words = Vec::with_capacity(words);
            // SAFETY: what is there need not be initialised.
            unsafe { self.words.set_len(words) };
        }
        self.words.as_mut_ptr().cast()
    }
}
