//! Elements that share lines of memory.

/// Elements from one to the next, up to which they are read where they lie. Not measured.
const STEPS: usize = 4;

/// Whether elements of so many bytes lie side by side or a few steps apart, and so have lines in common.
pub(super) fn is_near(step: isize, size: usize) -> bool {
    step.unsigned_abs() <= STEPS * size
}

/// Whether they are some steps apart, upwards.
pub(super) fn is_stepped(step: isize, size: usize) -> bool {
    step > size as isize && is_near(step, size)
}
