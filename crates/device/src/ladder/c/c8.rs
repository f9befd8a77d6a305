//! c8 warpfold: the production update itself.
//!
//! Idea: one pass over the points, in a fixed order of additions.
//! Delta: no float is added atomically, so the sums have the same bits every time.
//! Bottleneck: memory.

// A slot: the library plans and launches this rung; there is no copy here.
