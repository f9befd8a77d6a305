//! Kernels by their names, of all families.

use crate::kernel::Visit;
use crate::reduce::table::{of_others, of_sums};

/// Lets a visitor see the kernel of that name, of any family; none if there is no such kernel.
pub fn find<V: Visit>(entry: &str, visitor: V) -> Option<V::Output> {
    of_sums(entry, visitor)
        .or_else(|visitor| of_others(entry, visitor))
        .or_else(|visitor| crate::kmeans::table::find(entry, visitor))
        .or_else(|visitor| crate::sort::table::find(entry, visitor))
        .or_else(|visitor| crate::group::table::find(entry, visitor))
        .ok()
}
