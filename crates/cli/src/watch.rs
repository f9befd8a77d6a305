//! While a reduction runs: how far it is, and that what it has read does not stay in memory.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::mapping::Mapping;

/// What may be in memory before it is forgotten: enough that forgetting costs nothing beside reading.
const ROOM: u64 = 16 << 20;

/// Between two looks of the watching thread, if there is nothing to forget and if there was.
const LOOK: [Duration; 2] = [Duration::from_millis(2), Duration::from_micros(100)];

/// Work that takes longer gets a progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Watches over the mappings of a reduction.
///
/// The kernel maps many pages of a cached file at once, so a walk in short steps through long rows maps a hundred times as
/// much as it reads, tens of GB/s. Hence whoever reports progress looks at what is in memory, as often as its growth asks
/// for; and a thread looks, too, in case that reports are rare.
pub struct Watch<'a> {
    mappings: Vec<&'a Mapping>,
    total: u64,
    read: AtomicU64,
    /// How much will have been read when it is time to look.
    next: AtomicU64,
    last: Mutex<Look>,
    resident: Option<Resident>,
    done: AtomicBool,
}

/// What was seen.
#[derive(Clone, Copy)]
struct Look {
    read: u64,
    resident: u64,
    /// Bytes in memory per byte read, lately.
    growth: u64,
}

impl<'a> Watch<'a> {
    /// The array's mapping first.
    pub fn new(mappings: Vec<&'a Mapping>) -> Self {
        let total = mappings.first().map_or(0, |mapping| mapping.bytes().len() as u64);
        let resident = Resident::new();
        let last = Look { read: 0, resident: resident.as_ref().map_or(0, |resident| resident.at_first), growth: 1 };
        Self {
            mappings,
            total,
            read: AtomicU64::new(0),
            next: AtomicU64::new(0),
            last: Mutex::new(last),
            resident,
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
        if read < self.next.load(Ordering::Relaxed) {
            return;
        }
        // Whoever comes while another forgets waits, lest it reads on in the meantime.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if read < self.next.load(Ordering::Relaxed) {
            return;
        }
        // Where the system does not say, what was read is in memory.
        let newly = read.saturating_sub(last.read);
        let seen = self.resident.as_ref().and_then(Resident::bytes).unwrap_or(last.resident + newly);
        let growth = seen.saturating_sub(last.resident) / newly.max(1);
        // Pages that were there already hide growth, so it is believed to fall only slowly.
        let growth = growth.max(last.growth * 7 / 8).max(1);
        *last = Look { read, resident: seen, growth };
        if seen >= self.first() + ROOM {
            self.forget(&mut last);
        }
        self.next.store(read + ROOM / 8 / growth, Ordering::Relaxed);
    }

    /// What was in memory before anything was read.
    fn first(&self) -> u64 {
        self.resident.as_ref().map_or(0, |resident| resident.at_first)
    }

    fn forget(&self, last: &mut Look) {
        self.mappings.iter().for_each(|mapping| mapping.forget());
        last.resident = self.first();
    }

    /// Looks now and then, and draws the progress bar.
    fn watch(&self) {
        let start = Instant::now();
        let [longest, shortest] = LOOK;
        let mut look = shortest;
        let mut bar = None;
        while !self.done.load(Ordering::Acquire) {
            look = if self.resident.as_ref().is_some_and(|resident| resident.grown_by(ROOM)) {
                self.forget(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner));
                shortest
            } else {
                (look * 2).min(longest)
            };
            if start.elapsed() > PATIENCE && std::io::stderr().is_terminal() {
                let read = self.read.load(Ordering::Relaxed).min(self.total);
                let bar = bar.get_or_insert_with(|| bar_of(self.total));
                bar.set_message(rate(read, self.total, start.elapsed()));
                bar.set_position(read);
            }
            thread::park_timeout(look);
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
    }
}

/// Since the start, which the bar has not seen.
fn rate(read: u64, total: u64, time: Duration) -> String {
    let per_second = read as f64 / time.as_secs_f64().max(1e-9);
    let left = (total - read) as f64 / per_second.max(1.0);
    format!("{:.2} GB/s, {left:.0} s left", per_second / 1e9)
}

fn bar_of(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:32} {percent:>3}%  {bytes} of {total_bytes}, {msg}");
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
