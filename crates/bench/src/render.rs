//! Tables from records.

use crate::case::Measure;
use crate::record::{Measured, OURS, READ, Record};

/// A row of cells per case, under headings; what is a number is said by `is_number`.
struct Table {
    heads: Vec<String>,
    is_number: Vec<bool>,
    rows: Vec<Vec<String>>,
}

/// For a terminal.
pub fn text(record: &Record) -> String {
    let mut out = circumstances(record) + "\n";
    for (title, table) in tables(record) {
        out += &format!("\n{title}\n{}", aligned(&table));
    }
    out + &notes(record, "\n")
}

/// For documents.
pub fn markdown(record: &Record) -> String {
    let mut out = format!("{} `{}`\n", circumstances(record), record.command);
    for (title, table) in tables(record) {
        out += &format!("\n**{title}**\n\n{}", piped(&table));
    }
    let notes = notes(record, "\n\n");
    out + &notes
}

/// Who ran where.
fn circumstances(record: &Record) -> String {
    let machine = &record.machine;
    let mut words = vec![machine.device.clone()];
    words.extend(machine.driver.as_ref().map(|driver| format!("driver {driver}")));
    words.push(match machine.kind.as_str() {
        "cpu" => format!("{} threads", machine.threads),
        _ => format!("host {}", machine.host),
    });
    words.push(record.date.clone());
    words.extend(record.revision.as_ref().map(|revision| format!("revision {revision}")));
    let versions: Vec<String> =
        record.peers.iter().filter_map(|p| Some(format!("{} {}", shown(&p.name), p.version.as_ref()?))).collect();
    format!("{}; {}.", words.join(", "), if versions.is_empty() { "no peers".into() } else { versions.join(", ") })
}

fn tables(record: &Record) -> Vec<(&str, Table)> {
    let mut titles: Vec<&str> = Vec::new();
    for case in &record.cases {
        if !titles.contains(&case.title.as_str()) {
            titles.push(&case.title);
        }
    }
    titles.into_iter().map(|title| (title, table(record, title))).collect()
}

fn table(record: &Record, title: &str) -> Table {
    let cases: Vec<&Measured> = record.cases.iter().filter(|case| case.title == title).collect();
    let present = |p: &&crate::record::PeerRecord| p.absent.is_none();
    let peers: Vec<&str> = record.peers.iter().filter(present).map(|p| p.name.as_str()).collect();
    let has_options = cases.iter().any(|case| !options(case).is_empty());
    let words = ["op", "dtype", "shape", "axes"].into_iter().chain(has_options.then_some("with"));
    let mut heads: Vec<String> = words.map(str::to_owned).collect();
    let texts = heads.len();
    heads.extend(["time", "spread", "GB/s", "of a read"].map(str::to_owned));
    heads.extend(peers.iter().map(|name| shown(name)));
    let is_number = (0..heads.len()).map(|i| i >= texts).collect();
    let rows = cases.iter().map(|case| row(case, &peers, has_options)).collect();
    Table { heads, is_number, rows }
}

fn row(case: &Measured, peers: &[&str], has_options: bool) -> Vec<String> {
    let list = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let mut cells = vec![case.op.clone(), case.dtype.clone(), case.shape_text(), list(&case.axes)];
    cells.extend(has_options.then(|| options(case)));
    let absent = || "–".to_owned();
    let ours = case.side(OURS);
    let Some((side, ns)) = ours.and_then(|side| Some((side, side.median()?))) else {
        cells.extend((0..4 + peers.len()).map(|_| absent()));
        return cells;
    };
    let wrong = if side.is_wrong() { " WRONG" } else { "" };
    cells.push(duration(ns) + wrong);
    cells.push(side.spread().map_or_else(absent, |spread| format!("{:.0} %", 100.0 * spread)));
    cells.push(format!("{:.1}", case.bytes as f64 / ns));
    // A read of what is in a cache is no limit of anything.
    let read = case.side(READ).filter(|read| read.cache.starts_with("cold")).and_then(|read| read.median());
    cells.push(read.map_or_else(absent, |read| format!("{:.0} %", 100.0 * read / ns)));
    for peer in peers {
        cells.push(match case.side(peer).and_then(|side| Some((side, side.median()?))) {
            Some((side, theirs)) => {
                format!("{:.2}{}", theirs / ns, if side.is_wrong() { " (another result)" } else { "" })
            }
            None => absent(),
        });
    }
    cells
}

/// What is not usual about a case.
fn options(case: &Measured) -> String {
    let mut words: Vec<String> = case.keys.iter().cloned().collect();
    if case.precision != "tree" {
        words.push(case.precision.clone());
    }
    if case.skip_nan {
        words.push("skip_nan".into());
    }
    match case.measure {
        Measure::Call => {}
        Measure::Latency => words.push("latency".into()),
        Measure::First => words.push("first use".into()),
    }
    match case.threads {
        None => {}
        Some(1) => words.push("1 thread".into()),
        Some(n) => words.push(format!("{n} threads")),
    }
    words.join(", ")
}

/// What is missing or wrong, and why: nothing is left out in silence.
fn notes(record: &Record, gap: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for peer in &record.peers {
        if let Some(why) = &peer.absent {
            lines.push(format!("{} is absent: {why}.", shown(&peer.name)));
        }
    }
    // The same reason for many cases is one line.
    let mut reasons: Vec<(String, String, usize)> = Vec::new();
    let mut add = |who: String, why: &str| match reasons.iter_mut().find(|(w, y, _)| *w == who && y == why) {
        Some((_, _, n)) => *n += 1,
        None => reasons.push((who, why.to_owned(), 1)),
    };
    for case in &record.cases {
        if let Some(why) = &case.skipped {
            add("all".into(), why);
        }
        for (name, side) in &case.sides {
            if let Some(why) = side.absent.as_ref().filter(|_| name != OURS) {
                add(shown(name), why);
            }
        }
    }
    for (who, why, n) in reasons {
        lines.push(format!("Skipped by {who}: {n} case{}: {why}.", if n == 1 { "" } else { "s" }));
    }
    lines.extend(record.wrong().into_iter().map(|wrong| format!("WRONG: {wrong}")));
    lines.into_iter().map(|line| format!("{gap}{line}")).collect::<String>() + "\n"
}

fn shown(name: &str) -> String {
    match name {
        "cub" => "CUB".into(),
        "torch" => "PyTorch".into(),
        "cupy" => "CuPy".into(),
        "numpy" => "NumPy".into(),
        "polars" => "Polars".into(),
        other => other.into(),
    }
}

/// Three digits, and a unit.
pub fn duration(ns: f64) -> String {
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)] {
        if ns >= size {
            return format!("{} {unit}", digits(ns / size));
        }
    }
    format!("{ns:.0} ns")
}

fn digits(x: f64) -> String {
    match x {
        x if x >= 99.95 => format!("{x:.0}"),
        x if x >= 9.995 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

fn aligned(table: &Table) -> String {
    let width = |i: usize| {
        table.rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0).max(table.heads[i].chars().count())
    };
    let widths: Vec<usize> = (0..table.heads.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().enumerate().map(|(i, cell)| match table.is_number[i] {
            true => format!("{cell:>0$}", widths[i]),
            false => format!("{cell:<0$}", widths[i]),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    line(&table.heads) + &table.rows.iter().map(|row| line(row)).collect::<String>()
}

fn piped(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = table.is_number.iter().map(|&n| if n { "--:" } else { "---" }).collect::<Vec<_>>().join("|");
    let rows: String = table.rows.iter().map(|row| line(row.clone())).collect();
    line(table.heads.clone()) + &format!("|{rule}|\n") + &rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let shown: Vec<String> = [1.0, 999.0, 1234.0, 99_949.0, 99_960.0, 1.5e6, 2e9].map(duration).into();
        assert_eq!(shown, ["1 ns", "999 ns", "1.23 µs", "99.9 µs", "100 µs", "1.50 ms", "2.00 s"]);
    }
}
