//! What the tests of several packages share: arrays made to be hard, what the reference tree makes of them, and lists
//! of problems, random and fixed.
//!
//! A package of its own, so that it is compiled once and with optimisation, whatever the tests are.

// What a library would owe to strangers.
#![allow(clippy::len_without_is_empty, clippy::result_unit_err, clippy::should_implement_trait)]

pub mod cases;
pub mod channels;
pub mod golden;
pub mod golden_rows;
pub mod pairs;
pub mod reference;
pub mod rows;
pub mod windows;
