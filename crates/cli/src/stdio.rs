//! Whether standard output was open when the command was started. Rust's runtime opens a closed one as /dev/null, so
//! that writing to it would look like success.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the command was started without a standard output (`>&-`).
pub fn output_is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Fails if standard output was closed at the start.
pub fn check_output() -> std::io::Result<()> {
    if output_is_closed() { Err(std::io::Error::other("it is closed")) } else { Ok(()) }
}

#[cfg(unix)]
extern "C" fn look() {
    // SAFETY: the system call reads the flags of a descriptor, and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Called by the loader, before Rust's runtime.
#[cfg(unix)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;
