//! The launch struct of reductions: addresses, the recipe, the shape.

use crate::address::array;
use crate::params::params;
use crate::reduce::out::Out;
use crate::reduce::recipe::Recipe;
use crate::reduce::workspace::COUNTERS;
use warpfold_simt::Global;

params! {
    #[derive(Default)]
    /// Where a reduction's arrays are.
    pub struct CallAt {
        /// The first element.
        pub input: u64,
        /// The mask's first element; unused if there is no mask.
        pub mask: u64,
        /// The first output.
        pub output: u64,
        /// Counters, then partials.
        pub workspace: u64,
    }

    /// The launch struct of reductions. `G` says over which elements; `A` are the addresses.
    pub struct Call[G, A = CallAt] at A {
        /// Partials for another launch.
        pub left: Left,
        /// What to compute.
        pub recipe: Recipe,
        /// Over which elements.
        pub shape: G,
    }

    /// Partials that one launch leaves for another, where [`flag::PARTS`](crate::reduce::recipe::flag::PARTS) is set.
    pub struct Left {
        /// Words from the end of the counters to the first of them.
        pub from: u64,
        /// How many of them make one result.
        pub within: u64,
        /// Elements under each.
        pub each: u64,
    }
}

/// Addresses with an output and a workspace.
pub trait Results {
    /// The first output.
    fn output(&self) -> u64;
    /// Counters, then partials.
    fn workspace(&self) -> u64;
}

impl Results for CallAt {
    #[inline(always)]
    fn output(&self) -> u64 {
        self.output
    }
    #[inline(always)]
    fn workspace(&self) -> u64 {
        self.workspace
    }
}

impl<G, A: Results> Call<G, A> {
    /// The workspace's partials.
    #[inline(always)]
    pub fn partials(&self) -> Global<u32> {
        array(self.at.workspace() + COUNTERS as u64)
    }

    /// The partials that one launch leaves for another.
    #[inline(always)]
    pub fn left_partials(&self) -> Global<u32> {
        self.partials().offset(self.left.from as usize)
    }

    /// Where output `index` goes.
    #[inline(always)]
    pub fn out(&self, index: i64) -> Out {
        let counters = array(self.at.workspace());
        Out { output: array(self.at.output()), counters, index: index as usize }
    }
}

impl Left {
    /// No partials are left.
    pub const NONE: Self = Self { from: 0, within: 1, each: 0 };
}
