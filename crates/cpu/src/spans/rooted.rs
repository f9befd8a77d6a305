//! A kernel whose results are its nodes: the same loops, but for the last step.

use crate::loops::{Facts, Item, Loops, Node, Value};
use crate::panel::Panel;
use crate::staggered::Staggered;

/// See the module.
pub struct Rooted<'a>(pub &'a dyn Loops);

// SAFETY (of each method): the contract is that of the method that is called, with the same arguments.
impl Loops for Rooted<'_> {
    fn facts(&self) -> Facts {
        let facts = self.0.facts();
        Facts { value: facts.node, ..facts }
    }

    fn apart(&self, len: usize) -> bool {
        self.0.apart(len)
    }

    fn takes_dense(&self, width: usize) -> bool {
        self.0.takes_dense(width)
    }

    fn has_empty(&self) -> bool {
        false
    }

    unsafe fn block(&self, left: *const Node, x: *const Item, n: usize, start: u64, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.0.block(left, x, n, start, to) };
    }

    unsafe fn is_final(&self, node: *const Node) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.is_final(node) }
    }

    unsafe fn ends(&self, x: *const Item, step: isize, len: usize, n: usize, to: *mut Node) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.ends(x, step, len, n, to) }
    }

    unsafe fn short(&self, x: *const Item, n: usize, start: u64, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.0.short(x, n, start, to) };
    }

    unsafe fn rows(&self, x: *const Item, n: usize, len: usize, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.0.rows(x, n, len, to) };
    }

    unsafe fn columns(&self, x: *const Item, n: usize, lens: &[u32], to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.0.columns(x, n, lens, to) };
    }

    unsafe fn panel(&self, panel: Panel<'_, Item>, width: usize, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.0.panel(panel, width, to) };
    }

    unsafe fn staggered(&self, rows: Staggered<'_, Item>, width: usize, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.0.staggered(rows, width, to) };
    }

    unsafe fn panel_after(&self, rows: &[*const Item], start: u64, width: usize, nodes: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.0.panel_after(rows, start, width, nodes) };
    }

    unsafe fn dense(&self, x: *const Item, n: usize, start: u64, width: usize, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.0.dense(x, n, start, width, to) };
    }

    unsafe fn dense_after(&self, x: *const Item, n: usize, start: u64, width: usize, nodes: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.0.dense_after(x, n, start, width, nodes) };
    }

    unsafe fn merge(&self, left: *const Node, n_left: u64, right: *mut Node, n_right: u64, n: usize) {
        // SAFETY: the caller's.
        unsafe { self.0.merge(left, n_left, right, n_right, n) };
    }

    unsafe fn move_places(&self, nodes: *mut Node, n: usize, to: &dyn Fn(usize, u64) -> u64) {
        // SAFETY: the caller's.
        unsafe { self.0.move_places(nodes, n, to) };
    }

    unsafe fn root(&self, nodes: *mut Node, n: usize, weight: u64, last: u64) {
        // SAFETY: the caller's.
        unsafe { self.0.root(nodes, n, weight, last) };
    }

    unsafe fn finish(&self, nodes: *const Node, n: usize, _count: u64, to: *mut Value) {
        let bytes = n * self.0.facts().node;
        // SAFETY: the caller passes `n` nodes, and room for as many values, which are nodes.
        unsafe { std::ptr::copy_nonoverlapping(nodes.cast::<u8>(), to.cast(), bytes) };
    }

    unsafe fn single(&self, x: *const Item, n: usize, to: *mut Value) {
        // SAFETY: the caller passes `n` elements, and room for as many values, which are nodes.
        unsafe { self.0.rows(x, n, 1, to.cast()) };
    }

    unsafe fn finish_each(&self, _nodes: *const Node, _counts: &[u32], _to: *mut Value) -> bool {
        unreachable!("nodes are not grouped")
    }

    unsafe fn identity(&self, to: *mut Node) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.identity(to) }
    }

    unsafe fn finish_empty(&self, _to: *mut Value) -> bool {
        false
    }

    unsafe fn segments(&self, _x: *const Item, _offsets: &[usize], _to: *mut Value, _step: isize) {
        unreachable!("nodes have no segments")
    }
}
