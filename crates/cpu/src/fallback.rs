//! The loops of any kernel on a CPU that has no vectors for which kernels are compiled: subtrees of a few elements, one
//! after the other, by what every kernel has without vectors. Few such CPUs of x86-64 are left, and loops of its
//! baseline for each kernel were a sixth of the command, and a third of what there was to compile.

use std::mem::MaybeUninit;

use super::engine::nodes::{Items, Nodes};
#[cfg(feature = "reductions")]
use super::kernel::{Acc, Item as Elem, Kernel};
use super::loops::{Facts, Item, Loops, MOST_NODE, Node, Value};
use super::moves::copy;
use super::panel::Panel;
use super::policy::PANEL;
use super::simd::Simd;
use super::staggered::Staggered;

/// See the module.
pub struct Fallback<'a>(pub &'a dyn Loops);

/// Whether this CPU, or the level in use, needs it.
fn is_needed() -> bool {
    cfg!(target_arch = "x86_64") && Simd::current() == Simd::Baseline
}

/// [`Kernel::block`] on any CPU.
#[cfg(feature = "reductions")]
pub fn block<K: Kernel>(kernel: &K, x: &[Elem<K>], start: u64) -> Acc<K> {
    if !is_needed() {
        return kernel.block(x, start);
    }
    let mut node = MaybeUninit::<Acc<K>>::uninit();
    // SAFETY: the elements are a slice, and there is room for the node, which is written.
    unsafe {
        Fallback(kernel).block(std::ptr::null(), x.as_ptr().cast(), x.len(), start, node.as_mut_ptr().cast());
        node.assume_init()
    }
}

impl Fallback<'_> {
    /// These loops, or the kernel's own, whichever this CPU has.
    pub fn or_own(&self) -> &dyn Loops {
        if is_needed() { self } else { self.0 }
    }

    /// The tree over `n` elements: over at most eight subtrees, each of a power of eight elements. The facts are those
    /// of the kernel.
    ///
    /// # Safety
    /// As of [`Loops::block`].
    unsafe fn tree(&self, facts: Facts, x: *const Item, n: usize, start: u64, to: *mut Node) {
        /// Room for the nodes of the subtrees.
        #[repr(C, align(64))]
        struct Room([MaybeUninit<u8>; PANEL * MOST_NODE]);
        let mut room = Room([MaybeUninit::uninit(); PANEL * MOST_NODE]);
        let (nodes, each) = ((&raw mut room.0).cast::<Node>(), PANEL.pow((n.max(2) - 1).ilog(PANEL)));
        assert!(facts.node <= MOST_NODE);
        // SAFETY: the caller's. There is room for a node of each subtree.
        unsafe {
            if n <= PANEL {
                return self.0.short(x, n, start, to);
            }
            for (i, from) in (0..n).step_by(each).enumerate() {
                let (x, node) = (x.byte_add(from * facts.item), nodes.byte_add(i * facts.node));
                self.tree(facts, x, each.min(n - from), start + from as u64, node);
            }
            self.0.root(nodes, n.div_ceil(each), each as u64, ((n - 1) % each + 1) as u64);
            copy(nodes, to, facts.node);
        }
    }
}

// SAFETY (of each method): the contract is that of the method of the kernel's own loops that has the name.
impl Loops for Fallback<'_> {
    fn facts(&self) -> Facts {
        let none = Facts { runs: false, long: false, ends: false, dense: false, ..self.0.facts() };
        Facts { rows: PANEL, staggered: false, ragged: false, ..none }
    }

    fn apart(&self, _len: usize) -> bool {
        false
    }

    fn takes_dense(&self, _width: usize) -> bool {
        false
    }

    fn has_empty(&self) -> bool {
        self.0.has_empty()
    }

    unsafe fn block(&self, _left: *const Node, x: *const Item, n: usize, start: u64, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.tree(self.0.facts(), x, n, start, to) };
    }

    unsafe fn is_final(&self, node: *const Node) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.is_final(node) }
    }

    unsafe fn ends(&self, _x: *const Item, _step: isize, _len: usize, _n: usize, _to: *mut Node) -> bool {
        false
    }

    unsafe fn short(&self, x: *const Item, n: usize, start: u64, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.block(std::ptr::null(), x, n, start, to) };
    }

    unsafe fn rows(&self, x: *const Item, n: usize, len: usize, to: *mut Node) {
        let Facts { item, node, .. } = self.0.facts();
        for row in 0..n / len {
            // SAFETY: the caller's.
            unsafe { self.short(x.byte_add(row * len * item), len, 0, to.byte_add(row * node)) };
        }
    }

    unsafe fn columns(&self, _x: *const Item, _n: usize, _lens: &[u32], _to: *mut Node) {
        unreachable!("the facts say so")
    }

    unsafe fn panel(&self, Panel { rows, start, groups, step }: Panel<'_, Item>, width: usize, to: *mut Node) {
        let Facts { item, node, .. } = self.0.facts();
        let mut items = Items::new();
        let column = items.room(rows.len() * item);
        for at in 0..groups * width {
            let (group, first) = (at / width, at % width * item);
            // SAFETY: the caller's. There is room for an element of each row.
            unsafe {
                for (i, row) in rows.iter().enumerate() {
                    copy(row.byte_add(group * step + first), column.byte_add(i * item), item);
                }
                self.0.short(column, rows.len(), start + (group * rows.len()) as u64, to.byte_add(at * node));
            }
        }
    }

    unsafe fn staggered(&self, _rows: Staggered<'_, Item>, _width: usize, _to: *mut Node) {
        unreachable!("the facts say so")
    }

    unsafe fn panel_after(&self, _rows: &[*const Item], _start: u64, _width: usize, _nodes: *mut Node) {
        unreachable!("the facts say so")
    }

    unsafe fn dense(&self, _x: *const Item, _n: usize, _start: u64, _width: usize, _to: *mut Node) {
        unreachable!("the facts say so")
    }

    unsafe fn dense_after(&self, _x: *const Item, _n: usize, _start: u64, _width: usize, _nodes: *mut Node) {
        unreachable!("the facts say so")
    }

    unsafe fn merge(&self, left: *const Node, n_left: u64, right: *mut Node, n_right: u64, n: usize) {
        // SAFETY: the caller's.
        unsafe { self.0.merge(left, n_left, right, n_right, n) };
    }

    unsafe fn move_places(&self, _nodes: *mut Node, _n: usize, _to: &dyn Fn(usize, u64) -> u64) {
        unreachable!("the facts say so")
    }

    unsafe fn root(&self, nodes: *mut Node, n: usize, weight: u64, last: u64) {
        // SAFETY: the caller's.
        unsafe { self.0.root(nodes, n, weight, last) };
    }

    unsafe fn finish(&self, nodes: *const Node, n: usize, count: u64, to: *mut Value) {
        // SAFETY: the caller's.
        unsafe { self.0.finish(nodes, n, count, to) };
    }

    unsafe fn single(&self, x: *const Item, n: usize, to: *mut Value) {
        let Facts { item, node, value, .. } = self.0.facts();
        let mut nodes = Nodes::with_capacity(node, 1);
        for i in 0..n {
            // SAFETY: the caller's. There is room for a node.
            unsafe {
                self.0.short(x.byte_add(i * item), 1, 0, nodes.first_mut());
                self.0.finish(nodes.first(), 1, 1, to.byte_add(i * value));
            }
        }
    }

    unsafe fn finish_each(&self, nodes: *const Node, counts: &[u32], to: *mut Value) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.finish_each(nodes, counts, to) }
    }

    unsafe fn identity(&self, to: *mut Node) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.identity(to) }
    }

    unsafe fn finish_empty(&self, to: *mut Value) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.finish_empty(to) }
    }

    unsafe fn segments(&self, x: *const Item, offsets: &[usize], to: *mut Value, step: isize) {
        let Facts { item, node, .. } = self.0.facts();
        let mut nodes = Nodes::with_capacity(node, 1);
        for (i, pair) in offsets.windows(2).enumerate() {
            let len = pair[1] - pair[0];
            // SAFETY: the caller's. There is room for a node.
            unsafe {
                let to = to.byte_offset(i as isize * step);
                if len == 0 {
                    self.0.finish_empty(to);
                } else {
                    self.short(x.byte_add((pair[0] - offsets[0]) * item), len, 0, nodes.first_mut());
                    self.0.finish(nodes.first(), 1, len as u64, to);
                }
            }
        }
    }
}
