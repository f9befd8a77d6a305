//! Numbers for people.

/// Microseconds, with the digits that matter at that size.
pub fn micros(us: f64) -> String {
    match us {
        us if us >= 1000.0 => format!("{us:.0}"),
        us if us >= 100.0 => format!("{us:.1}"),
        us => format!("{us:.2}"),
    }
}

/// A count that may be a fraction: whole numbers without a point.
pub fn count(x: f64) -> String {
    if x == x.trunc() && x.abs() < 1e9 {
        return format!("{x:.0}");
    }
    if x.abs() >= 100.0 { format!("{x:.0}") } else { format!("{x:.1}") }
}

/// A small rate per element; three digits, or 0.
pub fn rate(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    let digits = (2 - x.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `2²⁵`, `2²⁵ − 3` or `100 000`.
pub fn elements(n: u64) -> String {
    let raised = |power: u64| {
        let digits = power.trailing_zeros().to_string();
        format!("2{}", digits.bytes().map(|d| SUPERSCRIPT[usize::from(d - b'0')]).collect::<String>())
    };
    let power = n.checked_next_power_of_two().unwrap_or(0);
    if n >= 1024 && power == n {
        return raised(n);
    }
    if n >= 1024 && power > n && power - n < 32 {
        return format!("{} − {}", raised(power), power - n);
    }
    grouped(n)
}

const SUPERSCRIPT: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// Digits grouped by thousands, with thin spaces.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// `2×512 4×256`: requests by the degree of their bank conflict; `none`.
pub fn conflicts(counts: &crate::record::Counts) -> String {
    let words: Vec<String> =
        counts.conflicts().map(|(degree, requests)| format!("{degree}-way: {}", grouped(requests))).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!([micros(990.66), micros(86.0), micros(17_200.0)], ["990.7", "86.00", "17200"]);
        assert_eq!([count(9.0), count(8.97), count(412.3)], ["9", "9.0", "412"]);
        assert_eq!([rate(0.0), rate(0.03125), rate(1.5), rate(123.4)], ["0", "0.0312", "1.5", "123"]);
        assert_eq!([elements(1 << 25), elements((1 << 25) - 3), elements(31)], ["2²⁵", "2²⁵ − 3", "31"]);
        assert_eq!(elements(100_000), "100\u{202f}000");
    }
}
