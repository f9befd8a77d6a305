//! Kernels by their names, of all families.

use core::marker::PhantomData;

use crate::custom::Exported;
use crate::kernel::{Kernel, Visit};

/// Lets a visitor see the kernel of that name, of any family; none if there is no such kernel.
pub fn find<V: Visit>(entry: &str, visitor: V) -> Option<V::Output> {
    crate::reduce::table::find(entry, visitor)
        .or_else(|visitor| crate::kmeans::table::find(entry, visitor))
        .or_else(|visitor| crate::sort::table::find(entry, visitor))
        .or_else(|visitor| crate::group::table::find(entry, visitor))
        .or_else(|visitor| crate::rowwise::table::find(entry, visitor))
        .or_else(|visitor| crate::channel::table::find(entry, visitor))
        .or_else(|visitor| crate::pool::table::find(entry, visitor))
        .or_else(|visitor| crate::select::table::find(entry, visitor))
        .or_else(|visitor| crate::zip::table::find(entry, visitor))
        .ok()
}

/// A set of kernels. What is generic over it is compiled for these alone.
pub trait Kernels {
    /// Lets a visitor see the kernel of that name; none if the set has no such kernel.
    fn find<V: Visit>(entry: &str, visitor: V) -> Option<V::Output>;
}

/// All kernels of the library.
#[derive(Debug)]
pub enum All {}

impl Kernels for All {
    fn find<V: Visit>(entry: &str, visitor: V) -> Option<V::Output> {
        find(entry, visitor)
    }
}

/// The kernels of a user's own reducer.
#[derive(Debug)]
pub struct Own<R>(PhantomData<R>);

impl<R: Exported> Kernels for Own<R> {
    fn find<V: Visit>(entry: &str, visitor: V) -> Option<V::Output> {
        R::find(entry, visitor)
    }
}

/// Some of the library's kernels.
pub trait Names {
    /// Their names.
    const NAMES: &'static [&'static str];
}

/// The kernels of the library that `N` names.
#[derive(Debug)]
pub struct Only<N>(PhantomData<N>);

impl<N: Names> Kernels for Only<N> {
    fn find<V: Visit>(entry: &str, visitor: V) -> Option<V::Output> {
        find(entry, Among::<N, V>(visitor, PhantomData))
    }
}

/// A visitor that is shown the kernels that `N` names.
struct Among<N, V>(V, PhantomData<N>);

impl<N: Names, V: Visit> Visit for Among<N, V> {
    type Output = V::Output;

    const AMONG: Option<&'static [&'static str]> = Some(N::NAMES);

    fn visit<K: Kernel>(self) -> V::Output {
        self.0.visit::<K>()
    }
}
