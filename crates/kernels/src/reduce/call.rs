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
        /// What to compute.
        pub recipe: Recipe,
        /// Over which elements.
        pub shape: G,
    }
}

/// Addresses with an output and a workspace.
pub trait Results {
    /// The first output.
    fn output(&self) -> u64;
    /// Counters, then partials.
    fn workspace(&self) -> u64;
}

/// Of addresses that have fields of these names.
macro_rules! results {
    ($at:ty) => {
        impl $crate::reduce::call::Results for $at {
            #[inline(always)]
            fn output(&self) -> u64 {
                self.output
            }
            #[inline(always)]
            fn workspace(&self) -> u64 {
                self.workspace
            }
        }
    };
}
pub(crate) use results;
results!(CallAt);

impl<G, A: Results> Call<G, A> {
    /// The workspace's partials.
    #[inline(always)]
    pub fn partials(&self) -> Global<u32> {
        array(self.at.workspace() + COUNTERS as u64)
    }

    /// Where output `index` goes.
    #[inline(always)]
    pub fn out(&self, index: i64) -> Out {
        let counters = array(self.at.workspace());
        Out { output: array(self.at.output()), counters, index: index as usize }
    }
}
