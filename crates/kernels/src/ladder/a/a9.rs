//! a9 warpfold: the production kernel itself.
//!
//! Idea: one fixed tree, by a transposed butterfly in registers; the last block to finish reduces the partials.
//! Delta: one launch, and the same bits on every device, whatever the grid.
//! Bottleneck: memory.

// A slot: the library plans and launches this rung; there is no copy here.
