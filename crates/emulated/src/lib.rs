//! Nothing but the tests in `tests/all`: every sequence of launches that the library has for a GPU, in the emulator.
//!
//! They compile every kernel for the emulator, so they are a package of their own, which is built without optimisation
//! (the workspace's manifest says so): it takes a third of the time, and they run half as long again.
