//! The layout of the workspace: counters, one of which is the status of all outputs, and then partials.

/// Bytes of counters at the start of a workspace.
pub const COUNTERS: usize = 1 << 20;
/// The counter that is set if an output has no value: byte 0 if there was nothing, byte 1 if there was only NaN, byte 2
/// if segments' offsets decrease or go beyond the elements.
pub const STATUS: usize = COUNTERS / 4 - 1;
