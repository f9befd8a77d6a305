//! `Simt` as a coroutine that checks everything.

use super::fault::{Fault, Kind, Op, Place, Space};
use super::race::{Cell, Stamp};
use super::requests::{Class, Part};
use super::state::{Block, State};
use super::wait::{Ask, Wait, Way};
use core::panic::Location;
use corosensei::Yielder;
use std::time::{Duration, Instant};
use warpfold_simt::{Atom, Dim, Global, Order, Pack, Pod, Rows, Shared, Simt, Sums, Word};

/// How long a thread waits for what another block is to write.
const PATIENCE: Duration = Duration::from_secs(20);

/// Shared addresses are numbers too: `array << 24 | middle + offset`.
pub(super) const WINDOW: u32 = 24;
pub(super) const MIDDLE: u32 = 1 << (WINDOW - 1);
/// The number of the large shared array.
const ROOM: u32 = 128;

/// One emulated GPU thread.
pub struct Lane<'a> {
    pub(super) block: &'a Block<'a>,
    pub(super) thread: u32,
    yielder: &'a Yielder<(), ()>,
}

pub(super) type Here = &'static Location<'static>;

/// From the old bits of what is accessed, its new ones, if there are any. By address, so that accesses are compiled
/// once, here, and not wherever kernels are.
pub(super) type Update<'a> = &'a dyn Fn(u128) -> Option<u128>;

/// One access, before it is known to be sound.
pub(super) struct Access {
    pub(super) op: Op,
    pub(super) size: u32,
    pub(super) site: Here,
}

impl<'a> Lane<'a> {
    pub(super) fn new(block: &'a Block<'a>, thread: u32, yielder: &'a Yielder<(), ()>) -> Lane<'a> {
        Lane { block, thread, yielder }
    }

    fn wait(&self, wait: Wait) -> u32 {
        self.block.state.borrow_mut().waits[self.thread as usize] = wait;
        self.yielder.suspend(());
        self.block.state.borrow().answers[self.thread as usize]
    }

    pub(super) fn ask(&self, mask: u32, ask: Ask, site: Here) -> u32 {
        self.wait(Wait::Warp { mask, ask, site })
    }

    fn shuffle<T: Word>(&self, mask: u32, value: T, way: Way, by: u32, site: Here) -> T {
        value.through(|value| self.ask(mask, Ask::Shuffle { way, by, value }, site))
    }

    /// Counts the lane's part in a request.
    pub(super) fn count(&self, state: &mut State, site: Here, class: Class, address: u64, size: u32, taken: bool) {
        let (warp, lane) = (&mut state.warps[self.thread as usize / 32], self.thread % 32);
        let context = warp.loops[lane as usize].context;
        warp.requests.join(Part { site, context, class, lane, address, size, taken });
    }

    fn stamp(&self, state: &State, access: &Access) -> Stamp {
        let clock = state.warps[self.thread as usize / 32].clocks[self.thread as usize % 32][self.thread as usize % 32];
        Stamp {
            launch: self.block.context.launch,
            block: self.block.number(),
            epoch: state.epoch,
            clock,
            thread: self.thread as u16,
            op: access.op,
            site: access.site,
        }
    }

    pub(super) fn fault(&self, state: &mut State, kind: Kind, access: &Access, place: Place, other: Option<Stamp>) {
        let grid = self.block.context.grid.x;
        let act = self.block.act(self.thread as usize, access.op, Some(access.site.into()));
        let other = other.map(|s| super::fault::Act {
            block: Dim { x: s.block % grid, y: s.block / grid },
            thread: self.block.thread(s.thread as usize),
            op: s.op,
            site: Some(s.site.into()),
        });
        state.log.push(Fault { kind, act, other, place: Some(place), occurrences: 1 });
    }

    /// Notes an access in its cells.
    fn touch(&self, state: &State, access: &Access, cells: &mut [Cell]) -> Outcome {
        let stamp = self.stamp(state, access);
        let (releases, lane) = (&self.block.context.releases, self.thread as usize);
        let known = state.known(stamp.block, self.thread);
        let (own, alone) = (&state.acquired, &state.warps[lane / 32].acquired[lane % 32]);
        let mut released = releases.released();
        let mut ordered = |old: &Stamp| known.covers(old) || released.covers(own, old) || released.covers(alone, old);
        let reads = access.op != Op::Write && access.op != Op::VolatileWrite;
        let mut outcome = Outcome { bits: 0, unwritten: reads && cells.iter().any(|c| !c.written), race: None };
        for cell in cells {
            let race = cell.touch(stamp, &mut ordered);
            outcome.race = outcome.race.or(race);
            cell.written |= access.op.writes();
        }
        outcome
    }

    /// Carries out an access on its bytes and cells: `update` sees the old bits and may return new ones.
    pub(super) fn perform(
        &self,
        state: &State,
        access: &Access,
        bytes: &mut [u8],
        cells: &mut [Cell],
        update: Update<'_>,
    ) -> Outcome {
        let mut outcome = self.touch(state, access, cells);
        let mut old = [0; 16];
        old[..bytes.len()].copy_from_slice(bytes);
        outcome.bits = u128::from_le_bytes(old);
        if let Some(new) = update(outcome.bits) {
            bytes.copy_from_slice(&new.to_le_bytes()[..bytes.len()]);
        }
        outcome
    }

    pub(super) fn report(&self, state: &mut State, access: &Access, place: impl FnOnce() -> Place, outcome: &Outcome) {
        if outcome.unwritten || outcome.race.is_some() {
            let place = place();
            if outcome.unwritten {
                self.fault(state, Kind::Uninitialised, access, place.clone(), None);
            }
            if outcome.race.is_some() {
                self.fault(state, Kind::Race, access, place, outcome.race);
            }
        }
    }

    /// A global access; returns the old bits, zero if there are none.
    fn global(&self, address: u64, access: Access, order: Order, update: Update<'_>) -> u128 {
        let mut guard = self.block.state.borrow_mut();
        let state = &mut *guard;
        let class = if access.op == Op::Atomic { Class::GlobalAtomic } else { Class::Global };
        self.count(state, access.site, class, address, access.size, false);
        let Some((buffer, offset)) = self.block.context.memory.find(address) else {
            let place = Place {
                space: Space::Global,
                array: String::new(),
                offset: address as i64,
                size: access.size,
                length: 0,
                element: 1,
            };
            self.fault(state, Kind::OutOfBounds, &access, place, None);
            return 0;
        };
        let place = || Place {
            space: Space::Global,
            array: buffer.name.clone(),
            offset,
            size: access.size,
            length: buffer.length,
            element: buffer.element,
        };
        if !address.is_multiple_of(u64::from(access.size)) {
            self.fault(state, Kind::Misaligned, &access, place(), None);
            return 0;
        }
        if !buffer.contains(offset, access.size) {
            self.fault(state, Kind::OutOfBounds, &access, place(), None);
            return 0;
        }
        let outcome = buffer.with(offset as usize, access.size as usize, |bytes, cells| {
            let outcome = self.perform(state, &access, bytes, cells, update);
            if order == Order::AcqRel {
                // Inside the buffer's lock, so that the log has the order of the additions.
                self.acq_rel(state, address);
            }
            outcome
        });
        self.report(state, &access, place, &outcome);
        outcome.bits
    }

    fn acq_rel(&self, state: &mut State, address: u64) {
        let known = state.known(self.block.number(), self.thread);
        let acquired = self.block.context.releases.acq_rel(address, known);
        let (warp, lane) = (&mut state.warps[self.thread as usize / 32], self.thread as usize % 32);
        super::sync::learn(&mut warp.acquired[lane], &[acquired]);
        // What follows was not released.
        warp.clocks[lane][lane] += 1;
    }
}

pub(super) struct Outcome {
    pub(super) bits: u128,
    unwritten: bool,
    race: Option<Stamp>,
}

fn at<T>(array: Global<T>, index: usize) -> u64 {
    (array.as_ptr().addr()).wrapping_add(index.wrapping_mul(size_of::<T>())) as u64
}

fn access<T>(op: Op, site: Here) -> Access {
    Access { op, size: size_of::<T>() as u32, site }
}

/// The shuffles of [`Simt`], by how a lane's number leads to that of its source.
macro_rules! shuffles {
    ($($name:ident: $way:ident),*) => {$(
        #[track_caller]
        fn $name<T: Word>(&self, mask: u32, value: T, by: u32) -> T {
            self.shuffle(mask, value, Way::$way, by, Location::caller())
        }
    )*};
}

impl Simt for Lane<'_> {
    const NAME: &'static str = "emulator";

    fn thread(&self) -> Dim {
        self.block.thread(self.thread as usize)
    }
    fn block(&self) -> Dim {
        self.block.index
    }
    fn block_dim(&self) -> Dim {
        self.block.context.block
    }
    fn grid_dim(&self) -> Dim {
        self.block.context.grid
    }
    fn lane(&self) -> u32 {
        self.thread % 32
    }

    #[track_caller]
    fn branch(&self, condition: bool) -> bool {
        self.count(&mut self.block.state.borrow_mut(), Location::caller(), Class::Branch, 0, 0, condition);
        condition
    }
    #[track_caller]
    fn again(&self, condition: bool) -> bool {
        let (site, state) = (Location::caller(), &mut *self.block.state.borrow_mut());
        self.count(state, site, Class::Branch, 0, 0, condition);
        state.warps[self.thread as usize / 32].loops[self.thread as usize % 32].again(site, condition);
        condition
    }

    #[track_caller]
    fn barrier(&self) {
        self.wait(Wait::Barrier(Location::caller()));
    }
    #[track_caller]
    fn warp_barrier(&self, mask: u32) {
        self.ask(mask, Ask::Barrier, Location::caller());
    }
    shuffles! { shuffle_xor: Xor, shuffle_down: Down, shuffle_up: Up, shuffle_idx: Idx }
    #[track_caller]
    fn ballot(&self, mask: u32, vote: bool) -> u32 {
        self.ask(mask, Ask::Vote { vote }, Location::caller())
    }
    #[track_caller]
    fn any(&self, mask: u32, vote: bool) -> bool {
        self.ballot(mask, vote) != 0
    }
    #[track_caller]
    fn all(&self, mask: u32, vote: bool) -> bool {
        self.ballot(mask, vote) == mask
    }

    #[track_caller]
    fn shared<T: Pod, const N: usize, const ID: u32>(&self, name: &'static str) -> Shared<T> {
        self.declare(ID + 1, name, N, size_of::<T>());
        Shared::from_address((ID + 1) << WINDOW | MIDDLE)
    }
    #[track_caller]
    fn room<T: Pod, const N: usize>(&self, name: &'static str) -> Shared<T> {
        self.shared::<T, N, ROOM>(name)
    }
    #[track_caller]
    fn room_of<T: Pod>(&self, name: &'static str, count: u32) -> Shared<T> {
        let (bytes, room) = (count * size_of::<T>() as u32, self.block.context.room);
        assert!(room.is_none_or(|room| room == bytes), "`{name}` has {bytes} bytes, and the launch brings {room:?}");
        self.declare(ROOM + 1, name, count as usize, size_of::<T>());
        Shared::from_address((ROOM + 1) << WINDOW | MIDDLE)
    }
    #[track_caller]
    fn get<T: Pod>(&self, array: Shared<T>, index: u32) -> T {
        T::from_bits(self.local(array.offset(index).address(), access::<T>(Op::Read, Location::caller()), &|_| None))
    }
    #[track_caller]
    fn put<T: Pod>(&self, array: Shared<T>, index: u32, value: T) {
        let access = access::<T>(Op::Write, Location::caller());
        self.local(array.offset(index).address(), access, &|_| Some(value.to_bits()));
    }

    #[track_caller]
    fn load<T: Pod>(&self, array: Global<T>, index: usize) -> T {
        let access = access::<T>(Op::Read, Location::caller());
        T::from_bits(self.global(at(array, index), access, Order::Relaxed, &|_| None))
    }
    #[track_caller]
    fn load_stream<T: Pod>(&self, array: Global<T>, index: usize) -> T {
        self.load(array, index)
    }
    #[track_caller]
    fn load_volatile<T: Pod>(&self, array: Global<T>, index: usize) -> T {
        let access = access::<T>(Op::VolatileRead, Location::caller());
        T::from_bits(self.global(at(array, index), access, Order::Relaxed, &|_| None))
    }
    #[track_caller]
    fn load_when<T: Pod>(&self, array: Global<T>, index: usize, ready: impl Fn(T) -> bool) -> T {
        // Looks are not counted but for the last: how many there are depends on the host's threads.
        let (address, start) = (at(array, index), Instant::now());
        while self.block.context.memory.look(address).is_some_and(|x| !ready(x)) {
            assert!(start.elapsed() < PATIENCE, "what is waited for has not come in {PATIENCE:?}");
            std::thread::yield_now();
        }
        self.load_volatile(array, index)
    }
    #[track_caller]
    fn store<T: Pod>(&self, array: Global<T>, index: usize, value: T) {
        let access = access::<T>(Op::Write, Location::caller());
        self.global(at(array, index), access, Order::Relaxed, &|_| Some(value.to_bits()));
    }
    #[track_caller]
    fn store_volatile<T: Pod>(&self, array: Global<T>, index: usize, value: T) {
        let access = access::<T>(Op::VolatileWrite, Location::caller());
        self.global(at(array, index), access, Order::Relaxed, &|_| Some(value.to_bits()));
    }

    #[track_caller]
    fn atomic_add<T: Atom>(&self, array: Global<T>, index: usize, value: T, order: Order) -> T {
        let access = access::<T>(Op::Atomic, Location::caller());
        let add = |old| Some(T::from_bits(old).plus(value).to_bits());
        T::from_bits(self.global(at(array, index), access, order, &add))
    }
    #[track_caller]
    fn atomic_add_shared<T: Atom>(&self, array: Shared<T>, index: u32, value: T, _: Order) -> T {
        let access = access::<T>(Op::Atomic, Location::caller());
        let add = |old| Some(T::from_bits(old).plus(value).to_bits());
        T::from_bits(self.local(array.offset(index).address(), access, &add))
    }
    #[track_caller]
    fn atomic_or(&self, array: Global<u32>, index: usize, bits: u32, order: Order) -> u32 {
        let access = access::<u32>(Op::Atomic, Location::caller());
        u32::from_bits(self.global(at(array, index), access, order, &|old| Some(old | bits as u128)))
    }
    #[track_caller]
    fn atomic_or_shared(&self, array: Shared<u32>, index: u32, bits: u32, _: Order) -> u32 {
        let access = access::<u32>(Op::Atomic, Location::caller());
        u32::from_bits(self.local(array.offset(index).address(), access, &|old| Some(old | bits as u128)))
    }

    #[track_caller]
    fn multiply_halves(&self, rows: [u32; 2], column: u32, sums: [f32; 4]) -> [f32; 4] {
        self.halves(rows, column, sums, Location::caller())
    }

    #[track_caller]
    fn copy(&self, to: Shared<Pack<u32, 4>>, index: u32, from: Global<Pack<u32, 4>>, place: usize) {
        let access = access::<Pack<u32, 4>>(Op::Read, Location::caller());
        let bits = self.global(at(from, place), access, Order::Relaxed, &|_| None);
        self.begin_copy(to.offset(index).address(), bits, Location::caller());
    }
    fn end_copies(&self) {
        self.end_group();
    }
    #[track_caller]
    fn copied(&self) {
        self.finish_copies(None);
    }
    #[track_caller]
    fn copied_but<const LEFT: u32>(&self) {
        self.finish_copies(Some(LEFT));
    }
    #[track_caller]
    fn publish(&self) {
        self.published();
    }
    #[track_caller]
    fn multiply_shared<const FIRST: bool>(&self, rows: &Rows, columns: Shared<u32>, sums: Sums) -> Sums {
        self.product(rows, columns, if FIRST { [0.0; 64] } else { sums }, Location::caller())
    }

    fn fma_f32(&self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    fn fma_f64(&self, a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}
