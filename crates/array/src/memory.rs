//! Checks whether there is memory for a result before it is allocated, because an allocation that fails ends the
//! process.

use crate::error::Error;

/// Allocations below this size, in bytes, are not checked.
const SMALL: u128 = 64 << 20;

/// Checks that memory for `n` items of `each` bytes is available. `what` names their use in the error.
///
/// # Errors
/// [`Error::Memory`], with the number of bytes, if the system has less.
pub fn afford(what: &'static str, n: usize, each: usize) -> Result<(), Error> {
    let bytes = n as u128 * each as u128;
    if bytes < SMALL { Ok(()) } else { within(what, bytes, available()) }
}

/// Checks that `bytes` fit into `available` bytes, and into the address space.
fn within(what: &'static str, bytes: u128, available: Option<u64>) -> Result<(), Error> {
    let refused = || Error::Memory { what, bytes, available };
    if available.is_some_and(|available| bytes > u128::from(available)) {
        return Err(refused());
    }
    // A limit of the process shows when it allocates. Nothing is written, so that no memory is used.
    let len = usize::try_from(bytes).map_err(|_| refused())?;
    Vec::<u8>::new().try_reserve_exact(len).map_err(|_| refused())
}

/// An empty vector with room for `n` items.
///
/// # Errors
/// As [`afford`].
pub fn room<T>(what: &'static str, n: usize) -> Result<Vec<T>, Error> {
    afford(what, n, size_of::<T>())?;
    let mut items = Vec::new();
    let bytes = n as u128 * size_of::<T>() as u128;
    items.try_reserve_exact(n).map_err(|_| Error::Memory { what, bytes, available: available() })?;
    Ok(items)
}

/// The bytes that are free for this process; `None` where the system does not say.
fn available() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let system = field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:").map(|kib| kib << 10)?;
        Some(of_group().map_or(system, |group| group.min(system)))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// The free bytes of this process's control group (version 2). Cached pages of files count as free.
#[cfg(target_os = "linux")]
fn of_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = std::path::Path::new("/sys/fs/cgroup").join(path);
    let most: u64 = std::fs::read_to_string(folder.join("memory.max")).ok()?.trim().parse().ok()?;
    let taken = field(&std::fs::read_to_string(folder.join("memory.stat")).ok()?, "anon ")?;
    Some(most.saturating_sub(taken))
}

/// The number after a name, in a file with a name and a number on each line.
#[cfg(target_os = "linux")]
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_its_bytes() {
        assert!(within("the result", 1 << 30, Some(1 << 31)).is_ok());
        let refused = within("the result", 1 << 32, Some(1 << 31)).unwrap_err();
        assert_eq!(refused, Error::Memory { what: "the result", bytes: 1 << 32, available: Some(1 << 31) });
        let text = refused.to_string();
        assert!(text.contains("4294967296 bytes") && text.contains("2147483648"), "{text}");
    }

    /// More than the address space, whatever the system says.
    #[test]
    fn what_cannot_be_allocated_is_an_error() {
        assert!(within("the result", 1 << 62, None).is_err());
        assert!(within("the result", 1 << 70, None).is_err());
        assert!(room::<u64>("the result", usize::MAX / 8).is_err());
        assert!(room::<u64>("the result", 1000).unwrap().capacity() >= 1000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_says_what_it_has() {
        let bytes = available().unwrap();
        assert!((1 << 20..1 << 50).contains(&bytes), "{bytes}");
        assert_eq!(field("MemTotal: 7 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), Some(12));
        assert_eq!(field("anon_thp 3\nanon 4096\n", "anon "), Some(4096));
    }
}
