//! The summary of many cases: their shares of a plain read, and the number that is behind each peer.

use crate::case::Measure;
use crate::record::{COPY, Measured, OURS, READ, Record};

/// The margins in per cent by which a case is behind a peer.
pub const BEHIND: [u32; 3] = [3, 5, 15];

/// Some cases of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The name of the group: `all`, `inner`, `f32`, …
    pub name: String,
    /// The number of measured cases.
    pub cases: usize,
    /// The least, the 5 % quantile and the median of the shares of a plain read, if any case has one.
    pub shares: Option<[f64; 3]>,
    /// The comparison with each present peer.
    pub peers: Vec<Against>,
}

/// The comparison with one peer, over the cases that the peer supports.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    /// The peer.
    pub peer: String,
    /// The number of cases.
    pub cases: usize,
    /// The number of cases in which we are behind by more than each of [`BEHIND`].
    pub behind: [usize; 3],
}

/// All cases, and then those of each kind of axes, dtype, op, and layout.
pub fn groups(record: &Record) -> Vec<Group> {
    let cases: Vec<&Measured> = record.cases.iter().filter(|case| time(case).is_some()).collect();
    let mut groups = vec![group("all", &cases, record)];
    let by: [fn(&Measured) -> String; 4] =
        [|case| kind(case).into(), |case| case.dtype.clone(), |case| case.op.clone(), layout];
    for name_of in by {
        let mut names: Vec<String> = cases.iter().map(|case| name_of(case)).collect();
        names.sort();
        names.dedup();
        for name in names {
            let some: Vec<&Measured> = cases.iter().filter(|case| name_of(case) == name).copied().collect();
            groups.push(group(&name, &some, record));
        }
    }
    groups
}

fn group(name: &str, cases: &[&Measured], record: &Record) -> Group {
    let mut shares: Vec<f64> = cases.iter().filter_map(|case| share(case)).collect();
    shares.sort_by(f64::total_cmp);
    let there = record.peers.iter().filter(|peer| peer.absent.is_none());
    let peers = there.map(|peer| {
        let ratios: Vec<f64> = cases.iter().filter_map(|case| ratio(case, &peer.name)).collect();
        let behind = BEHIND.map(|percent| ratios.iter().filter(|&&ratio| is_behind(ratio, percent)).count());
        Against { peer: peer.name.clone(), cases: ratios.len(), behind }
    });
    Group {
        name: name.into(),
        cases: cases.len(),
        shares: (!shares.is_empty()).then(|| [shares[0], shares[shares.len() / 20], shares[shares.len() / 2]]),
        peers: peers.collect(),
    }
}

/// Whether our time is longer than a peer's by more than `percent`, given the peer's time over ours.
pub fn is_behind(ratio: f64, percent: u32) -> bool {
    ratio * (1.0 + f64::from(percent) / 100.0) < 1.0
}

/// Our time, in nanoseconds.
pub fn time(case: &Measured) -> Option<f64> {
    case.side(OURS)?.median()
}

/// A peer's time over ours, if its result is right.
pub fn ratio(case: &Measured, peer: &str) -> Option<f64> {
    let side = case.side(peer).filter(|side| !side.is_wrong())?;
    Some(side.median()? / time(case)?)
}

/// The time of a plain read of as many bytes as the case reads and writes, over ours.
pub fn share(case: &Measured) -> Option<f64> {
    let read = case.side(READ).filter(|read| read.cache.starts_with("cold"))?.median()?;
    let written = case.written.unwrap_or(0) as f64;
    let bytes = case.bytes as f64;
    Some(read * bytes / (bytes - written).max(1.0) / time(case)?)
}

/// The time of a plain copy of the bytes that are written, and a plain read of the rest, over ours.
pub fn copy_share(case: &Measured) -> Option<f64> {
    let cold = |name: &str| case.side(name).filter(|side| side.cache.starts_with("cold"))?.median();
    let (written, bytes) = (case.written? as f64, case.bytes as f64);
    let reads = (bytes - written).max(1.0);
    // Both times are for as many bytes as the case reads.
    let (read, copy) = (cold(READ)? / reads, cold(COPY)? / reads);
    let copied = (2.0 * written).min(bytes);
    Some(((bytes - copied) * read + copied * copy) / time(case)?)
}

/// The kind of a case in summaries: the place of the reduced axes in row-major order, or what is timed, or that the
/// case is keyed.
pub fn kind(case: &Measured) -> &'static str {
    if case.keys.is_some() || case.op == "unique" {
        return "by key";
    }
    if case.measure != Measure::Call {
        return case.measure.name();
    }
    let axes = (0..case.shape.len()).filter(|&axis| case.shape[axis] != 1);
    let mut runs: Vec<bool> = axes.map(|axis| case.axes.contains(&axis)).collect();
    runs.dedup();
    match runs[..] {
        [] | [true] => "all axes",
        [false] => "axes of one",
        [false, true] => "inner",
        [true, false] => "outer",
        [false, true, false] => "middle",
        _ => "split",
    }
}

fn layout(case: &Measured) -> String {
    let word = case.layout.split(':').next().unwrap_or_default();
    match word {
        "c" => "row-major",
        "f" | "order" => "transposed",
        "pitch" => "padded rows",
        "step" => "elements apart",
        "offset" => "not aligned",
        other => other,
    }
    .into()
}

/// The highest rate of our own side or of the plain read in any cold case of a record, in bytes per nanosecond.
pub fn fastest(record: &Record) -> Option<f64> {
    let rates = record.cases.iter().filter_map(|case| {
        share(case)?;
        Some((case.bytes as f64 / time(case)?).max(read_rate(case)?))
    });
    rates.max_by(f64::total_cmp)
}

/// The rate of a case's plain read, in bytes per nanosecond.
pub fn read_rate(case: &Measured) -> Option<f64> {
    let reads = case.bytes as f64 - case.written.unwrap_or(0) as f64;
    Some(reads / case.side(READ)?.median()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::tests::case;
    use crate::layout::Layout;
    use crate::record::{Machine, PeerRecord, SideRecord};

    fn measured(shape: &[usize], axes: &[usize], ours: u64, read: u64, peer: u64) -> Measured {
        let mut case = case(shape, Layout::C);
        case.axes = axes.to_vec();
        let mut measured = Measured::new("x", "X", &case);
        let side =
            |ns| SideRecord { samples_ns: vec![ns], calls: 1, cache: "cold: 1 input".into(), ..Default::default() };
        for (name, ns) in [(OURS, ours), (READ, read), ("torch", peer)] {
            measured.sides.insert(name.into(), side(ns));
        }
        measured.copy = Some(side(2 * read));
        measured
    }

    #[test]
    fn kinds_are_those_of_axes_that_are_longer_than_one() {
        let of = |shape: &[usize], axes: &[usize]| kind(&measured(shape, axes, 1, 1, 1)).to_owned();
        assert_eq!(of(&[4, 5], &[0, 1]), "all axes");
        assert_eq!([of(&[4, 5], &[1]), of(&[4, 5], &[0])], ["inner", "outer"]);
        assert_eq!([of(&[4, 5, 6], &[1]), of(&[4, 5, 6], &[0, 2])], ["middle", "split"]);
        assert_eq!([of(&[4, 1, 6], &[1]), of(&[4, 1, 6], &[2])], ["axes of one", "inner"]);
    }

    #[test]
    fn shares_count_bytes_that_are_read_and_written() {
        // 4 reads for each write: 400 and 100 bytes.
        let case = measured(&[25, 4], &[1], 1000, 800, 1);
        assert_eq!(case.bytes, 500);
        assert!((share(&case).unwrap() - 1.0).abs() < 1e-9);
        // 300 bytes at 2 ns, and 200 at 4.
        assert!((copy_share(&case).unwrap() - 1.4).abs() < 1e-9);
    }

    #[test]
    fn cases_behind_a_peer_are_counted_by_how_far() {
        let mut record = Record::new("x", "x", &Machine::cpu());
        let peer = PeerRecord { name: "torch".into(), version: None, device: None, absent: None };
        record.peers.push(peer);
        for peer in [1100, 975, 960, 900, 800] {
            record.cases.push(measured(&[10, 10], &[1], 1000, 500, peer));
        }
        let groups = groups(&record);
        assert_eq!((groups[0].cases, groups[0].peers[0].behind), (5, [3, 2, 1]));
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["all", "inner", "f32", "sum", "row-major"]);
        let wrong = crate::check::Verdict::wrong("it is".into());
        record.cases[4].sides.get_mut("torch").unwrap().verdict = Some(wrong);
        assert_eq!(super::groups(&record)[0].peers[0].cases, 4);
    }
}
