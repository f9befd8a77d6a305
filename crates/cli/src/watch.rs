//! The progress of reading the input, and the release of the input's pages after the work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::mapping::Mapping;
use crate::progress;

/// The greatest and the least width of the bar.
const BAR: [usize; 2] = [32, 8];

/// Watches over the mappings of a reduction.
///
/// Pages of files stay mapped until the end: the system takes them back when memory runs short. Sum of 1 GiB of f32 in
/// the page cache, two threads, ms with pages dropped every 16 MiB and without: 41, 36 where pages are large (the file
/// was written in large pieces), 138, 88 where they are of 4 KiB. (A loop that reads, ms for large and small pages:
/// pages touched 28, 127; populated ahead of the loop 28, 136; read(2) into buffers of 1 MiB 46, 85; memory without a
/// file 27. From a disk that gives 2 GB/s all of them wait for the disk.)
pub struct Watch<'a> {
    mappings: Vec<&'a Mapping>,
    total: u64,
    read: AtomicU64,
}

impl<'a> Watch<'a> {
    /// Watches these mappings, of which the array's is the first.
    pub fn new(mappings: Vec<&'a Mapping>) -> Self {
        let total = mappings.first().map_or(0, |mapping| mapping.bytes().len() as u64);
        Self { mappings, total, read: AtomicU64::new(0) }
    }

    /// Runs `f`, which reports the number of bytes that it has read to the function that it is given.
    pub fn during<T>(&self, f: impl FnOnce(&(dyn Fn(u64) + Sync)) -> T) -> T {
        let line = |time, columns| line(self.read.load(Ordering::Relaxed).min(self.total), self.total, time, columns);
        let result = progress::during(&line, || {
            f(&|bytes| {
                self.read.fetch_add(bytes, Ordering::Relaxed);
            })
        });
        self.mappings.iter().for_each(|mapping| mapping.release());
        result
    }
}

/// The progress line, as far as it fits into `columns` columns.
fn line(read: u64, total: u64, time: Duration, columns: usize) -> String {
    let percent = format!("{:>3}%", (read as u128 * 100).checked_div(total.into()).unwrap_or(100));
    let rate = read as f64 / time.as_secs_f64().max(1e-9);
    let left = Duration::try_from_secs_f64((total - read) as f64 / rate).unwrap_or(Duration::MAX);
    let how_much = format!("{percent}  {} of {}", bytes(read), bytes(total));
    let how_fast = format!("{how_much}, {:.2} GB/s, {} left", rate / 1e9, progress::time(left));
    let text = if read > 0 { how_fast } else { how_much.clone() };
    let [most, least] = BAR;
    let bar = columns.saturating_sub(text.len() + 3).min(most);
    match columns {
        _ if bar >= least => {
            let full = (read as u128 * bar as u128).checked_div(total.into()).unwrap_or(0) as usize;
            format!("[{}{}] {text}", "#".repeat(full), "-".repeat(bar - full))
        }
        _ if text.len() <= columns => text,
        _ if how_much.len() <= columns => how_much,
        _ => percent,
    }
}

/// `1.50 GiB`
fn bytes(n: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (n.max(1).ilog2() / 10) as usize;
    match power {
        0 => format!("{n} B"),
        _ => format!("{:.2} {}", n as f64 / (1u64 << (10 * power)) as f64, units[power]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_every_terminal() {
        let sizes = [0, 1, 999, 1 << 20, (1 << 30) - 1, 1 << 33, (1 << 40) - 1, 1 << 50, u64::MAX];
        for total in sizes {
            for read in [0, 1, total / 3, total].map(|read| read.min(total)) {
                for seconds in [0.000_001, 1.0, 100.0, 5000.0, 1e7] {
                    let time = Duration::from_secs_f64(seconds);
                    for columns in 4..200 {
                        let line = line(read, total, time, columns);
                        assert!(line.len() <= columns, "{columns} columns: {line}");
                        assert!(line.contains('%'), "{columns} columns: {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_line_says_how_much_how_fast_and_how_long() {
        let line = |columns| line(1 << 30, 4 << 30, Duration::from_secs(2), columns);
        assert_eq!(line(100), "[########------------------------]  25%  1.00 GiB of 4.00 GiB, 0.54 GB/s, 6 s left");
        assert_eq!(line(60), "[##--------]  25%  1.00 GiB of 4.00 GiB, 0.54 GB/s, 6 s left");
        assert_eq!(line(50), " 25%  1.00 GiB of 4.00 GiB, 0.54 GB/s, 6 s left");
        assert_eq!(line(40), " 25%  1.00 GiB of 4.00 GiB");
        assert_eq!(line(20), " 25%");
    }
}
