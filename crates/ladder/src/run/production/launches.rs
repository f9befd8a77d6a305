//! Common parts of the library's launches.

/// The facts about launches in a row.
pub struct Shape {
    /// Threads per block of the first launch.
    pub block: u32,
    /// Bytes that are read.
    pub bytes: u64,
    /// How many launches there are.
    pub launches: u32,
}
