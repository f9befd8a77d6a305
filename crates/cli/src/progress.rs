//! A progress line on standard error, if the work takes long and standard error is a terminal. The line is no longer
//! than the terminal is wide, and is erased when the work ends, also by a signal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use terminal_size::{Width, terminal_size_of};

use crate::signals::{ERASE, LINE_IS_SHOWN};

/// The time after which the line appears.
const PATIENCE: Duration = Duration::from_millis(700);
/// The time between two updates of the line.
const TICK: Duration = Duration::from_millis(100);
/// The assumed width of a terminal that does not report one.
const COLUMNS: usize = 80;

/// Held while standard error is written to and the line may be shown.
static WRITING: Mutex<()> = Mutex::new(());

/// Does the work. `line` makes the line, given the elapsed time and the number of columns.
pub fn during<T>(line: &(dyn Fn(Duration, usize) -> String + Sync), work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let drawing = scope.spawn(|| draw(line, &done));
        let _end = End { done: &done, drawing: drawing.thread().clone() };
        work()
    })
}

/// Writes a line that stays.
pub fn say(text: &str) {
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    erase();
    put(&format!("{text}\n"));
}

fn draw(line: &dyn Fn(Duration, usize) -> String, done: &AtomicBool) {
    let start = Instant::now();
    loop {
        let patience = PATIENCE.saturating_sub(start.elapsed());
        thread::park_timeout(patience.max(TICK));
        if done.load(Ordering::Acquire) {
            break;
        }
        if start.elapsed() < PATIENCE {
            continue;
        }
        // The last column stays empty: a character there makes some terminals go to the next line.
        let columns = terminal_size_of(io::stderr()).map_or(COLUMNS, |(Width(columns), _)| usize::from(columns).max(2));
        let text: String = line(start.elapsed(), columns - 1).chars().take(columns - 1).collect();
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        LINE_IS_SHOWN.store(true, Ordering::SeqCst);
        put(&format!("\r{text}\x1b[K"));
    }
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    erase();
}

fn erase() {
    if LINE_IS_SHOWN.swap(false, Ordering::SeqCst) {
        put(ERASE);
    }
}

/// Writes in one piece, so that a signal finds the line whole.
fn put(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Ends the drawing, also when the work panics.
struct End<'a> {
    done: &'a AtomicBool,
    drawing: thread::Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.drawing.unpark();
    }
}

/// A time for a person: `12 s`, `5 min`, `1.5 h`.
pub fn time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
