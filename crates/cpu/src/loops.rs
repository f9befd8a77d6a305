//! A kernel without its types, as the engines call it.
//!
//! The engines cut a problem into tasks, find elements in memory and keep nodes. They depend on the sizes of elements
//! and nodes only. So they are compiled once, for addresses, and call a kernel by a table of loops: the trait
//! [`Loops`], which every [`Kernel`] implements.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::kernel::{Acc, Item as Elem, Kernel};
use super::panel::Panel;
use super::policy::PANEL;
use super::staggered::Staggered;
use super::tree::few;

/// An element, as the kernel reads it. Only its address is known here.
#[repr(C)]
pub struct Item([u8; 0]);

/// A node of the tree. Only its address is known here.
#[repr(C)]
pub struct Node([u8; 0]);

/// A result. Only its address is known here.
#[repr(C)]
pub struct Value([u8; 0]);

/// The greatest alignment of a node.
pub const ALIGN: usize = 64;

/// The most bytes of a node.
pub const MOST_NODE: usize = 4 * ALIGN;

/// The facts about a kernel's types that the engines need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// Bytes of an element.
    pub item: usize,
    /// Alignment of an element.
    pub align: usize,
    /// Bytes of a node.
    pub node: usize,
    /// Whether a node is one number: then its alignment is its size.
    pub number: bool,
    /// Bytes of a result.
    pub value: usize,
    /// [`Reducer::INDEXED`].
    pub indexed: bool,
    /// [`Kernel::FREE`].
    pub free: bool,
    /// [`Kernel::RUNS`].
    pub runs: bool,
    /// [`Kernel::LONG`].
    pub long: bool,
    /// [`Kernel::ENDS`].
    pub ends: bool,
    /// [`Kernel::ROWS`].
    pub rows: usize,
    /// [`Kernel::DENSE`].
    pub dense: bool,
    /// [`Kernel::DENSE_ITEMS`].
    pub dense_items: usize,
    /// [`Kernel::STAGGERED`].
    pub staggered: bool,
    /// Whether [`Loops::columns`] is implemented.
    pub ragged: bool,
}

/// The loops of a kernel, by addresses. Each method does what the method of [`Kernel`] that it names does.
///
/// # Safety
/// Every method has the same contract. Addresses are aligned and of this kernel's types. Elements that are read are
/// initialised and as many as the arguments say. Nodes that are read have been written. Nodes and values that are
/// written have room, to which nothing else refers during the call.
pub trait Loops: Sync {
    /// The facts about the types.
    fn facts(&self) -> Facts;

    /// [`Kernel::apart`].
    fn apart(&self, len: usize) -> bool;

    /// [`Kernel::takes_dense`].
    fn takes_dense(&self, width: usize) -> bool;

    /// Whether segments and groups without elements have results.
    fn has_empty(&self) -> bool;

    /// [`Kernel::block_after`] of `n` elements. `left` is the node before, or null.
    unsafe fn block(&self, left: *const Node, x: *const Item, n: usize, start: u64, to: *mut Node);

    /// [`Kernel::is_final`].
    unsafe fn is_final(&self, node: *const Node) -> bool;

    /// [`Kernel::ends`] of `n` rows.
    unsafe fn ends(&self, x: *const Item, step: isize, len: usize, n: usize, to: *mut Node) -> bool;

    /// The tree over `n` elements, at least one and at most a block; fast for a few.
    unsafe fn short(&self, x: *const Item, n: usize, start: u64, to: *mut Node);

    /// [`Kernel::rows`] of `n` elements.
    unsafe fn rows(&self, x: *const Item, n: usize, len: usize, to: *mut Node);

    /// [`Kernel::columns`] of `n` elements.
    unsafe fn columns(&self, x: *const Item, n: usize, lens: &[u32], to: *mut Node);

    /// [`Kernel::panel`] of `width` columns.
    unsafe fn panel(&self, panel: Panel<'_, Item>, width: usize, to: *mut Node);

    /// [`Kernel::staggered`] of `width` columns.
    unsafe fn staggered(&self, rows: Staggered<'_, Item>, width: usize, to: *mut Node);

    /// [`Kernel::panel_after`].
    unsafe fn panel_after(&self, rows: &[*const Item], start: u64, width: usize, nodes: *mut Node);

    /// [`Kernel::dense`] of `n` elements.
    unsafe fn dense(&self, x: *const Item, n: usize, start: u64, width: usize, to: *mut Node);

    /// [`Kernel::dense_after`].
    unsafe fn dense_after(&self, x: *const Item, n: usize, start: u64, width: usize, nodes: *mut Node);

    /// [`Kernel::merge`] of `n` nodes.
    unsafe fn merge(&self, left: *const Node, n_left: u64, right: *mut Node, n_right: u64, n: usize);

    /// [`Kernel::move_places`] of `n` nodes.
    unsafe fn move_places(&self, nodes: *mut Node, n: usize, to: &dyn Fn(usize, u64) -> u64);

    /// The tree over `n` nodes of `weight` elements each, except for the last, which has `last`. The root replaces the
    /// first node.
    unsafe fn root(&self, nodes: *mut Node, n: usize, weight: u64, last: u64);

    /// [`Kernel::finish`] of `n` nodes.
    unsafe fn finish(&self, nodes: *const Node, n: usize, count: u64, to: *mut Value);

    /// [`Kernel::single`] of `n` elements.
    unsafe fn single(&self, x: *const Item, n: usize, to: *mut Value);

    /// The values of nodes that have `counts` elements. A node of no elements is not used. Returns whether all have a
    /// value.
    unsafe fn finish_each(&self, nodes: *const Node, counts: &[u32], to: *mut Value) -> bool;

    /// The node of no elements. Returns whether there is one.
    unsafe fn identity(&self, to: *mut Node) -> bool;

    /// The value of no elements. Returns whether there is one.
    unsafe fn finish_empty(&self, to: *mut Value) -> bool;

    /// The values of the segments `offsets[i]..offsets[i + 1]`, which are written `step` bytes apart. The first segment
    /// begins at `x`. No segment is longer than a block. If one is empty, empty segments have a value.
    unsafe fn segments(&self, x: *const Item, offsets: &[usize], to: *mut Value, step: isize);
}

/// The result of one output.
type Out<K> = <<K as Kernel>::R as Reducer>::Output;

/// The `n` elements at an address.
///
/// # Safety
/// `n` elements are readable at `x` for the lifetime that the caller chooses.
#[inline(always)]
unsafe fn items<'x, K: Kernel + ?Sized>(x: *const Item, n: usize) -> &'x [Elem<K>] {
    // SAFETY: the caller vouches for `n` elements of this type at `x`.
    unsafe { std::slice::from_raw_parts(x.cast(), n) }
}

/// The room for `n` nodes at an address.
///
/// # Safety
/// There is room for `n` nodes at `to` for the lifetime that the caller chooses, and nothing else refers to it.
#[inline(always)]
unsafe fn room<'x, T>(to: *mut Node, n: usize) -> &'x mut [MaybeUninit<T>] {
    // SAFETY: the caller vouches for room for `n` values at `to`, which nothing else refers to.
    unsafe { std::slice::from_raw_parts_mut(to.cast(), n) }
}

/// The addresses of rows, as addresses of the kernel's elements.
#[inline(always)]
fn typed<T>(rows: &[*const Item]) -> &[*const T] {
    // SAFETY: addresses of either type have one layout.
    unsafe { &*(std::ptr::from_ref(rows) as *const [*const T]) }
}

impl<K: Kernel> Loops for K {
    fn facts(&self) -> Facts {
        const { assert!(align_of::<Acc<K>>() <= ALIGN, "nodes are aligned to at most 64 bytes") };
        Facts {
            item: size_of::<Elem<K>>(),
            align: align_of::<Elem<K>>(),
            node: size_of::<Acc<K>>(),
            number: size_of::<Acc<K>>() == align_of::<Acc<K>>(),
            value: size_of::<Out<K>>(),
            indexed: K::R::INDEXED,
            free: K::FREE,
            runs: K::RUNS,
            long: K::LONG,
            ends: K::ENDS,
            rows: K::ROWS,
            dense: K::DENSE,
            dense_items: K::DENSE_ITEMS,
            staggered: K::STAGGERED,
            ragged: K::RAGGED && self.reducer().identity().is_some(),
        }
    }

    fn apart(&self, len: usize) -> bool {
        K::apart(len)
    }

    fn takes_dense(&self, width: usize) -> bool {
        K::takes_dense(width)
    }

    fn has_empty(&self) -> bool {
        self.reducer().finish_empty().is_some()
    }

    unsafe fn block(&self, left: *const Node, x: *const Item, n: usize, start: u64, to: *mut Node) {
        // SAFETY: the caller passes `n` elements at `x`, a node or null as `left`, and room for a node at `to`.
        unsafe {
            let left = left.cast::<Acc<K>>().as_ref().copied();
            to.cast::<Acc<K>>().write(self.block_after(left, items::<K>(x, n), start));
        }
    }

    unsafe fn is_final(&self, node: *const Node) -> bool {
        // SAFETY: the caller passes a written node.
        Kernel::is_final(self, unsafe { &*node.cast::<Acc<K>>() })
    }

    unsafe fn ends(&self, x: *const Item, step: isize, len: usize, n: usize, to: *mut Node) -> bool {
        // SAFETY: the caller passes `n` rows of `len` elements, and room for a node of each.
        unsafe { Kernel::ends(self, x.cast(), step, len, room(to, n)) }
    }

    unsafe fn short(&self, x: *const Item, n: usize, start: u64, to: *mut Node) {
        // SAFETY: the caller passes `n` elements at `x`, and room for a node at `to`.
        unsafe { to.cast::<Acc<K>>().write(short(self, items::<K>(x, n), start)) };
    }

    unsafe fn rows(&self, x: *const Item, n: usize, len: usize, to: *mut Node) {
        // SAFETY: the caller passes `n` elements at `x`, whole rows of `len`, and room for a node of each row.
        unsafe { Kernel::rows(self, items::<K>(x, n), len, room(to, n / len)) };
    }

    unsafe fn columns(&self, x: *const Item, n: usize, lens: &[u32], to: *mut Node) {
        // SAFETY: the caller passes `n` elements at `x`, whole tiles, and room for a node of each column.
        unsafe { Kernel::columns(self, items::<K>(x, n), lens, room(to, lens.len())) };
    }

    unsafe fn panel(&self, panel: Panel<'_, Item>, width: usize, to: *mut Node) {
        // SAFETY: the caller passes room for the nodes of `width` columns of each group.
        let out = unsafe { room(to, panel.groups * width) };
        // SAFETY: every row is good for `width` elements in each group, which is a group's share of `out`.
        unsafe { Kernel::panel(self, panel.cast(), out) };
    }

    unsafe fn staggered(&self, rows: Staggered<'_, Item>, width: usize, to: *mut Node) {
        // SAFETY: the caller passes rows of `width` elements, and room for as many nodes.
        unsafe { Kernel::staggered(self, rows.cast(), room(to, width)) };
    }

    unsafe fn panel_after(&self, rows: &[*const Item], start: u64, width: usize, nodes: *mut Node) {
        // SAFETY: every row is good for `width` elements, and there are as many written nodes.
        unsafe { Kernel::panel_after(self, typed(rows), start, std::slice::from_raw_parts_mut(nodes.cast(), width)) };
    }

    unsafe fn dense(&self, x: *const Item, n: usize, start: u64, width: usize, to: *mut Node) {
        // SAFETY: the caller passes `n` elements at `x`, and room for a node of each column.
        unsafe { Kernel::dense(self, items::<K>(x, n), start, room(to, width)) };
    }

    unsafe fn dense_after(&self, x: *const Item, n: usize, start: u64, width: usize, nodes: *mut Node) {
        // SAFETY: the caller passes `n` elements at `x`, and a written node of each column.
        unsafe {
            Kernel::dense_after(self, items::<K>(x, n), start, std::slice::from_raw_parts_mut(nodes.cast(), width));
        }
    }

    unsafe fn merge(&self, left: *const Node, n_left: u64, right: *mut Node, n_right: u64, n: usize) {
        // SAFETY: the caller passes `n` written nodes on either side, which do not overlap.
        unsafe {
            let left = std::slice::from_raw_parts(left.cast(), n);
            Kernel::merge(self, left, n_left, std::slice::from_raw_parts_mut(right.cast(), n), n_right);
        }
    }

    unsafe fn move_places(&self, nodes: *mut Node, n: usize, to: &dyn Fn(usize, u64) -> u64) {
        // SAFETY: the caller passes `n` written nodes.
        Kernel::move_places(self, unsafe { std::slice::from_raw_parts_mut(nodes.cast(), n) }, to);
    }

    unsafe fn root(&self, nodes: *mut Node, n: usize, weight: u64, last: u64) {
        // SAFETY: the caller passes `n` written nodes.
        Kernel::root(self, unsafe { std::slice::from_raw_parts_mut(nodes.cast(), n) }, weight, last);
    }

    unsafe fn finish(&self, nodes: *const Node, n: usize, count: u64, to: *mut Value) {
        // SAFETY: the caller passes `n` written nodes, and room for as many values.
        unsafe {
            let out = std::slice::from_raw_parts_mut(to.cast(), n);
            Kernel::finish(self, std::slice::from_raw_parts(nodes.cast(), n), count, out);
        }
    }

    unsafe fn single(&self, x: *const Item, n: usize, to: *mut Value) {
        // SAFETY: the caller passes `n` elements at `x`, and room for as many values.
        unsafe { Kernel::single(self, items::<K>(x, n), std::slice::from_raw_parts_mut(to.cast(), n)) };
    }

    unsafe fn finish_each(&self, nodes: *const Node, counts: &[u32], to: *mut Value) -> bool {
        // SAFETY: the caller passes a written node for each count.
        let nodes = unsafe { std::slice::from_raw_parts(nodes.cast::<Acc<K>>(), counts.len()) };
        let to = to.cast::<Out<K>>();
        // SAFETY: the caller passes room for a value of each node.
        let out = unsafe { std::slice::from_raw_parts_mut(to.cast::<MaybeUninit<_>>(), counts.len()) };
        let identity = self.reducer().identity();
        // A local copy, which `out` cannot overlap.
        let reducer = self.reducer().clone();
        for ((out, &node), &count) in out.iter_mut().zip(nodes).zip(counts) {
            out.write(reducer.finish(node, count as u64));
        }
        // A reducer without an identity may still have a result of no elements: the initial value of a maximum.
        let no_node = |count: u32| count == 0 && identity.is_none();
        for (out, _) in out.iter_mut().zip(counts).filter(|&(_, &count)| no_node(count)) {
            match self.reducer().finish_empty() {
                Some(value) => out.write(value),
                None => return false,
            };
        }
        true
    }

    unsafe fn identity(&self, to: *mut Node) -> bool {
        let identity = self.reducer().identity();
        // SAFETY: the caller passes room for a node.
        identity.map(|node| unsafe { to.cast::<Acc<K>>().write(node) }).is_some()
    }

    unsafe fn finish_empty(&self, to: *mut Value) -> bool {
        let value = self.reducer().finish_empty();
        // SAFETY: the caller passes room for a value.
        value.map(|value| unsafe { to.cast::<Out<K>>().write(value) }).is_some()
    }

    unsafe fn segments(&self, x: *const Item, offsets: &[usize], to: *mut Value, step: isize) {
        for (i, pair) in offsets.windows(2).enumerate() {
            let len = pair[1] - pair[0];
            // SAFETY: the caller passes the elements of all segments from `x` on, and room for a value every `step`
            // bytes.
            unsafe {
                let value = if len == 0 {
                    self.reducer().finish_empty().expect("empty segments have a value")
                } else {
                    let x = std::slice::from_raw_parts(x.cast::<Elem<K>>().add(pair[0] - offsets[0]), len);
                    self.reducer().finish(short(self, x, 0), len as u64)
                };
                to.byte_offset(i as isize * step).cast::<Out<K>>().write(value);
            }
        }
    }
}

/// The tree over at most a block of elements, the first of which has the index `at`.
#[inline(always)]
fn short<K: Kernel>(kernel: &K, x: &[Elem<K>], at: u64) -> Acc<K> {
    match x.len() {
        // A block takes longer to begin than so few elements take without one.
        ..=PANEL => few(kernel.reducer(), x, at),
        _ => kernel.block(x, at),
    }
}
