//! What plans depend on beside the problem.

/// What the planner has to know of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes per second that a plain read reaches, for predictions.
    pub bandwidth: f64,
}
