//! The device crate, seen from outside. One binary, so that it links once.

mod centroids;
mod compare;
mod counters;
mod faults;
mod plan;
mod probe;
mod sound;
