//! The question that the published A100 table leaves open: why does "bandwidth utilisation" fall at a4, which is
//! faster?
//!
//! The answer is computed from the published figures and the emulator's counters, for the page and the docs alike.

use super::figures::A100_PEAK_GBS;
use crate::record::{Record, Run};
use warpfold_kernels::ladder::{Grid, PRESETS, Rung, rung};

/// The published rungs.
const RUNGS: [&str; 7] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6"];

/// One rung at the published size.
#[derive(Clone, Debug)]
pub struct Row {
    /// The rung, such as `a0`.
    pub rung: &'static str,
    /// The published time in µs.
    pub micros: f64,
    /// The published percentage of bandwidth.
    pub percent: f64,
    /// The bandwidth: bytes divided by the published time, in GB/s.
    pub gbs: f64,
    /// Its share of the A100's peak in per cent.
    pub of_peak: f64,
    /// Time × percentage: the busy time of the measured unit in µs.
    pub busy: f64,
    /// The emulator's counters, if the record has this rung.
    pub counted: Option<Counted>,
}

/// The emulator's counters, scaled to the published size.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The number of arrivals of warps at block barriers, in millions.
    pub arrivals: f64,
    /// Passes through shared memory, per element.
    pub shared_passes: f64,
    /// The branch efficiency in per cent.
    pub branch_efficiency: f64,
    /// The number of barriers per block.
    pub barriers: f64,
}

/// The published table, and the figures computed from it.
#[derive(Clone, Debug)]
pub struct Question {
    /// a0 to a6.
    pub rows: Vec<Row>,
    /// The microseconds that the bytes take at the A100's peak.
    pub at_peak: f64,
    /// The DRAM rate that the table counts as 100 % from a4 on, in GB/s.
    pub full_gbs: f64,
}

/// The bytes of the published input.
fn bytes() -> f64 {
    PRESETS[0].n as f64 * 4.0
}

impl Question {
    /// The question with the counters of `record`, where it has them.
    pub fn of(record: Option<&Record>) -> Question {
        let rows: Vec<Row> = RUNGS.iter().map(|name| row(name, record)).collect();
        let steady = &rows[4..];
        let busy = steady.iter().map(|r| r.busy).sum::<f64>() / steady.len() as f64;
        Question { at_peak: bytes() / A100_PEAK_GBS / 1000.0, full_gbs: bytes() / busy / 1000.0, rows }
    }

    /// The row of a rung.
    ///
    /// # Panics
    /// If it is not a published rung.
    pub fn row(&self, rung: &str) -> &Row {
        self.rows.iter().find(|r| r.rung == rung).expect("a published rung")
    }

    /// Whether all rungs have the emulator's counters.
    pub fn is_counted(&self) -> bool {
        self.rows.iter().all(|r| r.counted.is_some())
    }
}

fn row(name: &'static str, record: Option<&Record>) -> Row {
    let entry = rung(name).expect("a rung");
    let micros = entry.published.micros.expect("a published time");
    let percent = entry.published.percent.expect("a published percentage");
    let gbs = bytes() / micros / 1000.0;
    let run = record.and_then(|r| r.rungs.iter().find(|run| run.rung == name && run.counters.is_some()));
    Row {
        rung: name,
        micros,
        percent,
        gbs,
        of_peak: 100.0 * gbs / A100_PEAK_GBS,
        busy: micros * percent / 100.0,
        counted: run.and_then(|run| counted(entry, run)),
    }
}

/// The number of blocks of all launches, for `n` elements with `block` threads each.
fn blocks(grid: Grid, n: u64, block: u32) -> f64 {
    let (mut left, mut all) = (n, 0);
    while left > 1 {
        left = grid.blocks(left, block, 1);
        all += left;
    }
    all as f64
}

/// But for the loads, a block does the same work at any size, so that the counters per block are scaled to the
/// published number of blocks.
fn counted(entry: &Rung, run: &Run) -> Option<Counted> {
    let (c, preset) = (run.counters.as_ref()?, &PRESETS[0]);
    if run.block != preset.block {
        return None;
    }
    let published = blocks(entry.grid, preset.n, preset.block);
    let scale = published / blocks(entry.grid, c.counted_n, run.block);
    let passes = c.shared_passes_per_element() * c.counted_n as f64 * scale;
    Some(Counted {
        arrivals: c.barriers_per_block * f64::from(run.block / 32) * published / 1e6,
        shared_passes: passes / preset.n as f64,
        branch_efficiency: c.branch_efficiency,
        barriers: c.barriers_per_block,
    })
}

/// The answer, in paragraphs of plain text.
pub fn answer(q: &Question) -> Vec<String> {
    let (a0, a3, a4, a5, a6) = (q.row("a0"), q.row("a3"), q.row("a4"), q.row("a5"), q.row("a6"));
    let (a1, a2) = (q.row("a1"), q.row("a2"));
    let mut paragraphs = vec![
        format!(
            "The published table credits a4 and a5 with {:.2} and {:.2} % of the bandwidth after {:.2} % for a3, yet \
             they are faster. Its percentages are not DRAM bandwidth: a0 reads 128 MiB in {:.2} µs, which is {:.0} \
             GB/s, {:.1} % of the {A100_PEAK_GBS:.0} GB/s of an A100, where the table says {:.2} %. Reckoned as bytes \
             by time, bandwidth rises at every rung, to {:.1} % at a6.",
            a4.percent, a5.percent, a3.percent, a0.micros, a0.gbs, a0.of_peak, a0.percent, a6.of_peak
        ),
        format!(
            "Multiply each percentage by its time, and you have how long the measured part was busy. For a4, a5 and a6 \
             that is {:.1}, {:.1} and {:.1} µs, whatever the kernel took. 128 MiB in that time is {:.0} GB/s, {:.0} % \
             of the peak on paper: the profiler's idea of a DRAM that is never idle. So from a4 on the figure is \
             DRAM's, and {:.2} times the share reckoned above.",
            a4.busy,
            a5.busy,
            a6.busy,
            q.full_gbs,
            100.0 * q.full_gbs / A100_PEAK_GBS,
            A100_PEAK_GBS / q.full_gbs
        ),
    ];
    let before = format!(
        "Before a4 something else was measured: it was busy for {:.1}, {:.1} and {:.1} µs in a0, a1 and a2, and for \
         {:.1} µs in a3.",
        a0.busy, a1.busy, a2.busy, a3.busy
    );
    let counted = |f: fn(&Counted) -> f64| move |row: &Row| row.counted.as_ref().map_or(0.0, f);
    let (branches, waves) = (counted(|c| c.branch_efficiency), counted(|c| c.shared_passes));
    let (arrivals, barriers) = (counted(|c| c.arrivals), counted(|c| c.barriers));
    paragraphs.push(if q.is_counted() {
        format!(
            "{before} It cannot be divergence, for branch efficiency is {:.0}, {:.0} and {:.0} % in the first three; \
             nor bank conflicts, for the three make {:.2}, {:.2} and {:.2} shared passes per element. What is the same \
             in the three, and half of it in a3, is the number of rounds and of barriers: warps arrive at a block \
             barrier {:.2} million times in each of the three, {:.2} million times in a3, and only {:.2} million times \
             in a4. (Counted in the emulator, and scaled to the published grid.)",
            branches(a0),
            branches(a1),
            branches(a2),
            waves(a0),
            waves(a1),
            waves(a2),
            arrivals(a0),
            arrivals(a3),
            arrivals(a4),
        )
    } else {
        before
    });
    let fall = if q.is_counted() {
        format!(" a4 takes the barriers of a block from {:.0} to {:.0};", barriers(a3), barriers(a4))
    } else {
        " a4 takes most of the barriers away;".to_owned()
    };
    paragraphs.push(format!(
        "So the column is two things. A profiler's one figure for “memory” is that of the busiest of several parts, \
         and which part that is may change from kernel to kernel. Up to a3 it was evidently a part of the \
         multiprocessor, busy with the rounds of the tree.{fall} from there on that part is less busy than DRAM, and \
         DRAM's own, lower percentage is what is left to print. Nothing got worse: the bottleneck moved. Rounds and \
         barriers fall together here, so these numbers alone cannot say which of the two filled that part; a \
         profiler's breakdown can.",
    ));
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_percentages_are_two_different_things() {
        let q = Question::of(None);
        for (rung, percent) in [("a0", 8.7), ("a6", 81.8)] {
            assert!((q.row(rung).of_peak - percent).abs() < 0.05, "{rung}: {}", q.row(rung).of_peak);
        }
        // From a4 on the figure is DRAM's: the busy time is the same to 0.1 %, and not below the time at the peak.
        for rung in ["a4", "a5", "a6"] {
            assert!((q.row(rung).busy / q.row("a6").busy - 1.0).abs() < 1e-3, "{rung}");
            assert!(q.row(rung).busy > q.at_peak);
        }
        // Before a4: the busy times of a0 to a2 agree to 0.1 %, and a3's is about half.
        for rung in ["a1", "a2"] {
            assert!((q.row(rung).busy / q.row("a0").busy - 1.0).abs() < 1e-3, "{rung}");
        }
        assert!((q.row("a3").busy / q.row("a0").busy - 0.5).abs() < 0.02);
        let real: Vec<f64> = q.rows.iter().map(|r| r.of_peak).collect();
        assert!(real.is_sorted(), "{real:?}");
    }
}
