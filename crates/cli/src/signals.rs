//! Ctrl-C, and files that shrink while they are mapped: nothing half written is left behind.

use std::path::Path;

#[cfg(unix)]
mod unix {
    use std::ffi::{CStr, CString};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicPtr, Ordering};

    /// The temporary files to remove, C strings that are never freed; or null.
    static TEMPORARY: [AtomicPtr<libc::c_char>; 8] = [const { AtomicPtr::new(null_mut()) }; 8];

    pub fn remove_on_exit(path: &Path) {
        let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return };
        let path = path.into_raw();
        let take = |slot: &AtomicPtr<_>| slot.compare_exchange(null_mut(), path, Ordering::SeqCst, Ordering::SeqCst);
        TEMPORARY.iter().any(|slot| take(slot).is_ok());
    }

    pub fn keep(path: &Path) {
        for slot in &TEMPORARY {
            let known = slot.load(Ordering::SeqCst);
            // SAFETY: a C string that is never freed.
            if !known.is_null() && unsafe { CStr::from_ptr(known) }.to_bytes() == path.as_os_str().as_bytes() {
                slot.store(null_mut(), Ordering::SeqCst);
            }
        }
    }

    /// Everything that it calls may be called from a signal handler.
    extern "C" fn end(signal: libc::c_int) {
        // SAFETY: C strings that are never freed; the calls are async-signal-safe.
        unsafe {
            for path in TEMPORARY.iter().map(|slot| slot.load(Ordering::SeqCst)).filter(|path| !path.is_null()) {
                libc::unlink(path);
            }
            if signal == libc::SIGBUS {
                const WHY: &[u8] = b"error: cannot read the input: it was cut short, or its disk failed, meanwhile\n";
                libc::write(2, WHY.as_ptr().cast(), WHY.len());
                libc::_exit(1);
            }
            libc::_exit(128 + signal);
        }
    }

    pub fn install() {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGBUS] {
            // SAFETY: the structures are plain memory, for which zero is a value; the handler is as above.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                let known = libc::sigaction(signal, std::ptr::null(), &mut old) == 0;
                // Whoever started us under nohup, or in the background of a script, meant it.
                if known && old.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = end as *const () as usize;
                libc::sigemptyset(&mut new.sa_mask);
                libc::sigaction(signal, &new, null_mut());
            }
        }
    }
}

/// Ends the process on Ctrl-C and its kin with status 128 + the signal's number, and on a mapped page that cannot be read
/// with status 1.
pub fn install() {
    #[cfg(unix)]
    unix::install();
}

/// Names a file to remove if a signal ends the process. To be called before the file exists.
pub fn remove_on_exit(path: &Path) {
    #[cfg(unix)]
    unix::remove_on_exit(path);
    #[cfg(not(unix))]
    let _ = path;
}

/// The file has been renamed, or never was.
pub fn keep(path: &Path) {
    #[cfg(unix)]
    unix::keep(path);
    #[cfg(not(unix))]
    let _ = path;
}
