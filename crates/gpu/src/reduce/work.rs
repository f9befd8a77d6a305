//! The work of a planned reduction.

use crate::launch::Ready;
use warpfold_kernels::reduce::call::CallAt;

/// The work of a planned reduction. `C` is a result for which no element is read, for all outputs.
pub(super) enum Work<C> {
    /// There are no outputs.
    Nothing,
    /// No element is read: there are none, or all are known to give the same.
    Constant(C),
    /// Kernels; others, if they are not the same, for an array that does not begin with a line of 16 bytes.
    Launches { launches: Vec<Ready<CallAt>>, unaligned: Option<Vec<Ready<CallAt>>>, workspace: usize },
}

impl<C> Work<C> {
    /// The kernels, in the order of their launches.
    pub(super) fn kernels(&self) -> Vec<&str> {
        match self {
            Work::Launches { launches, .. } => launches.iter().map(Ready::entry).collect(),
            _ => Vec::new(),
        }
    }
}
