//! Of labels in order: where each group begins; and from places in groups to positions.

use crate::address::array;
use crate::block::each_of_grid;
use crate::group::divide;
use crate::params::params;
use warpfold_simt::{Global, Simt};

params! {
    #[derive(Default)]
    /// Where sorted labels are, and where offsets go.
    pub struct OffsetsAt {
        /// `u32` of each element: the labels in order; those of no group are greater than all others.
        pub labels: u64,
        /// `u32`: where each group begins, and where the last ends.
        pub offsets: u64,
    }

    /// Sorted labels, and how many groups they make.
    pub struct Offsets at OffsetsAt {
        /// Elements.
        pub n: u64,
        /// Groups.
        pub groups: u64,
    }

    #[derive(Default)]
    /// Where groups are, and the places that become positions.
    pub struct PlacesAt {
        /// `u32`: the positions of the elements, in the order of their labels.
        pub positions: u64,
        /// `u32`: where each group begins, and where the last ends.
        pub offsets: u64,
        /// `i64` of each output: its place in its group, and then its position.
        pub output: u64,
    }

    /// Outputs that are places in groups.
    pub struct Places at PlacesAt {
        /// Groups.
        pub groups: u64,
        /// Outputs of each group.
        pub columns: u64,
    }
}

/// Offsets: for each group the first label that is not less, by halving.
#[inline(always)]
pub fn offsets<S: Simt>(s: &S, call: &Offsets) {
    let labels: Global<u32> = array(call.at.labels);
    each_of_grid(
        s,
        call.groups + 1,
        #[inline(always)]
        |group| {
            let (mut low, mut high) = (0, call.n);
            while s.again(low < high) {
                let middle = low + (high - low) / 2;
                if s.branch((s.load(labels, middle as usize) as u64) < group) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            s.store(array::<u32>(call.at.offsets), group as usize, low as u32);
        },
    );
}

/// From places in a group (`i64` of each) to places among the values. A group without elements keeps what it has.
#[inline(always)]
pub fn places<S: Simt>(s: &S, call: &Places) {
    let (output, offsets): (Global<u64>, Global<u32>) = (array(call.at.output), array(call.at.offsets));
    each_of_grid(
        s,
        call.groups * call.columns,
        #[inline(always)]
        |at| {
            let (group, _) = divide(at, call.columns);
            let from = s.load(offsets, group as usize);
            let len = s.load(offsets, group as usize + 1) - from;
            if s.branch(len != 0) {
                let place = s.load(output, at as usize);
                // If not, there was no result, and the status says so.
                if s.branch(place < len as u64) {
                    let position = s.load(array::<u32>(call.at.positions), (from as u64 + place) as usize);
                    s.store(output, at as usize, position as u64);
                }
            }
        },
    );
}
