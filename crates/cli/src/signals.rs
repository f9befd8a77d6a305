//! Ctrl-C, files that shrink while they are mapped, and failed allocations: none of them leaves anything half written
//! behind, in a directory or on a terminal.

use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Whether the last line of the terminal on standard error is to be erased before the process ends.
pub static LINE_IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Returns to the first column, and erases what is there.
pub const ERASE: &str = "\r\x1b[K";

#[cfg(unix)]
mod unix {
    use std::ffi::{CStr, CString};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, Ordering};
    use std::time::Duration;

    use super::{ERASE, LINE_IS_SHOWN};

    /// The temporary files to remove, C strings that are never freed; or null.
    static TEMPORARY: [AtomicPtr<libc::c_char>; 8] = [const { AtomicPtr::new(null_mut()) }; 8];

    /// The state of the process: [`WORKING`], [`RENAMING`] or [`ENDING`].
    static STATE: AtomicU8 = AtomicU8::new(WORKING);
    const WORKING: u8 = 0;
    /// Outputs are being renamed: a signal waits until all are.
    const RENAMING: u8 = 1;
    const ENDING: u8 = 2;

    /// The pending signal, or 0.
    static WAITING: AtomicI32 = AtomicI32::new(0);

    pub fn remove_on_exit(path: &Path) {
        let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return };
        let path = path.into_raw();
        let take = |slot: &AtomicPtr<_>| slot.compare_exchange(null_mut(), path, Ordering::SeqCst, Ordering::SeqCst);
        TEMPORARY.iter().any(|slot| take(slot).is_ok());
    }

    pub fn keep(path: &Path) {
        for slot in &TEMPORARY {
            let known = slot.load(Ordering::SeqCst);
            // SAFETY: the pointer is not null, and is a C string that is never freed.
            if !known.is_null() && unsafe { CStr::from_ptr(known) }.to_bytes() == path.as_os_str().as_bytes() {
                slot.store(null_mut(), Ordering::SeqCst);
            }
        }
    }

    pub fn uninterrupted<T>(rename: impl FnOnce() -> T) -> T {
        while STATE.compare_exchange(WORKING, RENAMING, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            // Another thread is about to end the process.
            std::thread::sleep(Duration::from_secs(1));
        }
        let done = rename();
        STATE.store(WORKING, Ordering::SeqCst);
        match WAITING.load(Ordering::SeqCst) {
            0 => done,
            signal => leave(128 + signal, b""),
        }
    }

    /// Ends the process. All calls are allowed in a signal handler, and allocate no memory.
    pub fn leave(status: libc::c_int, why: &[u8]) -> ! {
        // SAFETY: the pointers are C strings that are never freed, or slices with their lengths; the calls are
        // async-signal-safe.
        unsafe {
            for path in TEMPORARY.iter().map(|slot| slot.load(Ordering::SeqCst)).filter(|path| !path.is_null()) {
                libc::unlink(path);
            }
            if LINE_IS_SHOWN.load(Ordering::SeqCst) {
                libc::write(2, ERASE.as_ptr().cast(), ERASE.len());
            }
            libc::write(2, why.as_ptr().cast(), why.len());
            libc::_exit(status);
        }
    }

    extern "C" fn end(signal: libc::c_int) {
        if signal == libc::SIGBUS {
            leave(1, b"error: cannot read the input: it was cut short, or its disk failed, meanwhile\n");
        }
        // Stored before the state is read: a thread that renames reads it afterwards.
        WAITING.store(signal, Ordering::SeqCst);
        if STATE.compare_exchange(WORKING, ENDING, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            leave(128 + signal, b"");
        }
    }

    pub fn install() {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGBUS] {
            // SAFETY: the structures are plain data, for which zero is a valid value; the handler makes
            // async-signal-safe calls alone.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                let known = libc::sigaction(signal, std::ptr::null(), &mut old) == 0;
                // A signal that is ignored, as under nohup or in the background of a script, stays ignored.
                if known && old.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = end as *const () as usize;
                // A system call that the signal interrupts is restarted.
                new.sa_flags = libc::SA_RESTART;
                libc::sigemptyset(&mut new.sa_mask);
                libc::sigaction(signal, &new, null_mut());
            }
        }
    }
}

/// Ends the process on Ctrl-C and its kin with status 128 + the signal's number, and on a mapped page that cannot be
/// read with status 1.
pub fn install() {
    #[cfg(unix)]
    unix::install();
}

/// Registers a file to remove if a signal ends the process. Must be called before the file exists.
pub fn remove_on_exit(path: &Path) {
    #[cfg(unix)]
    unix::remove_on_exit(path);
    #[cfg(not(unix))]
    let _ = path;
}

/// Unregisters a file that has been renamed or was never created.
pub fn keep(path: &Path) {
    #[cfg(unix)]
    unix::keep(path);
    #[cfg(not(unix))]
    let _ = path;
}

/// Runs `rename` uninterrupted: a signal ends the process afterwards.
pub fn uninterrupted<T>(rename: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    return unix::uninterrupted(rename);
    #[cfg(not(unix))]
    rename()
}

/// Ends the process at once, removing temporary files, with this message on standard error. No memory is allocated.
pub fn leave(status: i32, why: &[u8]) -> ! {
    #[cfg(unix)]
    unix::leave(status, why);
    #[cfg(not(unix))]
    {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), why);
        std::process::exit(status)
    }
}
