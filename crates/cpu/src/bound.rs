//! A reduction's kernel and load without their types, so that the code that runs them is compiled once.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicBool;

use warpfold_array::problem::{At, Problem};
use warpfold_array::{Collect, Hole, Progress, Scalar, Value as Element, Values};
use warpfold_core::{DType, Reducer, with_dtype};

use crate::engine::{Cuts, Labels, Storing, Work, one_block};
use crate::fallback::Fallback;
use crate::kernel::{Item as Elem, Kernel};
use crate::load::{By, Fetch, Load};
use crate::loops::{Item, Loops, Node, Value};
use crate::output::{Output, large_pages};
use crate::store::{Store, Stored};
use crate::wire::Wire;

/// The outputs without a value, ascending, and why they have none.
pub type Holes = Vec<(usize, Hole)>;

/// A function that writes a value to every place and returns true, or returns false.
pub type Write<'a> = &'a mut dyn FnMut(&Output<Value>) -> bool;

/// See the module.
pub struct Bound<'a> {
    /// The kernel's loops.
    pub kernel: &'a dyn Loops,
    /// How elements are loaded.
    pub load: &'a dyn Fetch,
    /// All outputs, as [`Collect`] has them; `None` if the function returns false.
    pub collect: fn(usize, Write<'_>) -> Option<Result<Values, Hole>>,
    collect_some: fn(usize, Write<'_>) -> Option<(Values, Holes)>,
    one: fn(Write<'_>) -> Result<Scalar, Hole>,
    store: fn(DType) -> Option<Store>,
    /// Elements of an output.
    width: usize,
    /// Nodes as bytes.
    pub wires: Wires,
}

/// The functions of [`Wire`] for nodes of which only the address is known.
#[derive(Clone, Copy)]
pub struct Wires {
    /// Appends `n` nodes, which are readable at the address.
    pub put: unsafe fn(*const Node, usize, &mut Vec<u8>),
    /// Reads `n` nodes of so many elements each, and writes them to the address, where there is room. Returns
    /// whether the bytes were such nodes.
    pub take: unsafe fn(&mut &[u8], usize, u64, *mut Node) -> bool,
    /// Moves `n` nodes, which are written at the address.
    pub moved: unsafe fn(*mut Node, usize, u64),
}

impl Wires {
    fn of<A: Wire>() -> Self {
        unsafe fn put<A: Wire>(nodes: *const Node, n: usize, to: &mut Vec<u8>) {
            // SAFETY: the caller vouches for `n` nodes.
            (0..n).for_each(|i| unsafe { nodes.cast::<A>().add(i).read() }.put(to));
        }
        unsafe fn take<A: Wire>(from: &mut &[u8], n: usize, count: u64, to: *mut Node) -> bool {
            (0..n).all(|i| {
                let node = A::take(from).filter(|node| node.fits(count));
                // SAFETY: the caller vouches for room for `n` nodes.
                node.map(|node| unsafe { to.cast::<A>().add(i).write(node) }).is_some()
            })
        }
        unsafe fn moved<A: Wire>(nodes: *mut Node, n: usize, by: u64) {
            for i in 0..n {
                // SAFETY: the caller vouches for `n` nodes.
                unsafe {
                    let node = nodes.cast::<A>().add(i);
                    node.write(node.read().moved(by));
                }
            }
        }
        Self { put: put::<A>, take: take::<A>, moved: moved::<A> }
    }
}

/// A function that is called with the kernel of a reduction once it is found.
pub struct Then<'f>(pub &'f mut dyn FnMut(&Bound<'_>));

impl Then<'_> {
    /// Calls the function.
    pub fn visit<K, L>(self, kernel: K, load: L)
    where
        K: Kernel,
        L: Load<Elem<K>>,
        <K::R as Reducer>::Output: Stored,
        <K::R as Reducer>::Acc: Wire,
    {
        self.bind::<<K::R as Reducer>::Output, K, L>(&kernel, &load);
    }

    /// Calls the function with a kernel whose outputs are the bits of numbers of another type.
    pub fn visit_as<O, K, L>(self, kernel: K, load: L)
    where
        O: Stored + warpfold_core::Element,
        K: Kernel<R: Reducer<Output = u64, Acc: Wire>>,
        L: Load<Elem<K>>,
    {
        const { assert!(size_of::<O>() == size_of::<u64>() && align_of::<O>() == align_of::<u64>()) };
        self.bind::<O, K, L>(&kernel, &load);
    }

    /// Calls the function with a kernel that writes outputs where there is room for an `O` each.
    fn bind<O: Stored, K: Kernel<R: Reducer<Acc: Wire>>, L: Load<Elem<K>>>(self, kernel: &K, load: &L) {
        let fallback = Fallback(kernel);
        self.0(&Bound {
            kernel: fallback.or_own(),
            load: &By::<Elem<K>, L>(load, PhantomData),
            collect: collect::<O>,
            collect_some: collect_some::<O>,
            one: one::<O>,
            store: O::store,
            width: O::WIDTH,
            wires: Wires::of::<<K::R as Reducer>::Acc>(),
        });
    }
}

/// `n` values that `write` writes; `None` if it returns false.
fn written<T>(n: usize, write: Write<'_>) -> Option<Vec<T>> {
    let mut values: Vec<T> = Vec::with_capacity(n);
    let all = write(&Output::large(&mut values.spare_capacity_mut()[..n]));
    all.then(|| {
        // SAFETY: `write` has returned true, so it has written a value of this kernel to every place.
        unsafe { values.set_len(n) };
        values
    })
}

fn collect<T: Collect>(n: usize, write: Write<'_>) -> Option<Result<Values, Hole>> {
    written::<T>(n, write).map(T::collect)
}

fn collect_some<T: Collect>(n: usize, write: Write<'_>) -> Option<(Values, Holes)> {
    let mut values = written::<T>(n, write)?;
    let holes: Holes = values.iter().enumerate().filter_map(|(at, value)| Some((at, value.hole()?))).collect();
    if !holes.is_empty() {
        values.retain(|value| value.hole().is_none());
    }
    Some((T::collect(values).expect("those without a value are gone"), holes))
}

fn one<T: Collect>(write: Write<'_>) -> Result<Scalar, Hole> {
    let mut value = MaybeUninit::<T>::uninit();
    let all = write(&Output::large(std::slice::from_mut(&mut value)));
    assert!(all, "a block has a value");
    // SAFETY: `write` has returned true, so it has written the value.
    unsafe { value.assume_init() }.one()
}

/// Where the elements of a reduction are, and how it is run.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The shape.
    pub problem: &'a Problem,
    /// The first element, and the mask's.
    pub base: At,
    /// Threads to use.
    pub threads: usize,
    /// Called after each task.
    pub progress: Option<Progress<'a>>,
}

impl Bound<'_> {
    fn work<'w>(&'w self, task: &Task<'w>) -> Work<'w> {
        let Task { problem, base, threads, progress } = *task;
        Work::new(self.kernel, self.load, problem, base, threads, progress)
    }

    /// The bytes of an output's result of a dtype, and of the output itself if outputs are gathered first.
    pub fn bytes(&self, dtype: DType) -> usize {
        let result = self.width * dtype.size();
        if (self.store)(dtype).is_some() { result } else { result.max(self.kernel.facts().value) }
    }

    /// Every output, as elements of a dtype, in the memory of `spare` if that has room for them. `None` if there are no
    /// elements to reduce and the reducer has no identity.
    ///
    /// # Safety
    /// Every element that the problem reaches from the base is readable.
    pub unsafe fn run(&self, task: &Task<'_>, dtype: DType, spare: Values) -> Option<Result<Values, Hole>> {
        // SAFETY: the caller vouches for the elements, and `out` has a place for each output.
        self.stored(task, dtype, spare, &|work, out| unsafe { work.outputs(out) })
    }

    /// Every output, if the first few elements of each decide it.
    ///
    /// # Safety
    /// Every element that the problem reaches from the base is readable.
    pub unsafe fn decided(&self, task: &Task<'_>, dtype: DType) -> Option<Result<Values, Hole>> {
        if !self.kernel.facts().ends {
            return None;
        }
        // SAFETY: as above.
        self.stored(task, dtype, Values::U8(Vec::new()), &|work, out| unsafe { work.decided(out) })
    }

    /// Every output, as [`Bound::run`] has them. `write` writes all of them, or returns false.
    fn stored(
        &self,
        task: &Task<'_>,
        dtype: DType,
        spare: Values,
        write: &dyn Fn(&Work<'_>, &Output<Value>) -> bool,
    ) -> Option<Result<Values, Hole>> {
        let (work, outputs) = (self.work(task), task.problem.outputs);
        let Some(store) = (self.store)(dtype) else {
            let values = (self.collect)(outputs, &mut |out| write(&work, out))?;
            return Some(values.map(|values| values.cast(dtype)));
        };
        fn elements<T: Element>(n: usize, width: usize, spare: Values, write: Write<'_>) -> Option<Values> {
            let spare = T::unwrap(spare).filter(|spare| spare.capacity() >= n * width);
            let is_new = spare.is_none();
            let mut values = spare.unwrap_or_else(|| Vec::with_capacity(n * width));
            values.clear();
            let room = &mut values.spare_capacity_mut()[..n * width];
            if is_new {
                large_pages(room);
            }
            let out = Output::at_address(room.as_mut_ptr().cast(), n, width * size_of::<T>());
            write(&out).then(|| {
                // SAFETY: `write` has returned true, so it has written the elements of every output.
                unsafe { values.set_len(n * width) };
                T::wrap(values)
            })
        }
        let hole = AtomicBool::new(false);
        let work = match store {
            Store::Same => work.of_numbers(),
            Store::By(convert) => work.of_numbers().storing(Storing::By { convert, hole: &hole }),
        };
        let write: Write<'_> = &mut |out| write(&work, out);
        let values = with_dtype!(dtype, T => elements::<T>(outputs, self.width, spare, write))?;
        Some(if hole.into_inner() { Err(Hole::AllNan) } else { Ok(values) })
    }

    /// See [`crate::engine::Job::segments`]. Outputs without a value are left out of the values, and listed as holes.
    ///
    /// # Safety
    /// Every element that the problem reaches from the base is readable. Its only reduced axis is the one that is cut.
    pub unsafe fn segments(&self, task: &Task<'_>, cuts: Cuts<'_>) -> Option<(Values, Holes)> {
        let total = (cuts.offsets.len() - 1) * task.problem.outputs;
        // SAFETY: the caller vouches for the elements and the axis; `out` has a place for each output of each segment.
        (self.collect_some)(total, &mut |out| unsafe { self.work(task).segments(cuts, out) })
    }

    /// See [`crate::engine::Job::groups`].
    ///
    /// # Safety
    /// Every element that the problem reaches from the base is readable. It has one axis, of fewer than 2^32 elements,
    /// and reduces it.
    pub unsafe fn groups(&self, task: &Task<'_>, labels: &dyn Labels, groups: usize) -> Option<Result<Values, Hole>> {
        if task.problem.count == 0 {
            return None;
        }
        // SAFETY: the caller vouches for the elements and their number; `out` has a place for each group.
        (self.collect)(groups, &mut |out| unsafe { self.work(task).groups(labels, groups, out) })
    }

    /// The value of `n` elements, at most a block and at least one, without an allocation.
    ///
    /// # Safety
    /// The elements are readable, aligned, and of the kernel's type.
    pub unsafe fn block(&self, x: *const Item, n: usize) -> Result<Scalar, Hole> {
        (self.one)(&mut |out| {
            // SAFETY: the caller vouches for the elements and their number, and `out` has one place.
            unsafe { one_block(self.kernel, x, n, out.at(0, 1)) };
            true
        })
    }
}
