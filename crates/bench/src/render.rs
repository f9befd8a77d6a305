//! Tables from records.

use crate::case::Measure;
use crate::record::{Measured, OURS, Record};

use crate::summary::{self, BEHIND};

/// A row of cells per case, under headings. `is_number` says which columns are numbers.
struct Table {
    heads: Vec<String>,
    is_number: Vec<bool>,
    rows: Vec<Vec<String>>,
}

/// The number of cases that are listed one by one, of each sort, for a suite of random problems, which has too many for
/// a page.
const LISTED: usize = 15;

/// The tables of a record for a terminal.
pub fn text(record: &Record) -> String {
    let mut out = circumstances(record) + "\n";
    for part in parts(record) {
        out += &format!("\n{}\n{}", part.title, aligned(&part.table));
    }
    out + &notes(record, "\n")
}

/// The tables of a record in Markdown.
pub fn markdown(record: &Record) -> String {
    let mut out = format!("{}\n\n    {}\n", circumstances(record), record.command);
    for part in parts(record) {
        out += &format!("\n**{}**\n\n{}", part.title, piped(&part.table));
    }
    let notes = notes(record, "\n\n");
    out + &notes
}

/// One line for an index: the distance from a plain read and from each peer.
pub fn line(record: &Record) -> String {
    let groups = summary::groups(record);
    let Some(all) = groups.first() else { return String::new() };
    let mut words = vec![format!("{} cases", all.cases)];
    words.extend(all.shares.map(|[_, low, median]| format!("of a read 5th percentile {low:.2}, median {median:.2}")));
    let behind = |peer: &summary::Against| {
        format!("behind {} by over {} % in {} of {}", shown(&peer.peer), BEHIND[0], peer.behind[0], peer.cases)
    };
    words.extend(all.peers.iter().filter(|peer| peer.cases > 0).map(behind));
    words.join("; ")
}

/// A table and its title.
struct Part {
    title: String,
    table: Table,
}

/// The summary of all cases, if there are many, and then all cases of each suite, or the worst cases of random suites.
fn parts(record: &Record) -> Vec<Part> {
    let mut parts = Vec::new();
    let is_random = |case: &Measured| case.suite.starts_with("random-");
    if record.cases.len() >= 20 {
        parts.push(Part {
            title: "Summary: shares of a plain read, and cases behind a peer".into(),
            table: overview(record),
        });
    }
    let rest: Vec<&Measured> = record.cases.iter().filter(|case| !is_random(case)).collect();
    for title in titles(&rest) {
        let cases: Vec<&Measured> = rest.iter().filter(|case| case.title == title).copied().collect();
        parts.push(Part { title, table: table(record, &cases) });
    }
    let random: Vec<&Measured> = record.cases.iter().filter(|case| is_random(case)).collect();
    for title in titles(&random) {
        let cases: Vec<&Measured> = random.iter().filter(|case| case.title == title).copied().collect();
        let far = worst(&cases, summary::share);
        parts.push(Part { title: format!("{title}: the farthest from a read"), table: table(record, &far) });
        let peers = || record.peers.iter().filter(|peer| peer.absent.is_none());
        let best = |case: &Measured| {
            let ratios = peers().filter_map(|peer| summary::ratio(case, &peer.name));
            ratios.min_by(f64::total_cmp).filter(|&ratio| summary::is_behind(ratio, BEHIND[0]))
        };
        let behind = worst(&cases, best);
        if !behind.is_empty() {
            parts.push(Part { title: format!("{title}: the farthest behind a peer"), table: table(record, &behind) });
        }
    }
    parts
}

fn titles(cases: &[&Measured]) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    for case in cases {
        if !titles.contains(&case.title) {
            titles.push(case.title.clone());
        }
    }
    titles
}

/// The cases with the least values, the least first.
fn worst<'a>(cases: &[&'a Measured], value: impl Fn(&Measured) -> Option<f64>) -> Vec<&'a Measured> {
    let mut valued: Vec<(f64, &Measured)> = cases.iter().filter_map(|&case| Some((value(case)?, case))).collect();
    valued.sort_by(|a, b| a.0.total_cmp(&b.0));
    valued.into_iter().take(LISTED).map(|(_, case)| case).collect()
}

/// A row for each group of cases.
fn overview(record: &Record) -> Table {
    let groups = summary::groups(record);
    let peers: Vec<String> = groups.first().map_or(Vec::new(), |all| {
        all.peers.iter().filter(|peer| peer.cases > 0).map(|peer| peer.peer.clone()).collect()
    });
    let mut heads = ["cases of", "many", "worst", "5th percentile", "median"].map(str::to_owned).to_vec();
    heads.extend(
        peers.iter().map(|peer| format!("behind {} by >{}, >{}, >{} %", shown(peer), BEHIND[0], BEHIND[1], BEHIND[2])),
    );
    let rows = groups.iter().map(|group| {
        let mut cells = vec![group.name.clone(), group.cases.to_string()];
        match group.shares {
            Some(shares) => cells.extend(shares.map(|share| format!("{share:.2}"))),
            None => cells.extend(vec!["–".to_owned(); 3]),
        }
        for peer in group.peers.iter().filter(|peer| peers.contains(&peer.peer)) {
            let [a, b, c] = peer.behind;
            cells.push(if peer.cases == 0 { "–".into() } else { format!("{a}, {b}, {c} of {}", peer.cases) });
        }
        cells
    });
    let rows = rows.collect();
    Table { is_number: (0..heads.len()).map(|i| i > 0).collect(), heads, rows }
}

/// The machine, the sides and the command.
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
    words.extend(record.build.as_ref().filter(|_| machine.kind == "cpu").map(|build| format!("built as {build}")));
    words.extend(clocks(record));
    let versions: Vec<String> =
        record.peers.iter().filter_map(|p| Some(format!("{} {}", shown(&p.name), p.version.as_ref()?))).collect();
    format!("{}; {}.", words.join(", "), if versions.is_empty() { "no peers".into() } else { versions.join(", ") })
}

/// Clock and power after the last suite, of a GPU.
fn clocks(record: &Record) -> Option<String> {
    let are = &record.conditions.last()?.are;
    Some(format!("{} and {} after the run", are.get("clocks.sm")?, are.get("power.draw")?))
}

/// The least share of written bytes for which a table has a column that compares with a plain copy.
const WRITTEN: f64 = 0.02;

fn table(record: &Record, cases: &[&Measured]) -> Table {
    let present = |p: &&crate::record::PeerRecord| p.absent.is_none();
    let peers: Vec<&str> = record.peers.iter().filter(present).map(|p| p.name.as_str()).collect();
    let has_options = cases.iter().any(|case| !options(case).is_empty());
    let writes = |case: &&Measured| case.written.is_some_and(|written| written as f64 > WRITTEN * case.bytes as f64);
    let has_copies = cases.iter().any(|case| writes(case) && summary::copy_share(case).is_some());
    let words = ["op", "dtype", "shape", "axes"].into_iter().chain(has_options.then_some("with"));
    let mut heads: Vec<String> = words.map(str::to_owned).collect();
    let texts = heads.len();
    heads.extend(["time", "spread", "GB/s", "of a read"].map(str::to_owned));
    heads.extend(has_copies.then(|| "of a copy".to_owned()));
    heads.extend(peers.iter().map(|name| shown(name)));
    let is_number = (0..heads.len()).map(|i| i >= texts).collect();
    let rows = cases.iter().map(|case| row(case, &peers, has_options, has_copies)).collect();
    Table { heads, is_number, rows }
}

fn row(case: &Measured, peers: &[&str], has_options: bool, has_copies: bool) -> Vec<String> {
    let list = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let mut cells = vec![case.op.clone(), case.dtype.clone(), case.shape_text(), list(&case.axes)];
    cells.extend(has_options.then(|| options(case)));
    let absent = || "–".to_owned();
    let ours = case.side(OURS);
    let Some((side, ns)) = ours.and_then(|side| Some((side, side.median()?))) else {
        cells.extend((0..4 + usize::from(has_copies) + peers.len()).map(|_| absent()));
        return cells;
    };
    let wrong = if side.is_wrong() { " WRONG" } else { "" };
    cells.push(duration(ns) + wrong);
    cells.push(side.spread().map_or_else(absent, |spread| format!("{:.0} %", 100.0 * spread)));
    cells.push(format!("{:.1}", case.bytes as f64 / ns));
    // A read from a cache is not a limit.
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    cells.push(summary::share(case).map_or_else(absent, percent));
    cells.extend(has_copies.then(|| summary::copy_share(case).map_or_else(absent, percent)));
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

/// The options of a case that differ from the defaults.
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
        Measure::Graph => words.push("in a graph".into()),
        Measure::First => words.push("first use".into()),
    }
    match case.threads {
        None => {}
        Some(1) => words.push("1 thread".into()),
        Some(n) => words.push(format!("{n} threads")),
    }
    words.join(", ")
}

/// The missing or wrong results, and why: nothing is left out in silence.
fn notes(record: &Record, gap: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for peer in &record.peers {
        if let Some(why) = &peer.absent {
            lines.push(format!("{} is absent: {why}.", shown(&peer.name)));
        }
    }
    // Cases with the same reason share a line.
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
    lines.extend(slow_reads(record));
    lines.extend(record.wrong().into_iter().map(|wrong| format!("WRONG: {wrong}")));
    lines.into_iter().map(|line| format!("{gap}{line}")).collect::<String>() + "\n"
}

/// A note on the cases whose plain read was not a limit, because the fastest kernel or the fastest read of the record
/// was faster.
fn slow_reads(record: &Record) -> Option<String> {
    let fastest = summary::fastest(record)?;
    let rates = record.cases.iter().filter_map(|case| summary::share(case).and_then(|_| summary::read_rate(case)));
    let rates: Vec<f64> = rates.collect();
    let slow = rates.iter().filter(|&&rate| rate < 0.97 * fastest).count();
    let slowest = rates.iter().copied().min_by(f64::total_cmp)?;
    (slow > 0).then(|| {
        format!(
            "In {slow} of {} cases the plain read was over 3 % slower than the fastest kernel or read of this record \
             ({fastest:.0} GB/s), at worst by {:.0} %: there *of a read* is too high by as much.",
            rates.len(),
            100.0 * (1.0 - slowest / fastest)
        )
    })
}

fn shown(name: &str) -> String {
    match name {
        "cub" => "CUB".into(),
        "torch" => "PyTorch".into(),
        "cupy" => "CuPy".into(),
        "numpy" => "NumPy".into(),
        "polars" => "Polars".into(),
        "cub-by-key" => "CUB by key".into(),
        "torch-compile" => "torch.compile".into(),
        "torch-deterministic" => "PyTorch, deterministic".into(),
        other => other.into(),
    }
}

/// A duration with three digits and a unit.
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
