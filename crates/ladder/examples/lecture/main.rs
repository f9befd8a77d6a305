//! The points of a lecture on reductions, each as a few lines that run: `cargo run -p warpfold-ladder --example
//! lecture`. What it prints stands word for word in `docs/ladder.md`.

mod atomics;
mod half;
mod operations;
mod order;
mod steps;

/// Its name in the docs, and what prints it.
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
