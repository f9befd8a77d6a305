//! The place and time of a record.

use super::target::Chosen;
use crate::record::Device;
use std::time::{SystemTime, UNIX_EPOCH};
use warpfold::cuda::Driver;

/// The device, without its measured properties.
pub fn described(chosen: &Chosen) -> Device {
    match chosen {
        Chosen::Emulator(_) => Device::emulator(),
        Chosen::Gpu(device) => {
            let p = device.properties();
            let version = |(major, minor): (u32, u32)| Some(format!("{major}.{minor}"));
            Device {
                kind: "cuda".to_owned(),
                name: p.name.clone(),
                driver: Driver::load().ok().and_then(|d| version(d.version())),
                capability: version(p.capability),
                multiprocessors: Some(p.multiprocessors),
                l2_bytes: Some(p.l2_bytes),
                peak_gbs: p.peak_gbs(),
                read_gbs: None,
            }
        }
    }
}

/// Today's date in UTC, such as `2026-11-20`.
pub fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() / 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of the date this number of days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    let is_leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let (mut year, mut left) = (1970, days);
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let months = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= months[month] {
        left -= months[month];
        month += 1;
    }
    (year, month as u64 + 1, left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(59), (1970, 3, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_777), (2026, 11, 20));
    }
}
