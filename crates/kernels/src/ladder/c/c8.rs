//! c8 warpfold: the production update itself.
//!
//! Idea: coordinates become whole numbers of a unit, whose sums are the same in any order; and points are brought into
//! the order of their labels in shared memory, so that a run of one label is added up in registers.
//! Delta: no float is added atomically, so the bits are the same every time, and the CPU's. The last block makes the
//! sums means (of many sums a second, small launch), which the other rungs leave undone.
//! Bottleneck: memory; below a million points, the launch.

// A slot: the library plans and launches this rung; there is no copy here.
