//! The first or the last element, or row, of each group: positions say where it is.
//!
//! A thread has an output. A group without elements has something to fill in, or says that there is nothing.

use crate::address::array;
use crate::block::each_of_grid;
use crate::group::divide;
use crate::params::params;
use crate::sort::key::{read, write};
use warpfold_simt::Simt;

params! {
    #[derive(Default)]
    /// Where values and groups are, and where the elements go.
    pub struct EndsAt {
        /// Of the first element of the first row.
        pub input: u64,
        /// `u32`: the positions of the elements, in the order of their labels.
        pub positions: u64,
        /// `u32`: where each group begins, and where the last ends.
        pub offsets: u64,
        /// An element for each group and column.
        pub output: u64,
        /// A byte that is set if there is nothing to fill in, and a group is empty.
        pub status: u64,
    }

    /// Groups, and the values that they pick from.
    pub struct Ends at EndsAt {
        /// How many groups.
        pub groups: u64,
        /// Elements of a row.
        pub columns: u64,
        /// Bytes from one row to the next.
        pub along: u64,
        /// Bytes from one element of a row to the next.
        pub across: u64,
        /// What is filled in, in the low bytes.
        pub fill: u64,
        /// Bytes of an element.
        pub size: u32,
        /// Whether there is something to fill in.
        pub filled: u32,
        /// Whether it is the last and not the first.
        pub last: u32,
        /// To fill a word.
        pub unused: u32,
    }
}

/// Picks them.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, call: &Ends) {
    each_of_grid(
        s,
        call.groups * call.columns,
        #[inline(always)]
        |at| {
            let (group, column) = divide(at, call.columns);
            let offsets = array::<u32>(call.at.offsets);
            let (from, to) = (s.load(offsets, group as usize), s.load(offsets, group as usize + 1));
            let mut x = call.fill;
            if s.branch(from < to) {
                let place = if call.last != 0 { to - 1 } else { from };
                let row = s.load(array::<u32>(call.at.positions), place as usize) as u64;
                let address = call.at.input + row.wrapping_mul(call.along) + column.wrapping_mul(call.across);
                [x] = read::<S, 1>(s, address, call.size, 0, 0, 1);
            } else if s.branch(call.filled == 0) {
                s.store_volatile(array::<u8>(call.at.status), 0, 1);
            }
            write(s, call.at.output, call.size, at as usize, x);
        },
    );
}
