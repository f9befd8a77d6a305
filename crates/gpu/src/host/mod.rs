//! Arrays in the host's memory: copied to a device whole, or in pieces.

pub mod cut;
pub mod gather;
pub mod pieces;
pub mod transfer;
