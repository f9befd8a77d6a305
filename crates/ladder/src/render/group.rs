//! Runs that may be compared: one family, one workload.

use super::number;
use crate::record::{Device, Record, Run};

/// The runs of one workload, in the order of the record.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The sound rungs, the production kernel, and the yardsticks of the same size.
    pub runs: Vec<&'a Run>,
    /// The published forms that are wrong.
    pub as_published: Vec<&'a Run>,
}

impl<'a> Group<'a> {
    /// The first rung, which speed-ups are relative to.
    pub fn first(&self) -> &'a Run {
        self.runs.first().or(self.as_published.first()).expect("a group has runs")
    }

    /// The family: `a`, `b`, `c`, or empty.
    pub fn family(&self) -> &'a str {
        &self.first().family
    }

    /// The name of the first rung.
    pub fn baseline(&self) -> &'a str {
        &self.first().rung
    }

    /// Whether published times of this workload exist.
    pub fn has_published(&self) -> bool {
        self.runs.iter().any(|run| run.published_us.is_some())
    }

    /// The speed-up of a run over the first rung.
    pub fn speedup(&self, run: &Run) -> Option<f64> {
        let first = self.runs.first()?;
        Some(first.time()?.median_us / run.time()?.median_us)
    }

    /// The speed-up in the published times.
    pub fn published_speedup(&self, run: &Run) -> Option<f64> {
        Some(self.runs.first()?.published_us? / run.published_us?)
    }

    /// The bandwidth of a full bar in GB/s, and whether it is the device's peak. Where every run is far below the peak,
    /// it is not.
    pub fn full_bar(&self, device: &Device) -> (f64, bool) {
        let fastest = self.runs.iter().filter_map(|r| r.gbs()).fold(f64::MIN_POSITIVE, f64::max);
        match device.peak_gbs {
            Some(peak) if fastest >= 0.2 * peak => (peak.max(fastest), true),
            _ => (fastest, false),
        }
    }

    /// The workload as text: `2²⁵ f32, block 256`.
    pub fn workload(&self) -> String {
        let run = self.first();
        let shape = match (run.clusters, run.coords) {
            (Some(clusters), Some(coords)) => {
                let s = if coords == 1 { "" } else { "s" };
                format!("{} points, {clusters} clusters, {coords} coordinate{s}", number::elements(run.n))
            }
            _ => format!("{} {}", number::elements(run.n), run.dtype),
        };
        format!("{shape}, block {}", run.block)
    }

    /// The title of the family.
    pub fn title(&self) -> &'static str {
        match self.family() {
            "a" => "A. The classic ladder",
            "b" => "B. The textbook's ladder",
            "c" => "C. The centroid update of k-means",
            _ => "Yardsticks",
        }
    }
}

/// The runs of a record by workload; yardsticks join the groups of their size.
pub fn groups(record: &Record) -> Vec<Group<'_>> {
    type Key<'a> = (&'a str, &'a str, u64, Option<u32>, Option<u32>);
    fn key(run: &Run) -> Key<'_> {
        (&run.family, &run.dtype, run.n, run.clusters, run.coords)
    }
    let mut groups: Vec<Group> = Vec::new();
    let (yardsticks, rungs): (Vec<&Run>, Vec<&Run>) = record.rungs.iter().partition(|run| run.family.is_empty());
    let (wrong, sound): (Vec<&Run>, Vec<&Run>) = rungs.into_iter().partition(|run| run.is_as_published());
    for run in sound {
        let is_same = |r: &&Run| r.rung == run.rung && r.title == run.title;
        let home = groups.iter_mut().find(|g| key(g.first()) == key(run) && !g.runs.iter().any(is_same));
        match home {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { runs: vec![run], as_published: Vec::new() }),
        }
    }
    for run in wrong {
        // The sizes of published forms are chosen to bring the fault out, so that the family alone decides.
        match groups.iter_mut().find(|g| g.family() == run.family) {
            Some(group) => group.as_published.push(run),
            None => groups.push(Group { runs: Vec::new(), as_published: vec![run] }),
        }
    }
    for run in yardsticks {
        let fits = |g: &&mut Group| g.first().n == run.n && g.first().dtype == run.dtype && g.family() != "c";
        let fits_bytes = |g: &&mut Group| fits(g) || g.runs.first().is_some_and(|r| r.bytes == run.bytes);
        let mut homes = groups.iter_mut().filter(fits_bytes).peekable();
        if homes.peek().is_none() {
            groups.push(Group { runs: vec![run], as_published: Vec::new() });
            continue;
        }
        homes.for_each(|group| group.runs.push(run));
    }
    groups
}
