//! What becomes of an element of each of two arrays. The arithmetic is core's, as on the CPU.

/// The product.
pub const PRODUCT: u32 = 0;
/// The square of the difference.
pub const SQUARED: u32 = 1;
/// The absolute difference.
pub const DISTANCE: u32 = 2;
/// Huber's loss, by a call's number.
pub const HUBER: u32 = 3;
/// The first kind that takes an exponential or a logarithm, of which a kernel has one copy.
pub const COSTLY: u32 = DIVERGENCE;
/// The share of a divergence, of a probability.
pub const DIVERGENCE: u32 = 4;
/// The same of its logarithm.
pub const DIVERGENCE_OF_LOGS: u32 = 5;
/// The cross-entropy of a target and the logistic function.
pub const BINARY: u32 = 6;

/// Evaluates an expression with a name for the term of a kind below [`COSTLY`].
macro_rules! with_cheap {
    ($s:expr, $kind:expr, $number:expr, $term:ident => $of:expr) => {
        if $s.branch($kind == $crate::zip::term::PRODUCT) {
            let $term = warpfold_core::rows::Product;
            $of
        } else if $s.branch($kind == $crate::zip::term::SQUARED) {
            let $term = warpfold_core::rows::Squared;
            $of
        } else if $s.branch($kind == $crate::zip::term::DISTANCE) {
            let $term = warpfold_core::rows::Distance;
            $of
        } else {
            let $term = warpfold_core::rows::Huber { delta: $number };
            $of
        }
    };
}
pub(crate) use with_cheap;

/// The same of a kind from [`COSTLY`] on.
macro_rules! with_costly {
    ($s:expr, $kind:expr, $term:ident => $of:expr) => {
        if $s.branch($kind == $crate::zip::term::DIVERGENCE) {
            let $term = warpfold_core::rows::Divergence { of_logs: false };
            $of
        } else if $s.branch($kind == $crate::zip::term::DIVERGENCE_OF_LOGS) {
            let $term = warpfold_core::rows::Divergence { of_logs: true };
            $of
        } else {
            let $term = warpfold_core::rows::BinaryEntropy;
            $of
        }
    };
}
pub(crate) use with_costly;
