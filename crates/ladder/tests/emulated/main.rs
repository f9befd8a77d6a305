//! The rungs in the emulator: right, sound, and counted. One binary, so that it links once.

mod centroids;
mod compare;
mod counters;
mod faults;
mod plan;
mod probe;
mod sound;
