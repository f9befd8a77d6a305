//! Shared memory: accesses; copies and products, and what must be waited for and published before them.

use super::fault::{Kind, Op, Place, Space};
use super::lane::{Access, Here, Lane, MIDDLE, Update, WINDOW};
use super::race::Cell;
use super::requests::Class;
use super::state::{Array, Coming};
use super::wait::Ask;
use std::collections::BTreeSet;
use warpfold_simt::{ALL, Pack, Rows, Shared, Simt, Sums, f16_to_f32};

impl Array {
    /// Of so many elements of so many bytes, without a name.
    fn new(count: usize, element: usize) -> Array {
        Array {
            name: "",
            element: element as u32,
            data: vec![0; count * element],
            cells: vec![Cell::default(); count],
            writers: [0; 32],
            coming: BTreeSet::new(),
        }
    }

    fn has_room(&self, count: usize, element: usize) -> bool {
        (self.cells.len(), self.element) == (count, element as u32)
    }

    /// As new, for another block, with the memory that it has.
    fn renew(mut self: Box<Self>) -> Box<Array> {
        self.data.fill(0);
        self.cells.iter_mut().for_each(Cell::renew);
        self.writers = [0; 32];
        self.coming.clear();
        self
    }
}

impl Lane<'_> {
    /// Makes the shared array of this number, of so many elements of so many bytes, for the first thread that asks.
    #[track_caller]
    pub(super) fn declare(&self, id: u32, name: &'static str, count: usize, element: usize) {
        let mut state = self.block.state.borrow_mut();
        if state.arrays.len() <= id as usize {
            state.arrays.resize_with(id as usize + 1, || None);
        }
        let state = &mut *state;
        let array = state.arrays[id as usize].get_or_insert_with(|| {
            let fits = |spare: &&mut Option<Box<Array>>| spare.as_ref().is_some_and(|a| a.has_room(count, element));
            let spare = state.spare.iter_mut().find(fits).and_then(Option::take);
            let mut array = spare.map_or_else(|| Box::new(Array::new(count, element)), Array::renew);
            array.name = name;
            array
        });
        assert!(
            array.name == name && array.data.len() == count * element && array.element == element as u32,
            "shared array {} is `{}` and `{name}` at once",
            id - 1,
            array.name
        );
    }

    /// A shared access; returns the old bits, zero if there are none.
    pub(super) fn local(&self, address: u32, access: Access, update: Update<'_>) -> u128 {
        let mut guard = self.block.state.borrow_mut();
        let state = &mut *guard;
        let offset = i64::from(address & ((1 << WINDOW) - 1)) - i64::from(MIDDLE);
        let class = if access.op == Op::Atomic { Class::SharedAtomic } else { Class::Shared };
        self.count(state, access.site, class, u64::from(address), access.size, false);
        let id = (address >> WINDOW) as usize;
        let Some(mut array) = state.arrays.get_mut(id).and_then(Option::take) else {
            let place = Place {
                space: Space::Shared,
                array: String::new(),
                offset: i64::from(address),
                size: access.size,
                length: 0,
                element: 1,
            };
            self.fault(state, Kind::OutOfBounds, &access, place, None);
            return 0;
        };
        let (name, length, element) = (array.name, array.data.len() as u64, array.element);
        let place =
            || Place { space: Space::Shared, array: name.to_owned(), offset, size: access.size, length, element };
        let bits = if !address.is_multiple_of(access.size) {
            self.fault(state, Kind::Misaligned, &access, place(), None);
            0
        } else if offset < 0 || offset as u64 + u64::from(access.size) > length {
            self.fault(state, Kind::OutOfBounds, &access, place(), None);
            0
        } else {
            let (at, size, element) = (offset as usize, access.size as usize, element as usize);
            let cells = &mut array.cells[at / element..(at + size).div_ceil(element)];
            let outcome = self.perform(state, &access, &mut array.data[at..at + size], cells, update);
            self.report(state, &access, place, &outcome);
            if array.coming.contains(&(address / 16)) {
                self.fault(state, Kind::Coming, &access, place(), None);
            }
            if access.op.writes() {
                array.writers[self.thread as usize / 32] |= 1 << (self.thread % 32);
            }
            outcome.bits
        };
        state.arrays[id] = Some(array);
        bits
    }

    /// What this thread has written to shared memory may be multiplied, after a barrier.
    pub(super) fn published(&self) {
        let mut state = self.block.state.borrow_mut();
        for array in state.arrays.iter_mut().flatten() {
            array.writers[self.thread as usize / 32] &= !(1 << (self.thread % 32));
        }
    }

    /// What has been read will be written when the thread waits for it.
    pub(super) fn begin_copy(&self, address: u32, bits: u128, site: Here) {
        let state = &mut *self.block.state.borrow_mut();
        if let Some(Some(array)) = state.arrays.get_mut((address >> WINDOW) as usize) {
            array.coming.insert(address / 16);
        }
        state.copies[self.thread as usize].begun.push((address, bits, site));
    }

    /// Ends the group of what this thread has begun to copy.
    pub(super) fn end_group(&self) {
        let copies = &mut self.block.state.borrow_mut().copies[self.thread as usize];
        copies.groups.push_back(std::mem::take(&mut copies.begun));
    }

    /// Writes what this thread has begun to copy: all, or what is in groups before so many.
    pub(super) fn finish_copies(&self, left: Option<u32>) {
        let copies: Vec<Coming> = {
            let copies = &mut self.block.state.borrow_mut().copies[self.thread as usize];
            let done = copies.groups.len().saturating_sub(left.unwrap_or(0) as usize);
            let mut ended: Vec<Coming> = copies.groups.drain(..done).flatten().collect();
            if left.is_none() {
                ended.append(&mut copies.begun);
            }
            ended
        };
        for (address, bits, site) in copies {
            if let Some(Some(array)) = self.block.state.borrow_mut().arrays.get_mut((address >> WINDOW) as usize) {
                array.coming.remove(&(address / 16));
            }
            self.local(address, Access { op: Op::Write, size: 16, site }, &|_| Some(bits));
        }
    }

    /// Says so if something in the array at this address is not published.
    fn is_published(&self, address: u32, site: Here) {
        let mut guard = self.block.state.borrow_mut();
        let state = &mut *guard;
        let array = state.arrays.get((address >> WINDOW) as usize).and_then(Option::as_ref);
        let Some(array) = array.filter(|array| array.writers != [0; 32]) else { return };
        let (name, element, length) = (array.name.to_owned(), array.element, array.data.len() as u64);
        let place = Place { space: Space::Shared, array: name, offset: 0, size: element, length, element };
        let access = Access { op: Op::Read, size: element, site };
        self.fault(state, Kind::Unpublished, &access, place, None);
    }

    /// `sums` plus a product, as [`Simt::multiply_halves`] says.
    pub(super) fn halves(&self, rows: [u32; 2], column: u32, mut sums: [f32; 4], site: Here) -> [f32; 4] {
        self.ask(ALL, Ask::Words([rows[0], rows[1], column]), site);
        let (i, j) = (self.lane() as usize / 4, self.lane() as usize % 4);
        let words = self.block.state.borrow().warps[self.thread as usize / 32].words;
        for k in 0..4 {
            let of_row = words[4 * i + k];
            let columns = [0, 1].map(|c| words[4 * (2 * j + c) + k][2]);
            for (at, sum) in sums.iter_mut().enumerate() {
                for half in [0, 16] {
                    let [a, b] = [of_row[at / 2], columns[at % 2]].map(|word| f16_to_f32((word >> half) as u16));
                    *sum += a * b;
                }
            }
        }
        sums
    }

    /// `sums` plus a product, as [`Simt::multiply_shared`] says.
    pub(super) fn product(&self, rows: &Rows, columns: Shared<u32>, mut sums: Sums, site: Here) -> Sums {
        self.is_published(columns.address(), site);
        let (i, j) = (self.lane() / 4, self.lane() % 4);
        for (step, rows) in rows.iter().enumerate() {
            for half in 0..2 {
                // All of both rows of this lane, of eight columns of the first matrix.
                let rows: [[u32; 4]; 2] = core::array::from_fn(|row| {
                    core::array::from_fn(|lane| self.shuffle_idx(ALL, rows[half * 2 + row], 4 * i + lane as u32))
                });
                for column in 0..32 {
                    let of_all = column / 2 * 8 + 2 * j + column % 2;
                    let Pack(words): Pack<u32, 4> = self.get(columns.cast(), (step * 2 + half) as u32 * 128 + of_all);
                    for (row, halves) in rows.iter().enumerate() {
                        let sum = &mut sums[(column / 2 * 4 + column % 2) as usize + 2 * row];
                        for (a, b) in halves.iter().zip(words) {
                            let product =
                                |by: u32| self.f16_to_f32((a >> by) as u16) * self.f16_to_f32((b >> by) as u16);
                            *sum += product(0) + product(16);
                        }
                    }
                }
            }
        }
        sums
    }
}
