//! Random reductions, by class of shape.

use crate::cases::Class;
use crate::gpu;
use crate::soak::{self, soak};

fn run(class: Class) {
    let Some(gpu) = gpu() else { return };
    soak(&gpu, class);
}

#[test]
fn class_tiny() {
    run(Class::Tiny);
}

#[test]
fn class_full() {
    run(Class::Full);
}

#[test]
fn class_rows() {
    run(Class::Rows);
}

#[test]
fn class_short_rows() {
    run(Class::ShortRows);
}

#[test]
fn class_columns() {
    run(Class::Columns);
}

#[test]
fn class_few_columns() {
    run(Class::FewColumns);
}

#[test]
fn class_middle() {
    run(Class::Middle);
}

#[test]
fn class_shallow() {
    run(Class::Shallow);
}

#[test]
fn class_turns() {
    run(Class::Turns);
}

#[test]
fn class_wild() {
    run(Class::Wild);
}

#[test]
fn class_empty() {
    run(Class::Empty);
}

#[test]
fn class_degenerate() {
    run(Class::Degenerate);
}

#[test]
fn class_large() {
    run(Class::Large);
}

#[test]
fn class_shared() {
    run(Class::Shared);
}

#[test]
fn descriptions_of_every_class() {
    let Some(gpu) = gpu() else { return };
    for class in Class::ALL {
        soak::describe_soak(&gpu, class);
    }
}

#[test]
fn one_case() {
    let (Some(gpu), Ok(name)) = (gpu(), std::env::var("WARPFOLD_CASE")) else { return };
    soak::one(&gpu, &name);
}
