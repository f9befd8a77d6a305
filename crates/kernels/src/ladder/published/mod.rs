//! The published forms that are wrong. They never become PTX; the emulator runs them, and says what is wrong.

pub mod a1;
pub mod a4;
pub mod a5;
pub mod a7;
pub mod c1;
pub mod c3;
pub mod c7;
