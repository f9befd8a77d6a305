//! The calendar.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today's date in UTC, such as `2026-11-20`.
pub fn today() -> String {
    date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400))
}

/// The date this number of days after 1970-01-01. Years begin in March, so that a leap day is the last day of its year.
fn date(days: u64) -> String {
    // 1 March of the year 0 begins a cycle of 400 years.
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    format!("{:04}-{month:02}-{day:02}", 400 * cycle + year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let dates = [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_777, "2026-11-20")];
        dates.into_iter().for_each(|(days, text)| assert_eq!(date(days), text));
        assert_eq!(
            (date(11_322), date(47_540), date(47_541)),
            ("2000-12-31".into(), "2100-02-28".into(), "2100-03-01".into())
        );
    }
}
