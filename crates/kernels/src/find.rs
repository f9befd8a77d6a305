//! Kernels by their names, of all families.

use crate::kernel::Visit;

/// Lets a visitor see the kernel of that name, of any family; none if there is no such kernel.
pub fn find<V: Visit>(entry: &str, visitor: V) -> Option<V::Output> {
    crate::reduce::table::find(entry, visitor)
        .or_else(|visitor| crate::kmeans::table::find(entry, visitor))
        .or_else(|visitor| crate::sort::table::find(entry, visitor))
        .or_else(|visitor| crate::group::table::find(entry, visitor))
        .ok()
}
