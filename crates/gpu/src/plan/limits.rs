//! What plans depend on beside the problem.

/// What the planner has to know of a device, and of where the array is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes per second that a plain read reaches.
    pub bandwidth: f64,
    /// Whether the array begins with a line of 16 bytes. A plan that relies on it is for no other array.
    pub aligned: bool,
    /// Bytes of shared memory that a block can have.
    pub shared_bytes: u32,
}
