//! The command's allocator: the system's. Memory that cannot be had ends the command with status 2 and a message of one
//! line, not with an abort. The library asks beforehand for what may be large, and has better words.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

use crate::signals;

/// The system's allocator, which says what it cannot give.
pub struct Reporting;

// SAFETY: the system's allocator, but for what does not return.
unsafe impl GlobalAlloc for Reporting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        given(unsafe { System.realloc(at, layout, size) }, size)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

fn given(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        refuse(size);
    }
    memory
}

#[cold]
fn refuse(size: usize) -> ! {
    // Text on the stack: no memory can be had.
    let mut text = [0; 160];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "error: out of memory: {size} bytes more are not to be had; give the command more, or less to do"
    );
    let left = rest.len();
    signals::leave(2, &text[..text.len() - left])
}
