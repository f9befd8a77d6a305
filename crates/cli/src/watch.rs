//! While a reduction runs: how far it is, and that what it has read does not stay in memory.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::mapping::Mapping;

/// Bytes read between two times that pages are forgotten: enough that forgetting costs nothing beside reading.
const ROOM: u64 = 16 << 20;

/// Between two looks at what is in memory, if it grows slowly and fast. The kernel maps 16 pages of a cached file at a time,
/// so a walk in short steps through long rows maps tens of GB/s.
const LOOK: [Duration; 2] = [Duration::from_millis(2), Duration::from_micros(100)];

/// Work that takes longer gets a progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Watches over the mappings of a reduction.
pub struct Watch<'a> {
    mappings: Vec<&'a Mapping>,
    total: u64,
    read: AtomicU64,
    forgotten: AtomicU64,
    resident: Option<Resident>,
    done: AtomicBool,
}

impl<'a> Watch<'a> {
    /// The array's mapping first.
    pub fn new(mappings: Vec<&'a Mapping>) -> Self {
        let total = mappings.first().map_or(0, |mapping| mapping.bytes().len() as u64);
        Self {
            mappings,
            total,
            read: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
            resident: Resident::new(),
            done: AtomicBool::new(false),
        }
    }

    /// Runs `f`, which tells the function that it is given how many more bytes it has read.
    pub fn during<T>(&self, f: impl FnOnce(&(dyn Fn(u64) + Sync)) -> T) -> T {
        let progress = |bytes| self.progress(bytes);
        let mapped: u64 = self.mappings.iter().map(|mapping| mapping.bytes().len() as u64).sum();
        if mapped <= ROOM {
            return f(&progress);
        }
        thread::scope(|scope| {
            let watcher = scope.spawn(|| self.watch());
            let _end = End { done: &self.done, watcher: watcher.thread().clone() };
            f(&progress)
        })
    }

    fn progress(&self, bytes: u64) {
        let read = self.read.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let last = self.forgotten.load(Ordering::Relaxed);
        let due = read.saturating_sub(last) >= ROOM;
        if due && self.forgotten.compare_exchange(last, read, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.forget();
        }
    }

    fn forget(&self) {
        self.mappings.iter().for_each(|mapping| mapping.forget());
    }

    /// A task that walks down columns touches more pages than it reads bytes, and may last long, so what is in memory is
    /// looked at, too.
    fn watch(&self) {
        let start = Instant::now();
        let [longest, shortest] = LOOK;
        let mut look = shortest;
        let mut bar = None;
        while !self.done.load(Ordering::Acquire) {
            look = match &self.resident {
                Some(resident) if resident.grown_by(ROOM) => {
                    self.forget();
                    (look / 2).max(shortest)
                }
                Some(resident) if resident.grown_by(ROOM / 4) => look,
                _ => (look * 2).min(longest),
            };
            if start.elapsed() > PATIENCE && std::io::stderr().is_terminal() {
                bar.get_or_insert_with(|| bar_of(self.total)).set_position(self.read.load(Ordering::Relaxed));
            }
            thread::park_timeout(look);
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
    }
}

fn bar_of(total: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:32} {percent:>3}%  {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left");
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10))
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Ends the watcher, also when the work panics.
struct End<'a> {
    done: &'a AtomicBool,
    watcher: thread::Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

/// The file pages that this process has in memory.
struct Resident {
    #[cfg(target_os = "linux")]
    statm: std::fs::File,
    at_first: u64,
}

#[cfg(target_os = "linux")]
impl Resident {
    fn new() -> Option<Self> {
        let mut this = Self { statm: std::fs::File::open("/proc/self/statm").ok()?, at_first: 0 };
        this.at_first = this.bytes()?;
        Some(this)
    }

    fn bytes(&self) -> Option<u64> {
        use std::os::unix::fs::FileExt;
        let mut text = [0; 128];
        let n = self.statm.read_at(&mut text, 0).ok()?;
        let pages: u64 = std::str::from_utf8(&text[..n]).ok()?.split(' ').nth(2)?.parse().ok()?;
        // SAFETY: asks for a constant.
        Some(pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as u64)
    }

    fn grown_by(&self, room: u64) -> bool {
        self.bytes().is_some_and(|bytes| bytes > self.at_first + room)
    }
}

#[cfg(not(target_os = "linux"))]
impl Resident {
    fn new() -> Option<Self> {
        None
    }

    fn grown_by(&self, _room: u64) -> bool {
        self.at_first > 0
    }
}
