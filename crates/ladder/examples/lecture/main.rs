//! The points of a lecture on reductions, each as a few lines that run: `cargo run -p warpfold-ladder --example
//! lecture`. Its output is part of `docs/ladder.md`, word for word.

mod atomics;
mod half;
mod operations;
mod order;
mod steps;

/// The name of a section in the docs, and the function that prints it.
pub type Section = (&'static str, fn() -> String);

/// In the order of the lecture.
pub const SECTIONS: [Section; 5] = [
    ("operations", operations::print),
    ("steps", steps::print),
    ("order", order::print),
    ("half", half::print),
    ("atomics", atomics::print),
];

#[allow(dead_code, reason = "the generator of the docs uses the sections alone")]
fn main() {
    for (name, print) in SECTIONS {
        println!("# {name}\n{}", print());
    }
}
